"""The live display of a race at several sizes, character by character.

`UPDATE_GOLDEN=1` rewrites the golden files; review their diff.
"""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.cli.output.live_view import RaceView
from pacenote.model.failure_group import FailureGroup
from pacenote.model.race_progress import RaceProgress, TaskProgress, TasksToCome, TimeLeft
from pacenote.report.screen.text import plain_text, text_width
from support.records import bulk, paced, record, task

GOLDEN = Path(__file__).parent / "golden"
SEARCH = TaskProgress(
    "term", "ops", False, 0.7, 50.0, 5.7, 17.0, 1500, 0, 12.0,
    target=50.0, has_latency=True, late_p99_ms=0.04,
)  # fmt: skip
INDEXING = TaskProgress("index-append", "docs", False, 0.5, 12_345.6, 40.0, 90.5, 20, 3, 61.0)
CREATE = TaskProgress("create-index", "ops", False, 0.0, 0.0, 1.0, 1.0, 0, 0, None, one_off=True)
REFUSED = FailureGroup("http-status", "all shards failed", 503, 40, 0.0, 9.0, "operations")


def seen(*running, seconds=30, step=9, **more):
    """Returns a view of a race that has run for these seconds, in which the rates and percentiles vary."""
    view = RaceView()
    view.started(record())
    for second in range(seconds):
        factor = 8 if second % 9 == 6 else 1 + second % 3 / 10
        tasks = [
            replace(one, rate=one.rate / factor, p99_ms=one.p99_ms and one.p99_ms * factor) for one in running
        ]
        view.update(RaceProgress(step, 14, 60.0 + second, tuple(tasks), **more))
    return view


def running_race():
    to_come = ("range", "200s-in-range", "400s-in-range", "hourly_agg", "scroll", "desc_sort_timestamp")
    view = seen(
        replace(SEARCH, warming_up=True),
        replace(INDEXING, task="index-more"),
        left=TimeLeft(45.0, complete=True),
        to_come=TasksToCome(11, to_come),
    )
    view.finished(bulk(duration_s=17.82))
    view.finished(paced("default", errors=(REFUSED,), error_rate=0.4))
    return view


def long_race():
    """A race with hundreds of tasks, of which many run at the same time."""
    names = [f"search-{number}" for number in range(40)]
    view = seen(
        *(replace(SEARCH, task=name) for name in names),
        left=TimeLeft(3700.0, complete=False),
        to_come=TasksToCome(300, tuple(names[:8])),
    )
    for number in range(200):
        view.finished(task(f"earlier-{number}"))
    return view


def first_task():
    return seen(CREATE, seconds=1, step=1, to_come=TasksToCome(2, ("index-append", "refresh-after-index")))


@pytest.mark.parametrize("size", [(80, 24), (140, 50)])
@pytest.mark.parametrize("view", [running_race, long_race, first_task])
def test_the_display_of_a_race(view, size):
    text = plain_text(view().lines(*size))
    expected = GOLDEN / f"live-{view.__name__}-{size[0]}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("view", [running_race, long_race, first_task])
def test_the_display_fits_every_terminal(view):
    shown = view()
    for width in range(20, 160, 13):
        for height in (*range(1, 30, 3), 200):
            lines = plain_text(shown.lines(width, height)).splitlines()
            assert len(lines) <= height
            assert max(map(text_width, lines)) <= width, (width, height)


def test_texts_of_tracks_are_shown_as_text():
    name = "日本\x1b[2J [red]x\u202e"
    view = seen(replace(SEARCH, task=name, unit="\x1b]0;u\x07"), to_come=TasksToCome(1, (f"next {name}",)))
    view.finished(task(name, errors=(replace(REFUSED, reason="\x9b1m\nno"),), error_rate=0.5))
    view.job("downloading \x1b[5m x")
    assert plain_text(view.lines(80, 24)) == "downloading [5m x\n"
    view.update(RaceProgress(1, 1, 90.0, (replace(SEARCH, task=name),)))
    text = plain_text(view.lines(120, 24))
    assert text.replace("\n", "").isprintable()
    assert "日本 [2J [red]x" in text
    assert len({text_width(line) for line in text.splitlines() if "日本 [2J [red]x " in line}) == 1


def test_what_is_not_known_of_the_time_left_is_said():
    assert " step 9 of 14, 1 min 29 s, time left unknown" in plain_text(seen(SEARCH).lines(60, 24))
    atleast = seen(SEARCH, left=TimeLeft(45.0, complete=False))
    assert "1 min 29 s, at least 45 s left" in plain_text(atleast.lines(80, 24))


def test_a_task_that_has_ended_does_not_run():
    view = seen(SEARCH)
    view.finished(paced("term"))
    text = plain_text(view.lines(80, 24))
    assert text.count("term") == 1
    assert " done  term" in text
