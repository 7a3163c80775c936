"""Latency that includes the backlog of a warm-up is marked, and does not stand for a race."""

import pytest
from msgspec.structs import replace

from compare.races import unserved
from pacenote.cli.output.live_view import _done_row
from pacenote.cli.output.progress_text import result_line
from pacenote.compare.groups import compare_groups
from pacenote.lab.tune.measure import measured
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.model.headline import headline, indexing_rate, slowest_task
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.result import OperationTotals, TaskResult, Throughput, WarmupBacklog, WarmupDrain
from pacenote.model.target_rate import TargetRate
from pacenote.model.tune import TuneObjective
from pacenote.model.warmup_backlog import (
    MISSED_ADVICE,
    backlog_advice,
    backlog_text,
    drain_text,
    includes_backlog,
    mean_includes_backlog,
    share_of_schedule,
    surplus_text,
    throughput_includes_backlog,
    unmarked_backlog_text,
    unused_drain_text,
)
from pacenote.report.page.race import tasks
from pacenote.report.screen import task_tables
from pacenote.report.summary import build_report
from pacenote.serve.live_page import _ended_cells
from support.records import judged, paced, record, task, times

COUNTS = OperationTotals(1000, 1000, 0, 0, 0, 500, 500, 1000, waited=140)


def delayed(name: str = "term", **changes: object) -> TaskResult:
    """A task of whose 500 measured operations 135 waited for the warm-up."""
    backlog = {"operations": 135, "until_s": 12.3, "gone": True, "iterations": None, "marked": True}
    return paced(name, accounting=COUNTS, warmup_backlog=WarmupBacklog(**backlog | changes))


def test_a_race_is_suspect_and_says_how_long_the_warm_up_should_be():
    race = record(tasks=(delayed(),))
    assert judged(race) == (
        "suspect",
        (
            "term: 135 measured operations waited for the warm-up, 27 % of all (limit 1 %): latency includes "
            "the backlog of the warm-up: raise warmup-time-period to at least 13 s",
        ),
    )
    (finding,) = race.verdict.findings
    assert (finding.cause, finding.doubtful_from) == ("track", None)


def test_no_output_advises_a_longer_warm_up_if_the_target_was_missed():
    """A task that cannot keep its rate never catches up."""
    slow = replace(delayed(), task="term", window_s=10.0, window_operations=500)
    missed = record(tasks=(slow,), targets={"term": TargetRate(1000.0, "ops", 1000.0)})
    kept = replace(missed, targets={"term": TargetRate(50.0, "ops", 50.0)})
    options = ComparisonOptions(primary=("p99-latency:term",))

    def outputs(race):
        yield "; ".join(note.text for note in build_report(race).notes)
        yield "; ".join(task_tables.footnotes(race, race.tasks))
        yield "; ".join(tasks.backlog_notes(race, race.tasks))
        compared = [[ComparedRace(race)], [ComparedRace(replace(race, race_id="b"))]]
        yield "; ".join(map(str, compare_groups(*compared, options).findings))
        yield measured(race, TuneObjective("p99-latency:term"), []).problem

    for with_missed, with_kept in zip(outputs(missed), outputs(kept), strict=True):
        assert MISSED_ADVICE in with_missed
        assert "at least 13 s" not in with_missed
        assert "longer warm-up" not in with_missed
        assert MISSED_ADVICE not in with_kept
        assert any(
            advice in with_kept for advice in ("at least 13 s", "longer warm-up", "lengthen the warm-up")
        )


def test_up_to_one_percent_is_no_finding():
    assert judged(record(tasks=(delayed(operations=5, marked=False),))) == ("valid", ())


def test_a_missed_target_is_the_reason_alone():
    slow = replace(delayed(gone=False), window_operations=40_000)
    missed = record(tasks=(slow,), targets={"term": TargetRate(1000.0, "ops", 1000.0)})
    (reason,) = missed.verdict.reasons
    assert "of 1,000 ops/s: the clients waited for replies" in reason


@pytest.mark.parametrize(
    ("changes", "text", "advice"),
    [
        ({}, "the last of them due at 12.3 s", "raise warmup-time-period to at least 13 s"),
        ({"until_s": 13.0}, "the last of them due at 13 s", "raise warmup-time-period to at least 14 s"),
        (
            {"until_s": 1234.5},
            "the last of them due at 1,234 s",
            "raise warmup-time-period to at least 1,235 s",
        ),
        ({"iterations": 1200}, "due at 12.3 s", "raise warmup-iterations to at least 1,200"),
        (
            {"gone": False},
            "and some still did when the task ended",
            "use a lower rate, more clients or a much longer warm-up",
        ),
    ],
)
def test_the_advice_fits_the_warm_up(changes, text, advice):
    result = delayed(**changes)
    assert backlog_text(result).startswith("135 of 500 measured operations waited for the warm-up, ")
    assert backlog_text(result).endswith(text)
    assert backlog_advice(result) == advice


def test_the_advice_does_not_depend_on_the_number_of_connections():
    """The track has 500 warm-up iterations of one client, which 64 connections share, 8 each."""
    result = replace(delayed(iterations=11), open_loop=True, clients=64)
    assert backlog_advice(result) == "raise the warmup-iterations of all clients together to at least 704"


def test_it_is_neither_the_slowest_task_nor_the_headline():
    slow, other = delayed(), task("other", service_time=times(p50=1.0))
    assert slowest_task([slow, other]) is other
    assert headline(record(tasks=(slow, other))) == "p50 1 ms"
    assert headline(record(tasks=(slow,))) == ""


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"effect": 1.04}, ", but latency is hardly higher for it (at most 1.04 times)"),
        ({"effect": 1.6}, ", and latency is up to 1.6 times as high, but others waited as well"),
        ({}, ""),
    ],
)
def test_a_backlog_that_marks_no_latency_is_said_with_its_reason(changes, text):
    result = delayed(marked=False, **changes)
    assert unmarked_backlog_text(result) == (
        f"135 of 500 measured operations (27 %) waited for the warm-up{text}"
    )
    assert backlog_text(result) == ""
    # Neither a marked one nor up to 1 % needs a reason.
    assert unmarked_backlog_text(delayed(**changes)) == ""
    assert unmarked_backlog_text(delayed(marked=False, operations=5, **changes)) == ""


def test_few_operations_that_wait_for_the_warm_up_mark_nothing_whatever_their_share():
    few = replace(COUNTS, operations=520, succeeded=520, normal=20)
    result = replace(delayed(marked=False, operations=4, effect=3.0), accounting=few)
    assert unmarked_backlog_text(result).endswith("up to 3 times as high, but they are very few")


def test_a_race_of_an_older_version_has_none():
    document = delayed().to_document()
    del document["warmup_backlog"]["effect"]
    del document["overload_failures"]
    assert TaskResult.from_document(document) == delayed()
    del document["warmup_backlog"]
    assert TaskResult.from_document(document).warmup_backlog == WarmupBacklog()


@pytest.mark.parametrize(
    ("drain", "text"),
    [
        (None, ""),
        (WarmupDrain(window_from_s=10.0), ""),
        (
            WarmupDrain(window_from_s=12.34, operations=1),
            "measured from 12.3 s on, 1 operation later than planned: the backlog of the warm-up was gone "
            "then",
        ),
        (
            WarmupDrain(window_from_s=30.0, operations=1200, gave_up=True),
            "measured from 30 s on, 1,200 operations later than planned: the backlog of the warm-up was not "
            "gone, but --warmup-drain waits no longer",
        ),
        (
            WarmupDrain(operations=7),
            "nothing was measured: the backlog of the warm-up took 7 operations more",
        ),
    ],
)
def test_a_window_that_waited_says_from_when_on_it_was_measured(drain, text):
    assert drain_text(paced(warmup_backlog=WarmupBacklog(drain=drain))) == text


@pytest.mark.parametrize("changes", [{"warmup_drain": False}, {"complete": False}, {"drains": True}])
def test_a_race_says_that_the_option_had_no_effect(changes):
    def text(warmup_drain=True, complete=True, drains=False):
        drain = WarmupDrain(window_from_s=10.0) if drains else None
        tasks = (task(), paced(warmup_backlog=WarmupBacklog(drain=drain)))
        pacing = PacingOptions(warmup_drain=warmup_drain)
        return unused_drain_text(record(tasks=tasks, pacing=pacing, complete=complete))

    assert text() == "--warmup-drain had no effect: no task has both a warm-up and a known rate"
    assert not text(**changes)


def test_a_search_that_mostly_was_not_sent_is_not_the_slowest():
    hung, other = unserved(0.6), paced(latency=times(p50=0.1))
    assert slowest_task([hung, other]) is other
    assert slowest_task([unserved(0.4), other]) is not other


FEW = {"operations": 80, "until_s": 3.395, "marked": False, "effect": 8.0, "from_quantile": 0.999}
"""Less than 1 % of 9,000 operations, which decide p99.9."""

MANY = OperationTotals(9600, 9600, 0, 0, 0, 600, 9000, 9600, waited=105)


def decided(**changes: object) -> TaskResult:
    return replace(delayed(**FEW | changes), accounting=MANY)


def test_few_operations_mark_the_percentiles_that_they_decide_and_no_others():
    race = decided()
    included = [q for q in (50.0, 90.0, 99.0, 99.9, 99.99, 100.0) if includes_backlog(race, q)]
    assert included == [99.9, 99.99, 100.0]
    assert (mean_includes_backlog(race), mean_includes_backlog(decided(effect=1.05))) == (True, False)
    # p99 still stands for the race.
    assert slowest_task([race]) is race
    assert judged(record(tasks=(race,))) == ("valid", ())
    assert not any(includes_backlog(decided(from_quantile=None), q) for q in (50.0, 100.0))
    assert all(includes_backlog(delayed(), q) for q in (50.0, 100.0))


@pytest.mark.parametrize(
    ("changes", "decide"),
    [
        ({}, "the mean, p99.9 and everything above it"),
        ({"effect": 1.05}, "p99.9 and everything above it"),
        ({"effect": 1.05, "from_quantile": 0.9999}, "p99.99 and everything above it"),
        ({"effect": 1.05, "from_quantile": 1.0}, "the maximum"),
        # More than 1 %, of which p99 is hardly higher.
        ({"effect": 1.05, "operations": 100}, "p99.9 and everything above it"),
    ],
)
def test_few_operations_that_decide_high_percentiles_are_said_with_these(changes, decide):
    race = decided(**changes)
    assert backlog_text(race) == (
        f"{race.warmup_backlog.operations:,} of 9,000 measured operations waited for the warm-up, the last "
        f"of them due at 3.4 s; they decide {decide}"
    )
    assert backlog_advice(race) == "raise warmup-time-period to at least 4 s"
    assert unmarked_backlog_text(race) == ""


def test_a_record_without_the_percentiles_that_the_backlog_decides_can_be_read():
    document = decided().to_document()
    del document["warmup_backlog"]["from_quantile"], document["warmup_backlog"]["in_engine"]
    assert TaskResult.from_document(document) == decided(from_quantile=None)


def test_a_window_that_waited_does_not_claim_that_the_backlog_was_gone_from_the_engine():
    drain = WarmupDrain(window_from_s=3.59, operations=88)
    begin = "measured from 3.59 s on, 88 operations later than planned, but"
    for in_engine, text in (
        (140, "140 measured operations still waited for the warm-up, 140 of them in the engine"),
        (0, "140 measured operations still waited for the warm-up"),
    ):
        backlog = WarmupBacklog(140, 4.6, drain=drain, in_engine=in_engine)
        assert drain_text(paced(warmup_backlog=backlog)) == f"{begin} {text}"


def test_only_the_figures_that_a_backlog_decides_are_marked_in_a_report():
    race = paced(warmup_backlog=WarmupBacklog(80, 3.395, effect=1.0, from_quantile=0.999))
    report = build_report(record(tasks=(race,)))
    marked = [row.metric for row in report.rows if "§" in row.mark]
    assert marked == [f"{q}th percentile latency" for q in ("99.9", "99.99", "100")]
    (text,) = [note.text for note in report.notes if note.label == "Warning" and note.task == "term"]
    assert "they decide p99.9 and everything above it: raise warmup-time-period to at least 4 s" in text
    assert any(note.startswith("§ ") for note in report.footnotes)


def catching_up(**changes: object) -> TaskResult:
    """A task that was asked for 400 ops/s, and worked off what its warm-up had left as well."""
    backlog = {"operations": 410, "until_s": 4.3, "surplus": 2310, "throughput_marked": True}
    own = {
        "throughput": Throughput(400.0, 477.0, 400.0, 800.0),
        "window_operations": 14_310,
        "window_succeeded": 14_310,
        "window_s": 30.0,
    }
    return paced(**own | {"warmup_backlog": WarmupBacklog(**backlog | changes)})


def test_throughput_that_includes_the_backlog_says_by_how_much_and_for_how_long_to_warm_up():
    assert surplus_text(catching_up()) == (
        "2,310 of 14,310 operations in the window (16.1 %) are left from the warm-up and raise throughput: "
        "raise warmup-time-period to at least 5 s"
    )
    assert surplus_text(catching_up(gone=False)).endswith("and raise throughput")
    assert share_of_schedule(catching_up()) * 477.0 == pytest.approx(400.0)


def test_throughput_without_or_with_a_time_of_its_own_includes_none():
    unmarked = catching_up(throughput_marked=False)
    own_time = replace(catching_up(), reported_s=12.0)
    assert [throughput_includes_backlog(each) for each in (catching_up(), unmarked, own_time)] == [
        True,
        False,
        False,
    ]
    assert surplus_text(unmarked) == surplus_text(own_time) == ""
    assert share_of_schedule(unmarked) == 1.0


def test_the_rates_of_a_report_are_marked_and_explained():
    race = record(tasks=(catching_up(),), targets={"term": TargetRate(400.0, "ops", 400.0)})
    report = build_report(race)
    rates = [row for row in report.rows if "Throughput" in row.metric or row.metric == "achieved rate"]
    assert [row.mark for row in rates] == ["§"] * 5
    assert [note[0] for note in report.footnotes if note[0] == "§"] == ["§"]
    assert surplus_text(catching_up()) in [note.text for note in report.notes]


def test_wherever_a_rate_is_shown_its_mark_is():
    race = record(tasks=(catching_up(),), targets={"term": TargetRate(400.0, "ops", 400.0)})
    (table,) = task_tables.task_tables(race, race.tasks)
    assert "477 / 400§" in [cell.text for cell in table.lines[0].cells]
    assert f"§ term: {surplus_text(catching_up())}" in task_tables.footnotes(race, race.tasks)
    assert f"§ term: {surplus_text(catching_up())}." in tasks.backlog_notes(race, race.tasks)
    assert "477 ops/s with the backlog of the warm-up" in result_line(catching_up())
    assert "477 ops/s§" in "".join(_ended_cells(catching_up()))
    assert _done_row(catching_up(), 400.0).figures[1] == "477 of 400 ops/s§"
    assert indexing_rate(catching_up()) == "477 ops/s§"
