"""The live display on a terminal, and plain lines elsewhere."""

import io

from rich.console import Console as RichConsole

from pacenote.cli.console import Console
from pacenote.cli.live_progress import progress_table
from pacenote.cli.plain_progress import PlainListener
from pacenote.cli.progress import progress_listener
from pacenote.model.result import RaceProgress, TaskProgress
from support.records import record, task


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_live_table_has_a_row_per_running_task():
    running = (
        TaskProgress("index [red]", "docs", False, 0.5, 12_345.6, 40.0, 90.5, 20, 3, 61.0),
        TaskProgress("search", "ops", True, None, 0.0, None, None, 0, 0, None),
    )
    file = io.StringIO()
    RichConsole(file=file, width=120).print(progress_table(RaceProgress(2, 7, 65.2, running)))
    lines = [" ".join(line.replace("│", " ").split()) for line in file.getvalue().splitlines()]
    assert lines[0] == "step 2 of 7, 1 min 5 s"
    assert lines[3] == "index [red] ██████████░░░░░░░░░░ 12,346 docs/s 40 ms 90.5 ms 3 1 min 1 s"
    assert lines[4] == "search 0 ops/s 0"


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
