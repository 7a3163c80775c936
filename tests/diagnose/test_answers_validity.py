"""The bundled validity rules: each fires, is ruled out and is not applicable."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.model.diagnosis import RuleAnswer

RULES = [rule for rule in bundled_rules() if rule.kind == "validity"]

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "V1": ({"task.error_rate": 0.02}, {"task.error_rate": 0.01}, {}),
    "V2": (
        {"pair.searches": True, "pair.store_change": 0.03},
        {"pair.store_change": 0.01, "pair.segments_change": 0},
        {"pair.searches": None},
    ),
    "V3": ({"task.target_share": 0.995}, {"task.target_share": 0.9}, {"task.target_share": None}),
    "V4": (
        {"verdict.driver_reasons": 1, "verdict.driver_reason": "the driver was busy"},
        {"verdict.driver_reasons": 0},
        {"verdict.driver_reasons": None},
    ),
    "V5": (
        {"cluster.health": "yellow", "engine.nodes": 3, "cluster.relocating_shards": 0},
        {"engine.nodes": 1},
        {"cluster.health": None},
    ),
    "V6": (
        {"cpu.other_share": 0.25, "verdict.machine_reasons": 0},
        {"cpu.other_share": 0.1},
        {"cpu.other_share": 0.1, "verdict.machine_reasons": None},
    ),
    "V7": ({"pair.settings_changed": 2}, {"pair.settings_changed": 1}, {"pair.settings_changed": None}),
    "V8": ({"gc.coverage_share": 0.9}, {"gc.coverage_share": 1.0}, {"gc.coverage_share": None}),
    "V9": (
        {"pair.pairs": 10, "pair.change_low": -0.01, "pair.change_high": 0.02},
        {"pair.change_low": 0.01},
        {"pair.pairs": None},
    ),
    "V11": ({"race.test_mode": True}, {"race.test_mode": False}, {}),
    "V12": (
        {"task.error_rate": 0.02, "task.overload_share": 0.9},
        {"task.overload_share": 0.2},
        {"task.overload_share": None},
    ),
    "V13": (
        {"pair.frequency_change": 0.06, "pair.frequency_task": "load"},
        {"pair.frequency_change": 0.05},
        {"pair.frequency_change": None},
    ),
    "V10": ({"pair.spread": 0.08}, {"pair.spread": 0.02}, {"pair.spread": None}),
}
"""Figures with which a rule fires, and what to change so that it is ruled out and not applicable."""


def answer(name: str, figures: dict[str, Any]) -> RuleAnswer:
    """Returns the answer of one rule to figures of the whole race."""
    builder = EvidenceBuilder("race-1", [TaskFacts("load", "indexing")])
    for figure, value in figures.items():
        builder.set(Window(), figure, value)
    (rule,) = (each for each in RULES if each.id == name)
    (rule_answer,) = diagnose(builder.build(), [rule]).validity
    return rule_answer


def test_there_are_thirteen_validity_rules() -> None:
    assert {rule.id for rule in RULES} == set(CASES) == {f"V{number}" for number in range(1, 14)}


def test_other_programs_disturb_a_race_if_they_used_enough_at_least() -> None:
    rule_answer = answer(
        "V6", {"cpu.other_least_share": 0.25, "verdict.machine_reasons": 0, "cpu.steal_share": 0.01}
    )
    assert (rule_answer.state, rule_answer.text) == (
        "fired",
        "other programs ran; other processes used at least 25.0 % of the cores of the engine; other guests "
        "of the host took 1.0 % of the cores of the engine",
    )


@pytest.mark.parametrize("name", CASES)
def test_a_validity_rule_fires_is_ruled_out_and_is_not_applicable(name: str) -> None:
    fires, ruled_out, not_applicable = CASES[name]
    assert answer(name, fires).state == "fired"
    silent = answer(name, fires | ruled_out)
    assert (silent.state, bool(silent.text)) == ("ruled out", True)
    unknown = answer(name, fires | not_applicable if not_applicable else {})
    assert (unknown.state, bool(unknown.text)) == ("not applicable", True)


@pytest.mark.parametrize("name", CASES)
def test_no_rule_says_that_a_race_is_valid(name: str) -> None:
    """The verdict says so: a rule fires on suspect races as well."""
    fired = answer(name, CASES[name][0])
    assert fired.state == "fired"
    assert "valid" not in fired.text
    assert "valid" not in fired.title
