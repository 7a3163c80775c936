"""Every place that shows a task in one line shows the same figures of it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from pacenote.cli.output.live_view import RaceView
from pacenote.cli.output.progress_text import result_line
from pacenote.model.result import TaskResult, WorkTotals
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.page.race.tasks import task_table
from pacenote.report.screen.screen import TaskTable
from pacenote.report.screen.task_tables import task_tables
from pacenote.report.task_line import failed_count, percentile_text, task_line
from pacenote.serve import live_page
from support.records import bulk, paced, record, task, times


def on_the_last_screen(result: TaskResult) -> str:
    (table,) = task_tables(record(tasks=(result,)), (result,))
    assert isinstance(table, TaskTable)
    (row,) = table.lines
    return " ".join((row.name, *(cell.text for cell in row.cells)))


def on_the_page(result: TaskResult) -> str:
    (row,) = task_table(record(tasks=(result,)), (result,)).groups[0].rows
    return " ".join(getattr(cell, "text", str(cell)) for cell in row)


def in_the_live_display(result: TaskResult) -> str:
    view = RaceView()
    view.started(record())
    view.finished(result)
    (row,) = view._done
    return " ".join((row.name, *row.figures))


def in_a_browser(result: TaskResult) -> str:
    return re.sub("<[^>]*>", "", " ".join(live_page._ended_cells(result)))


SHOWN: tuple[Callable[[TaskResult], str], ...] = (
    on_the_last_screen,
    on_the_page,
    in_the_live_display,
    in_a_browser,
)


@pytest.mark.parametrize("shown", SHOWN)
def test_failed_documents_are_counted_and_not_their_bulks(shown: Callable[[TaskResult], str]) -> None:
    accounting = replace(bulk().accounting, failed=3)
    result = bulk(accounting=accounting, work=WorkTotals(done=7_000, failed=3_000))
    assert failed_count(result) == 3_000
    assert re.search(r"(?<![\d,])3,000(?![\d,])", shown(result))


@pytest.mark.parametrize("shown", [*SHOWN, result_line])
def test_a_percentile_of_too_few_samples_is_a_lower_bound(shown: Callable[[TaskResult], str]) -> None:
    few = times(5)
    low = few.at(50.0)
    assert low is not None
    assert not low.supported
    bounded = replace(low, low_ms=1.25)
    summary = replace(few, percentiles=tuple(bounded if each is low else each for each in few.percentiles))
    text = shown(task(service_time=summary)).replace(">=", "≥ ")
    assert "≥ 1.25 ms" in text
    assert percentile_text(bounded) == "≥ 1.25 ms"


@pytest.mark.parametrize("shown", [*SHOWN, result_line])
def test_a_percentile_of_which_nothing_is_known_is_not_shown(shown: Callable[[TaskResult], str]) -> None:
    summary = times(5, p50=7.77)
    unknown = tuple(replace(each, low_ms=None) for each in summary.percentiles)
    assert "7.77" not in shown(task(service_time=replace(summary, percentiles=unknown)))


@pytest.mark.parametrize("shown", [*SHOWN, result_line])
def test_a_task_that_was_interrupted_says_so(shown: Callable[[TaskResult], str]) -> None:
    result = task(ended_by="stopped")
    assert task_line(result).ended
    assert task_line(result).ended in shown(result)


@pytest.mark.parametrize("shown", SHOWN)
def test_latencies_with_the_backlog_of_the_warm_up_are_marked(shown: Callable[[TaskResult], str]) -> None:
    result = paced()
    marked = replace(result, warmup_backlog=replace(result.warmup_backlog, operations=40_000, marked=True))
    assert task_line(marked).has_backlog
    assert BACKLOG_MARK in shown(marked)


def test_a_rate_of_less_than_a_second_is_extrapolated() -> None:
    assert task_line(task(window_s=0.4, reported_s=None)).is_extrapolated
    assert not task_line(task(window_s=4.0, reported_s=None)).is_extrapolated
