"""The verdict on a race and the validity rules of its diagnosis agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from diagnose.cuts import TASK, gauge, telemetry
from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.facts import Window
from pacenote.diagnose.host_facts import add_host_figures
from pacenote.diagnose.race_facts import race_builder
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.diagnose.snapshot_facts import add_snapshot_figures
from pacenote.model.diagnosis import Diagnosis
from pacenote.model.failure_group import FailureGroup
from pacenote.model.race_record import RaceRecord, RecordedCluster
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.sampler_facts import SamplerFacts
from pacenote.model.task_observations import task_observations, with_observations
from pacenote.report.diagnosis import diagnosis_sections
from pacenote.verdict.determine import determine_verdict
from support.records import bulk, record

RULES = {rule.id: rule for rule in bundled_rules() if rule.kind == "validity"}

NOT_OF_THE_RESULTS = {"V8"}
"""Rules that doubt the evidence of the diagnosis, on which results do not depend."""

MALFORMED = FailureGroup("bulk-item", "document_parsing_exception", 400, 12, 0.0, 1.0, "documents")

NODES = ({"name": "a"}, {"name": "b"})


def race(**changes: object) -> RaceRecord:
    """A valid race on two nodes."""
    return record(tasks=(bulk(error_rate=0.0, errors=()),), cluster=RecordedCluster(nodes=NODES), **changes)


def diagnosed(
    judged: RaceRecord, other_share: float = 0.0, status: float = 0.0
) -> tuple[RaceRecord, Diagnosis]:
    """Judges and diagnoses a race during which this was sampled, as a race and a later diagnosis do."""
    cuts = telemetry(
        "node-counters", gauge("cluster.status", status), gauge("cluster.relocating_shards", 0.0)
    )
    observed = task_observations(cuts, {}, {TASK: [{"cpu.other_share": other_share}]}, ["a"])
    judged = with_observations(judged, observed)
    judged = replace(judged, verdict=determine_verdict(judged))
    builder = race_builder(judged)
    add_snapshot_figures(builder, judged, None)
    add_host_figures(builder, {TASK: {"cpu.other_share": other_share}}, SamplerFacts(("a", "b")))
    add_cluster_states(builder, cuts, {})
    return judged, diagnose(builder.build(), list(RULES.values()))


def driver_of(share: float) -> dict[str, object]:
    """What the driver says about a thread that used this share of a core."""
    busiest = {"step": TASK, "share": share, "length_s": 10.0}
    return {"threads": [{"name": "drive-0", "cpu_s": 9.0, "wall_s": 10.0, "busiest": busiest}]}


CASES: dict[str, Callable[[], tuple[RaceRecord, Diagnosis]]] = {
    "V1": lambda: diagnosed(replace(race(), tasks=(bulk(error_rate=0.02, errors=(MALFORMED,)),))),
    "V11": lambda: diagnosed(race(options=RecordedOptions(test_mode=True))),
    "V12": lambda: diagnosed(replace(race(), tasks=(bulk(error_rate=0.02),))),
    "V4": lambda: diagnosed(race(driver=driver_of(0.9))),
    "V5": lambda: diagnosed(race(), status=1.0),
    "V6": lambda: diagnosed(race(), other_share=0.3),
}
"""Races in which a rule fires."""


def fired(diagnosis: Diagnosis) -> set[str]:
    return {answer.id for answer in diagnosis.warnings}


def test_every_rule_that_doubts_the_results_of_a_race_has_a_case() -> None:
    doubting = {
        rule.id for rule in RULES.values() if rule.effect in ("void", "doubt") and rule.scope != "comparison"
    }
    assert doubting - NOT_OF_THE_RESULTS == set(CASES)


def test_a_race_without_a_cause_for_doubt_is_valid_and_no_rule_fires() -> None:
    judged, diagnosis = diagnosed(race(driver=driver_of(0.5)), other_share=0.1)
    assert (judged.verdict.state, fired(diagnosis), diagnosis.verdict) == ("valid", set(), "valid")
    assert diagnosis_sections(diagnosis)[0].title == (
        "Validity: the race is valid, and no validity rule fired"
    )


@pytest.mark.parametrize("name", CASES)
def test_a_race_for_which_a_rule_fires_is_not_valid(name: str) -> None:
    judged, diagnosis = CASES[name]()
    assert fired(diagnosis) == {name}
    assert judged.verdict.state == ("void" if name in ("V1", "V12") else "suspect")
    section = diagnosis_sections(diagnosis)[0]
    assert section.items[0].title == f"the race is {judged.verdict.state}"
    assert section.items[0].details == tuple(("reason", reason) for reason in judged.verdict.reasons)


def test_errors_that_the_user_tolerates_do_not_void_the_diagnosis_either() -> None:
    tolerant = replace(race(), tasks=(bulk(error_rate=0.02),), max_error_rate=0.05)
    judged, diagnosis = diagnosed(tolerant)
    assert (judged.verdict.state, fired(diagnosis)) == ("valid", set())


def test_a_finding_states_why_the_machine_is_blamed() -> None:
    _, diagnosis = CASES["V6"]()
    (answer,) = diagnosis.warnings
    assert answer.text == (
        "programs beside engine and driver used 30 % of the processor time of the cores that the engine "
        "may use (limit 20 %); other processes used 30.0 % of the cores of the engine"
    )


def test_a_race_in_test_mode_has_no_findings_and_says_why_in_a_line() -> None:
    builder = race_builder(race(options=RecordedOptions(test_mode=True)))
    for name, value in (("cpu.other_share", 0.87), ("cpu.idle_share", 0.0), ("cpu.wait_share", 0.9)):
        builder.set(Window(TASK, "a"), name, value)
    diagnosis = diagnose(builder.build(), bundled_rules())
    assert diagnosis.findings == ()
    assert "V11" in fired(diagnosis)
    assert {answer.text for answer in diagnosis.not_applicable if answer.id == "O1"} == {
        "V11 fired: the race only tested the track"
    }


def test_errors_that_are_the_symptom_hide_no_rule() -> None:
    """Every operation that failed was rejected: the rules are evaluated, and the one about it leads."""
    failing = replace(race(), tasks=(bulk(error_rate=0.3),))
    builder = race_builder(failing)
    for name, value in (("cpu.other_share", 0.1), ("cpu.idle_share", 0.1), ("cpu.wait_share", 0.3)):
        builder.set(Window(TASK, "a"), name, value)
    diagnosis = diagnose(builder.build(), bundled_rules())
    assert [(answer.id, answer.doubtful) for answer in diagnosis.findings] == [("I6", False), ("O1", True)]
    assert [answer.id for answer in diagnosis.leading] == ["I6"]
    other = replace(failing, tasks=(bulk(error_rate=0.3, errors=(MALFORMED,)),))
    assert diagnose(race_builder(other).build(), bundled_rules()).findings == ()
