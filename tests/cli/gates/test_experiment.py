"""`--fail-on`, JUnit and exit codes of `pacenote experiment`: one comparison for each contender."""

import argparse
import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared
from pacenote.cli.gates.comparison import parse_gates
from pacenote.cli.gates.experiment import exit_code, gated_exit_code, result_junit
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.experiment_result import ExperimentResult, VariantResult


class Warnings:
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def warning(self, text):
        self.told.append(text)


def comparison(factor):
    sides = [compared(*side) for side in blocks(6, factor, noise=0.001)]
    return compare_groups(*sides, ComparisonOptions(primary=("throughput:index-append",)))


SLOWER, FASTER = comparison(0.9), comparison(1.1)
VOID = replace(
    SLOWER,
    answer="void",
    findings=(),
    metrics=tuple(replace(each, word="void", change=None) for each in SLOWER.metrics),
)


def result(*variants, **changes):
    given = {
        "experiment_id": "heap-1",
        "question": "",
        "design": "pair",
        "state": "complete",
        "baseline": "1g",
    }
    return ExperimentResult(**{**given, "variants": (VariantResult("1g", 6), *variants), **changes})


def options(*gates):
    return argparse.Namespace(fail_on=[gate for text in gates for gate in parse_gates(text)], require=[])


def ladder(*adopted, compared=SLOWER, **changes):
    steps = (VariantResult(f"s{n}", 6, compared, adopted=kept) for n, kept in enumerate(adopted))
    return result(*steps, design="ladder", **changes)


@pytest.mark.parametrize(
    ("outcome", "code", "told"),
    [
        (result(VariantResult("2g", 6, FASTER)), 0, []),
        (
            result(VariantResult("2g", 6, FASTER), VariantResult("4g", 6, SLOWER)),
            3,
            ["4g: --fail-on: throughput:index-append is worse"],
        ),
        (result(VariantResult("2g", 0)), 3, ["--fail-on: 2g has no races to compare"]),
        # A step that is worse is not kept.
        (ladder(False), 0, []),
        # Of void ones, nothing is known.
        (ladder(False, compared=VOID), 3, ["s0: --fail-on: the comparison is void: nothing can be compared"]),
        (ladder(False, compared=None), 3, ["--fail-on: s0 has no races to compare"]),
        (ladder(True, confirmation=FASTER), 0, []),
        (ladder(True, confirmation=SLOWER), 3, ["best: --fail-on: throughput:index-append is worse"]),
        (ladder(None, state="unfinished"), 3, ["--fail-on: best has no races to compare"]),
    ],
)
def test_a_gate_speaks_of_each_contender(outcome, code, told):
    console = Warnings()
    assert gated_exit_code(outcome, options("worse:primary"), console) == code
    assert console.told == told


def test_junit_has_a_suite_for_each_contender():
    outcome = result(VariantResult("2g", 6, FASTER), VariantResult("4g", 6, SLOWER), VariantResult("<8g>", 0))
    for given in (options(), options("worse")):
        suites = ET.fromstring(result_junit(outcome, given))
        counts = [(each.get("name"), each.get("failures"), each.get("errors")) for each in suites]
        assert counts == [("heap-1: 2g", "0", "0"), ("heap-1: 4g", "1", "0"), ("heap-1: <8g>", "0", "1")]


def test_junit_says_why_there_is_nothing_to_compare():
    outcome = result(VariantResult("2g", 0, failure="too little memory"))
    assert "no races to compare; 2g failed: too little memory" in result_junit(outcome, options())


def test_junit_has_a_suite_for_each_step_if_none_could_be_compared():
    suites = ET.fromstring(result_junit(ladder(False, False, compared=VOID), options()))
    assert [(each.get("name"), each.get("errors")) for each in suites] == [
        ("heap-1: s0", "1"),
        ("heap-1: s1", "1"),
    ]
    assert not len(ET.fromstring(result_junit(ladder(False), options())))


@pytest.mark.parametrize("state", ["complete", "unfinished"])
def test_without_races_on_both_sides_there_is_nothing_to_compare(state):
    assert exit_code(result(VariantResult("2g", 0), state=state)) == 64
    assert exit_code(result(VariantResult("2g", 6, SLOWER), state=state)) == 0
