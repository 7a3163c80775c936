"""Gaps of the driver belong to the tasks during which they were, however many there are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from pacenote.model.result import TaskResult
from pacenote.model.target_rate import TargetRate
from pacenote.report.summary import build_report
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.driver_pauses import gap_findings, gaps_between_tasks_text, stopped_s
from pacenote.verdict.schedule_rules import Delays, missed_targets
from support.records import paced, record

FIRST = paced(task="first", started_s=0.0, duration_s=400.0, window_s=395.0)
SECOND = paced(task="second", started_s=401.0, duration_s=600.0, window_s=595.0)


def gap(to_s: float, length_s: float = 0.6) -> dict[str, float]:
    """A gap of a driver that started a second before the first task."""
    from_s = to_s - length_s
    return {"at_s": from_s + 1, "length_s": length_s, "from_s": from_s, "to_s": to_s, "gaps": 1}


def merged(*gaps: Mapping[str, float]) -> dict[str, float]:
    """Gaps as the driver records them that were during the same tasks, if there are very many."""
    sums = {name: sum(each[name] for each in gaps) for name in ("length_s", "gaps")}
    return {**gaps[0], **sums, "to_s": gaps[-1]["to_s"]}


def clock(*gaps: Mapping[str, float]) -> dict[str, object]:
    return {"gaps": list(gaps), "gaps_s": sum(each["length_s"] for each in gaps)}


IN_FIRST = [gap(10.0 * number) for number in range(1, 40)]
IN_SECOND = [gap(401 + 10.0 * number) for number in range(1, 60)]


@pytest.mark.parametrize(
    "gaps", [(*IN_FIRST, *IN_SECOND), (merged(*IN_FIRST), *IN_SECOND[:7], merged(*IN_SECOND[7:]))]
)
def test_all_gaps_are_counted_and_those_of_a_task_are_its_own(gaps: tuple[Mapping[str, float], ...]) -> None:
    of_race = clock(*gaps)
    times = {task.task: stopped_s({"clock": of_race}, task) for task in (FIRST, SECOND)}
    assert times == pytest.approx({"first": 39 * 0.6, "second": 59 * 0.6})
    (finding,) = gap_findings(of_race, (FIRST, SECOND))
    assert finding.tasks == ("first", "second")
    assert "did not run 98 times, 58.8 s in total, the first time " in finding.text


def test_a_rate_that_was_missed_after_many_gaps_is_blamed_on_these() -> None:
    # A tenth of the operations is missing, and the driver did not run for more than half of this time.
    late = replace(SECOND, window_s=600.0, window_operations=54_000, window_succeeded=54_000)
    many = {"clock": clock(*(gap(10.0 * number) for number in range(1, 40)), merged(*IN_SECOND))}
    target = {"second": TargetRate(100.0, operations=100.0)}
    (missed,) = missed_targets([late], target, Delays(many))
    assert (missed.cause, "the driver did not run" in missed.text) == ("machine", True), missed


def findings_of(*gaps: Mapping[str, float]) -> list[tuple[tuple[str, ...], bool]]:
    """Returns the tasks of the findings, and whether these say that measured times include the gaps."""
    return [
        (each.tasks, "and measured times include this" in each.text)
        for each in gap_findings(clock(*gaps), (FIRST, SECOND))
    ]


def test_no_measured_time_includes_a_gap_between_tasks() -> None:
    assert findings_of(gap(400.9)) == findings_of(gap(0.0)) == findings_of(gap(402.0)) == []
    assert findings_of(gap(406.1)) == [(("second",), True)]
    of_both = clock(gap(50.0), gap(400.9), gap(407.0))
    (inside,) = gap_findings(of_both, (FIRST, SECOND))
    assert inside.text.startswith("the driver did not run 2 times, 1.2 s in total, the first time for 0.6 s,")
    assert gaps_between_tasks_text(of_both, (FIRST, SECOND)) == (
        "the driver did not run for 0.6 s, 401.3 s after its start, while no task was measured: measured "
        "times are not affected"
    )
    assert not gaps_between_tasks_text(clock(gap(50.0)), (FIRST, SECOND))


def test_a_gap_between_tasks_is_mentioned_and_does_not_make_a_race_suspect() -> None:
    race = record(tasks=(FIRST, SECOND), driver={"clock": clock(gap(400.9))})
    assert determine_verdict(race).state == "valid"
    (text,) = [note.text for note in build_report(race).notes if "did not run" in note.text]
    assert text.endswith("while no task was measured: measured times are not affected")


def test_races_of_earlier_versions_listed_the_first_gaps_without_beginnings() -> None:
    def earlier(*names: str) -> dict[str, object]:
        listed = [{name: each[name] for name in names} for each in IN_FIRST[:32]]
        return {"gaps": listed, "gaps_s": 60.0}

    def texts(of_race: Mapping[str, object], *tasks: TaskResult) -> list[tuple[tuple[str, ...], str]]:
        return [(each.tasks, each.text.partition(",")[2]) for each in gap_findings(of_race, tasks)]

    text = (
        " 60 s in total, the first time for 0.6 s, 10.4 s after its start, and measured times include this: "
        "its process was stopped, its virtual machine was paused, or it had no core"
    )
    with_ends = earlier("at_s", "length_s", "to_s")
    assert texts(with_ends, FIRST, SECOND) == [(("first",), text)]
    assert stopped_s({"clock": with_ends}, FIRST) == pytest.approx(32 * 0.6)
    # The first version did not record when a gap ended.
    assert texts(earlier("at_s", "length_s"), FIRST, SECOND) == [((), text)]
