"""The result of `saturate`, rendered as Markdown."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from pacenote.model.result import CensoredPercentile, Percentile
from pacenote.model.saturation import (
    ConcurrencyLevel,
    Estimate,
    LatencyLimit,
    Objective,
    Probe,
    SaturationResult,
    UslFit,
    VaryingLimit,
)
from pacenote.model.saturation_answer import answer, outcome_text
from pacenote.report.render.saturation import LEVELS_TITLE, print_saturation
from pacenote.report.render.saturation import render_saturation as render_report
from pacenote.report.saturation import build_saturation_report
from pacenote.report.screen.screen import Command, StoredRace

STORED = StoredRace("~/races/r", "id r")
NEXT = (Command("pacenote report r", "all"),)


def render_saturation(result: SaturationResult, verdict: Verdict | None = None) -> str:
    """Returns the report as Markdown."""
    return render_report(build_saturation_report(result, verdict))


PROBE = Probe(
    number=1,
    rate=100.0,
    achieved=99.5,
    work=99_500.0,
    error_rate=0.02,
    latency=(Percentile(99.0, 12.5, 10.0, None, supported=False),),
    waited=3,
    unsent=0,
    outcome="failed",
    reasons=("error rate | 2 %\x1b",),
    latency_with_failures=(CensoredPercentile(99.0, None, None, supported=False),),
)

FOUND = SaturationResult(
    race_id="r",
    task="index",
    operation="bulk",
    unit="docs",
    work_per_operation=1000.0,
    connections=8,
    objective=Objective((LatencyLimit(99.0, 50.0),), 0.01),
    precision=0.03,
    window_s=20.0,
    warmup_s=5.0,
    probes=(PROBE,),
    stable=80.0,
    unstable=82.0,
    limited_by="engine",
    levels=(ConcurrencyLevel(2, 1, 50.0, 0.0), ConcurrencyLevel(3, 1, 60.0, 0.2, ("error rate 20 %",))),
    complete=True,
)


def test_the_answer_is_an_interval_in_both_units():
    assert answer(FOUND) == "between 80 ops/s (80,000 docs/s) and 82 ops/s (82,000 docs/s)"
    assert answer(replace(FOUND, unstable=None)) == "at least 80 ops/s (80,000 docs/s)"
    assert answer(replace(FOUND, stable=None)).startswith("below 82 ops/s (82,000 docs/s): no rate")
    assert answer(replace(FOUND, stable=None, unstable=None)) == "no probe was completed"


def test_the_work_of_a_rate_is_that_of_its_own_probes():
    """The window of a fast probe ends with other bulks, whose numbers of documents differ."""
    slow = replace(PROBE, number=2, rate=80.0, work_per_operation=500.0)
    probes = (
        replace(PROBE, rate=82.0, work_per_operation=700.0),
        slow,
        # Nothing was answered.
        replace(slow, number=3, work_per_operation=None),
        replace(slow, number=4, work_per_operation=600.0),
    )
    probed = replace(FOUND, probes=probes)
    assert answer(probed) == "between 80 ops/s (44,000 docs/s) and 82 ops/s (57,400 docs/s)"
    # Rates between the probed ones have the work of the nearest one.
    varying = replace(probed, varying=VaryingLimit(70.0, 81.5))
    assert answer(varying).startswith("between 70 ops/s (38,500 docs/s) and 81.5 ops/s (57,050 docs/s);")


def test_the_work_of_a_probe_of_older_versions_is_known_if_nothing_failed():
    """`work_per_operation` of the result includes the warm-up, whose operations had other work."""
    older = replace(PROBE, rate=80.0, achieved=80.0, work=40_000.0, error_rate=0.0)
    assert answer(replace(FOUND, unstable=None, probes=(older,))) == "at least 80 ops/s (40,000 docs/s)"
    failed = replace(older, error_rate=0.5)
    assert answer(replace(FOUND, unstable=None, probes=(failed,))) == "at least 80 ops/s (80,000 docs/s)"


def test_the_text_shows_the_objective_every_probe_and_the_levels():
    text = render_saturation(FOUND)
    assert "objective: p99 of latency at most 50 ms (upper bound of its 95 % interval), error rate" in text
    assert "open loop: operations are sent when they are due, on at most 8 connections" in text
    row = next(line for line in text.splitlines() if line.startswith("| 1 | 100 "))
    assert row == "| 1 | 100 | 99.5 |  | none * | 2 | 3 | failed: error rate \\| 2 % |"
    assert "| 1 | 55 | 50 | 60 | 1 of 2: error rate 20 % |" in text
    assert "too few, or too scattered" in text
    assert "\n- *: too few samples for an interval\n" in text
    assert "ended early" not in text
    assert "- the search ended early: the" in render_saturation(replace(FOUND, complete=False))


def test_a_probe_shows_the_bound_that_decided_it():
    decided = replace(PROBE, latency_with_failures=(CensoredPercentile(99.0, 12.5, 14.0, supported=True),))
    assert "| 12.5 (to 14) |" in render_saturation(replace(FOUND, probes=(decided,)))
    few = replace(decided, latency_with_failures=(CensoredPercentile(99.0, 12.5, None, supported=True),))
    assert "| 12.5 (no bound) |" in render_saturation(replace(FOUND, probes=(few,)))


def test_a_document_of_format_1_is_still_shown():
    document = replace(FOUND, format=1).to_document()
    del document["probes"][0]["latency_with_failures"], document["levels"][1]["left_out"]
    text = render_saturation(SaturationResult.from_document(document))
    assert "| 1 | 100 | 99.5 |  | 12.5 * |" in text


def test_a_peak_is_shown_only_if_there_is_one():
    estimate = Estimate(1.0, 0.5, 2.0)
    fit = UslFit(estimate, estimate, estimate, None, None, 0.01)
    assert "no peak" in render_saturation(replace(FOUND, fit=fit))
    assert "peak: 1 (0.5 … 2) clients" in render_saturation(
        replace(FOUND, fit=replace(fit, peak_clients=estimate, peak_rate=estimate))
    )


def test_a_peak_beyond_the_sweep_is_not_stated():
    same = Estimate(1.0, 0.5, 2.0)
    text = render_saturation(replace(FOUND, fit=UslFit(same, same, same, None, None, 0.01, peak_beyond=32)))
    assert "- peak: not located: it may lie beyond the 32 clients measured;" in text


def test_probes_that_disagree_are_part_of_the_answer():
    rates = ((320.0, "passed"), (640.0, "passed"), (640.0, "failed"), (800.0, "undecided"), (800.0, "passed"))
    probes = tuple(replace(PROBE, rate=rate, outcome=outcome) for rate, outcome in rates)
    result = replace(
        FOUND,
        unit="ops",
        probes=probes,
        stable=320.0,
        unstable=None,
        disputed=(640.0, 800.0),
        limited_by="disagreement",
    )
    disagree = "the probes at 640 ops/s and at other rates up to 800 ops/s disagree"
    assert answer(result) == f"at least 320 ops/s; {disagree}"
    assert answer(replace(result, stable=None)) == f"inconclusive; {disagree}"
    assert answer(replace(result, stable=None, unstable=900.0)) == f"below 900 ops/s; {disagree}"
    # Within an interval, disagreement is expected.
    assert answer(replace(result, unstable=900.0)) == "between 320 ops/s and 900 ops/s"
    text = render_saturation(result)
    assert "- limited by: probes that disagreed: some passed" in text
    assert "- 640 ops/s: 1 of 2 probes passed" in text


def test_a_rate_that_passed_is_stated_even_if_a_lower_one_failed():
    """The engine became slower during the search."""
    rates = ((40.0, "passed"), (80.0, "passed"), (80.0, "failed"), (40.0, "failed"), (20.0, "failed"))
    result = replace(
        FOUND,
        unit="ops",
        probes=tuple(replace(PROBE, rate=rate, outcome=outcome) for rate, outcome in rates),
        stable=None,
        unstable=20.0,
        passed_above=(40.0, 80.0),
        limited_by="disagreement",
    )
    passed = "probes at 40 ops/s and at other rates up to 80 ops/s passed, but none at 20 ops/s"
    assert answer(result) == f"inconclusive; {passed}"
    text = render_saturation(result)
    assert "no rate met the objective" not in text
    assert "- 40 ops/s: 1 of 2 probes passed (1 failed)\n- 80 ops/s: 1 of 2 probes passed (1 failed)" in text


def test_a_rate_at_which_no_probe_failed_is_not_an_upper_end():
    undecided = replace(FOUND, unit="ops", limited_by="samples")
    assert answer(undecided) == "at least 80 ops/s; undecided at 82 ops/s"
    assert answer(replace(undecided, limited_by="driver")) == answer(undecided)
    held = replace(undecided, limited_by="connections")
    assert answer(held) == "at least 80 ops/s; too few connections for 82 ops/s"
    assert "limited by: the number of connections, not the engine: at the rate above," in render_saturation(
        held
    )
    assert answer(replace(undecided, stable=None)) == "inconclusive; no probe passed, the slowest at 82 ops/s"
    mixed = replace(undecided, stable=None, disputed=(70.0,))
    assert answer(mixed) == "inconclusive; the probes at 70 ops/s disagree"


def test_the_reason_why_a_search_ended_early_and_the_verdict_are_shown():
    early = replace(FOUND, complete=False, ended_early="connection | refused")
    text = render_saturation(
        early, Verdict("void", (Finding("aborted: x"), Finding("error rate", tasks=("index",))))
    )
    assert r"- the search ended early (connection \| refused): the interval is the result so far" in text
    assert "the tasks before the search: void\n  - aborted: x\n  - index: error rate\n" in text
    assert "verdict" not in render_saturation(FOUND, Verdict("valid"))


def test_a_result_can_be_read_from_its_document():
    assert SaturationResult.from_document(FOUND.to_document()) == FOUND


def test_a_terminal_gets_tables_instead_of_markdown():
    estimate = Estimate(1.0, 0.5, 2.0)
    result = replace(FOUND, fit=UslFit(estimate, estimate, estimate, None, None, 0.01))
    file = io.StringIO()
    report = build_saturation_report(result, Verdict("void", ("aborted: [red]x",)))
    print_saturation(report, STORED, NEXT, Console(file=file, width=100))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    answer_at = lines.index(
        "Saturation of task index: between 80 ops/s (80,000 docs/s) and 82 ops/s (82,000 docs/s)"
    )
    assert lines[answer_at + 1] == "  limited by: the engine"
    assert not any("│" in line for line in lines[answer_at:]), "the answer follows the tables"
    assert lines[-2:] == [" Results  ~/races/r  (id r)", " Next     pacenote report r   all"]
    assert not any("| --- |" in line or line.startswith("#") or "**" in line for line in lines)
    assert "    aborted: [red]x" in lines
    row = next(line for line in lines if line.replace("│", " ").split()[:2] == ["1", "100"])
    assert "none *" in row
    assert LEVELS_TITLE in lines
    assert any(line.strip().startswith("contention (sigma): 1") for line in lines)
    assert max(map(len, lines)) <= 100


def test_a_terminal_shows_each_reason_once_with_the_range_of_its_numbers():
    late = "the driver sent late (p99 {} ms)"
    probes = (
        replace(PROBE, outcome="passed", reasons=(late.format("2.5"),)),
        replace(PROBE, number=2, reasons=("p99 of latency is 1,060 ms", late.format(10))),
        replace(PROBE, number=3, reasons=("p99 of latency is 1,060 ms",)),
    )
    file = io.StringIO()
    level = ConcurrencyLevel(4, 1, 60.0, 0.2, (late.format(7),))
    report = build_saturation_report(replace(FOUND, probes=probes, levels=(level,)), rounded=True)
    print_saturation(report, STORED, NEXT, Console(file=file, width=120))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    outcomes = [line.rpartition("│")[2].strip() for line in lines if "│" in line]
    assert outcomes[:3] == ["passed, although disturbed [1]", "failed [2] [1]", "failed [2]"]
    assert outcomes[-1] == "1 of 1: [1]"
    reasons = [line for line in lines if line.startswith("  [")]
    assert reasons == [
        "  [1] the driver sent late (p99 2.5 … 10 ms)",
        "  [2] p99 of latency is 1,060 ms",
        "  [1] the driver sent late (p99 7 ms)",
    ]


def test_without_probes_there_is_no_table():
    empty = replace(FOUND, probes=(), levels=(), complete=False, stable=None, unstable=None)
    assert "|" not in render_saturation(empty)


REASON = "the driver sent late (p99 3 ms, over 10 % of service time): p99 is doubtful"

TIMES = (
    CensoredPercentile(50.0, 1580.12345, 1582.54321, supported=True),
    CensoredPercentile(99.0, 17285.123, 19513.321, supported=True),
)


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(80, ["waited", "p50 ms", "done"]), (100, ["waited", "p50 ms"]), (140, [])],
)
def test_a_terminal_shows_whole_numbers_and_outcomes_at_each_width(width, left_out):
    outcomes = ("passed", "failed", "void", "undecided")
    measured = replace(PROBE, reasons=(REASON,), waited=98765, latency_with_failures=TIMES)
    probes = tuple(replace(measured, number=n, outcome=outcome) for n, outcome in enumerate(outcomes, 1))
    file = io.StringIO()
    report = build_saturation_report(replace(FOUND, probes=probes, levels=()), rounded=True)
    print_saturation(report, STORED, NEXT, Console(file=file, width=width))
    text = file.getvalue().replace("┃", "│")
    rows = {line.split()[0]: line.split("│") for line in text.splitlines() if line.count("│") > 2}
    heads = [head.strip() for head in rows["probe"]]
    every = ("probe", "target ops/s", "done", "p50 ms", "p99 ms", "errors %", "waited", "outcome")
    assert heads == [head for head in every if head not in left_out]
    for number, outcome in enumerate(outcomes, 1):
        cells = dict(zip(heads, (cell.strip() for cell in rows[str(number)]), strict=True))
        assert cells["outcome"].partition(" ")[0].strip(":,") == outcome
        assert cells["target ops/s"] == "100"
        assert cells["p99 ms"] == "17,285 (to 19,513)"
        assert cells.get("p50 ms", "1,580 (to 1,583)") == "1,580 (to 1,583)"
        assert cells.get("done", "99.5") == "99.5"
        assert cells.get("waited", "98,765") == "98,765"
    assert (f"not shown in {width} columns: {', '.join(left_out)}" in text) == bool(left_out)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    # Files have all digits.
    whole = "| 1580.12 (to 1582.54) | 17285.1 (to 19513.3) |"
    assert whole in render_saturation(replace(FOUND, probes=probes))


def test_the_rates_of_the_answer_are_stated_with_their_tries():
    rates = ((800.0, "void"), (800.0, "passed"), (1600.0, "undecided"), (1600.0, "undecided"))
    result = replace(
        FOUND,
        unit="ops",
        probes=tuple(replace(PROBE, rate=rate, outcome=outcome) for rate, outcome in rates),
        stable=800.0,
        unstable=1600.0,
        limited_by="samples",
    )
    text = render_saturation(result)
    rule = "800 ops/s: 1 of 2 probes passed (1 void); 1,600 ops/s: 0 of 2 probes passed (2 undecided)"
    assert f"**at least 800 ops/s; undecided at 1,600 ops/s**\n\n- decided by: {rule}\n- void probes" in text
    assert "another one for the engine, may help" in text
    mixed = replace(result, stable=400.0, disputed=(800.0,))
    assert answer(mixed) == "at least 400 ops/s; the probes at 800 ops/s disagree; undecided at 1,600 ops/s"


def test_a_disturbed_probe_that_passed_says_why_it_counts():
    passed = replace(PROBE, outcome="passed", reasons=(REASON,))
    assert outcome_text(passed) == f"passed, although disturbed: {REASON}"
    why = "- disturbed probes that passed count: a slow driver or machine can only make latency longer\n"
    assert why in render_saturation(replace(FOUND, probes=(passed,)))
    assert "disturbed" not in render_saturation(FOUND)
    assert outcome_text(replace(passed, reasons=())) == "passed"
