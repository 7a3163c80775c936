"""The live display on a terminal, and plain lines elsewhere."""

import io

import pytest
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.output.live_view import RaceView
from pacenote.cli.output.plain_progress import PlainListener
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.output.progress_text import result_line
from pacenote.model.race_progress import RaceProgress, RetryWait, TaskProgress, TimeLeft
from pacenote.model.result import OperationTotals, Percentile, WorkTotals
from pacenote.report.screen.text import plain_text
from support.records import paced, record, task, times


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_probe_is_named_instead_of_the_step():
    running = TaskProgress("q", "ops", False, 0.5, 5.0, 1.0, 2.0, 5, 0, 3.0)
    progress = RaceProgress(1, 1, 17.2, (running,), activity="probe 3 of 10–30")
    assert live_lines(progress)[1] == " probe 3 of 10–30, 17 s"
    assert plain_lines((0.0, "progress", progress)) == ["[probe 3 of 10–30] q started"]


def test_a_terminal_gets_the_live_display_and_is_restored(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out, err = io.StringIO(), Terminal()
    with progress_listener(Console(out, err)) as listener:
        listener.preparing("downloading", 1, 2)
        listener.started(record())
        listener.progress(
            RaceProgress(1, 1, 1.0, (TaskProgress("search", "ops", False, 0.5, 5.0, 1.0, 2.0, 5, 0, 3.0),))
        )
        listener.task_finished(task())
        listener.warning("noisy")
        listener.finished(record())
    shown = err.getvalue()
    for text in ("downloading: 50 %", "race race-1", "step 1 of 1", "search done", "warning: noisy"):
        assert text in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") > 0, "the cursor is not restored"
    assert out.getvalue() == ""


def test_other_outputs_get_plain_lines(monkeypatch):
    for stream, term in ((io.StringIO(), "xterm"), (Terminal(), "dumb")):
        monkeypatch.setenv("TERM", term)
        with progress_listener(Console(io.StringIO(), stream)) as listener:
            assert isinstance(listener, PlainListener)


def live_lines(progress):
    """Returns the lines of the live display."""
    view = RaceView()
    view.update(progress)
    return plain_text(view.lines(120, 24)).splitlines()


def plain_lines(*calls):
    """Returns what the listener for plain output prints; each call has a time, a method and its arguments."""
    now = [0.0]
    err = io.StringIO()
    listener = PlainListener(Console(io.StringIO(), err), lambda: now[0])
    for time, method, *arguments in calls:
        now[0] = time
        getattr(listener, method)(*arguments)
    return err.getvalue().splitlines()


def test_waits_without_a_known_end_show_how_long_they_last():
    clone = "cloning track repository default"
    start = "starting opensearch 3.3.0"
    assert plain_lines(
        (0.0, "preparing", clone, 0, 0),
        (5.0, "preparing", clone, 0, 0),
        (10.5, "preparing", clone, 0, 0),
        (20.0, "preparing", start, 0, 120),
        (31.0, "preparing", start, 11, 120),
        (40.0, "preparing", "resolving", 0, 9),
        (55.0, "preparing", "resolving", 0, 9),
    ) == [
        f"{clone} …",
        f"{clone}: 10 s",
        f"{start} …",
        f"{start}: 11 s of at most 2 min",
        "resolving …",
        "resolving: 0 %, 15 s",
    ]


def progress_of(running, step=1, **more):
    return RaceProgress(step, 7, 10.0, (running,), **more)


def progress_lines(first, *later):
    """Returns the lines about a running task after that on its start."""
    calls = [(0.0, "progress", replace(first, elapsed_s=0.0))]
    calls += [(0.0, "progress", replace(one, elapsed_s=10.0 * n)) for n, one in enumerate((first, *later), 1)]
    return [line.partition("] ")[2] for line in plain_lines(*calls)][1:]


SEARCH = TaskProgress("search", "ops", False, 0.5, 116.0, 5900.0, 6000.0, 20, 1, 61.0)
CREATE = TaskProgress("create", "ops", False, 0.0, 0.0, 1.0, 1.0, 0, 0, None, one_off=True)


def test_a_rate_is_shown_beside_its_target_with_the_time_left_of_the_race():
    paced = progress_of(replace(SEARCH, target=5000.0), left=TimeLeft(600.0, complete=False))
    rates = "search: 116 of 5,000 ops/s, service time p50 5.9 s, p99 6 s, 1 error, 50 %, 1 min 1 s left"
    assert progress_lines(paced) == [f"{rates}, race: about 10 min left, plus tasks of unknown duration"]
    known = replace(paced, left=TimeLeft(600.0, complete=True))
    assert progress_lines(known) == [f"{rates}, race: about 10 min left"]
    assert progress_lines(replace(known, step=7)) == [rates], "the task ends with the race"


def test_a_task_of_which_no_operation_ends_says_so():
    silent = replace(SEARCH, rate=0.0, p50_ms=None, p99_ms=None, errors=0, eta_s=None, silent_s=34.2)
    assert progress_lines(progress_of(silent)) == ["search: 0 ops/s, no operation has ended for 34 s, 50 %"]
    assert "       no operation has ended for 34 s" in live_lines(progress_of(silent))


def test_one_off_tasks_have_no_rates():
    assert progress_lines(progress_of(CREATE)) == ["create: running"]
    counts = OperationTotals(2, 2, 0, 0, 0, 0, 2, 2)
    once = replace(task("create"), accounting=counts, work=WorkTotals(2, 0), bytes_out=0, duration_s=0.25)
    assert result_line(once) == "create done: 250 ms"
    documents = replace(once, unit="docs", work=WorkTotals(2000, 0))
    assert result_line(documents) == "create done: 250 ms, 2,000 docs"


def test_a_finished_task_with_a_schedule_has_the_percentiles_of_its_latency():
    latency = replace(times(), percentiles=(
        Percentile(50.0, 7.0, 6.0, 8.0, supported=True), Percentile(99.0, 90.0, 80.0, None, supported=False),
    ))  # fmt: skip
    paced = replace(task(), latency=latency, bytes_out=0)
    assert (
        result_line(paced)
        == "search done: 1 min 10 s (1 min measured), 833.33 ops/s, latency p50 7 ms, p99 ≥ 80 ms"
    )


@pytest.mark.parametrize(
    ("error_rate", "failures"),
    [
        (0.5, "error rate 50 %"),
        (0.0, "25 % of all operations failed, only in the warm-up"),
        (None, "25 % of all operations failed"),
    ],
)
def test_failures_in_the_warm_up_are_not_an_error_rate(error_rate, failures):
    counts = OperationTotals(8, 6, 2, 0, 0, 4, 4, 8)
    ended = replace(task(), accounting=counts, error_rate=error_rate, errors=(), bytes_out=0)
    assert result_line(ended).endswith(f", {failures}")


@pytest.mark.parametrize(("ended_by", "how"), [("stopped", "interrupted"), ("aborted", "aborted")])
def test_a_task_that_ended_early_is_not_done(ended_by, how):
    line = result_line(replace(task(), ended_by=ended_by, bytes_out=0))
    assert line.startswith(f"search {how} after 1 min 10 s (1 min measured), 833.33 ops/s")
    none = OperationTotals(1, 0, 0, 1, 0, 0, 0, 1, unsent=249)
    line = result_line(
        replace(task(), ended_by=ended_by, accounting=none, work=WorkTotals(0, 0), bytes_out=158)
    )
    assert line == f"search {how}: 1 operation unanswered, 158 B sent"


def test_the_last_line_says_whether_a_race_ended_early(capsys):
    listener = PlainListener(Console())
    for changes in ({}, {"interrupted": True}, {"aborted": "no node"}):
        listener.finished(record("r", complete=not changes, **changes))
    late = record("r", tasks=(paced(late_p99=3.0), paced("range", lateness=times(p50=0.21, p99=0.9))))
    listener.finished(late)
    *lines, last = capsys.readouterr().err.splitlines()
    assert last == (
        "race r is suspect: term: the driver sent late (p99 3 ms, over 10 % of service time): p99 is "
        "doubtful, p50 is not (and 1 more reason)"
    )
    assert lines == [
        "race r is valid",
        "race r was interrupted and is void",
        "race r was aborted and is void",
    ]


def test_a_retry_until_success_states_what_it_waits_for():
    wait = RetryWait("create", "cluster health is red", 12, 40.4, 600.0)
    waiting = progress_of(CREATE, waits=(wait,))
    text = "create: no success after 12 attempts in 40 s (cluster health is red), gives up after 10 min"
    assert progress_lines(waiting) == [text]
    assert progress_lines(replace(waiting, waits=(replace(wait, waited_s=1.0),))) == ["create: running"]
    assert live_lines(waiting)[-1] == f"       {text.removeprefix('create: ')}"
