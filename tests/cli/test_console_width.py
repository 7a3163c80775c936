"""Lines on a narrow terminal: they break between words, and tables drop and shorten columns."""

import fcntl
import io
import os
import struct
import termios
import time
from datetime import UTC, datetime

import pytest

from pacenote.cli.console import Console
from pacenote.cli.lists.races import race_table
from pacenote.cli.metrics_store.listing import ListedRace
from pacenote.cli.output.tables import Fit, table
from pacenote.errors import PacenoteError, TrackError
from pacenote.model.shell_command import shell_command
from support.records import summary

SENTENCE = "the engine that the track needs was not found in the folder of downloads"


@pytest.fixture
def terminal():
    """A terminal of 40 columns, and a function that returns the lines that it shows."""
    controller, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    stream = os.fdopen(side, "w")

    def lines():
        # The kernel passes text on in pieces.
        stream.write("\x04")
        stream.flush()
        shown = b""
        while not shown.endswith(b"\x04"):
            shown += os.read(controller, 65_536)
        return shown.rstrip(b"\x04").decode().replace("\r", "").splitlines()

    yield stream, lines
    stream.close()
    os.close(controller)


def test_errors_and_hints_break_between_words(terminal):
    stream, lines = terminal
    Console(io.StringIO(), stream).error(
        TrackError(SENTENCE, problems=(SENTENCE.replace("downloads", "files"),), hint=SENTENCE)
    )
    assert lines() == [
        "error: the engine that the track needs",
        "  was not found in the folder of",
        "  downloads",
        "  - the engine that the track needs was",
        "    not found in the folder of files",
        "hint: the engine that the track needs",
        "  was not found in the folder of",
        "  downloads",
    ]


def test_commands_do_not_break(terminal):
    stream, lines = terminal
    command = shell_command("pacenote", "compare", "a" * 10, "reboot", "x y" * 5)
    for hint in (f"see `{command}` for more", f"compare them: {command}"):
        Console(io.StringIO(), stream).error(TrackError(SENTENCE, hint=hint))
        # What a shell runs has one line, whatever the program is called.
        assert sum(command.removeprefix("pacenote ") in line for line in lines()) == 1


def test_warnings_progress_and_results_break_between_words(terminal):
    stream, lines = terminal
    console = Console(stream, stream)
    console.warning(SENTENCE)
    console.progress(SENTENCE)
    console.result_lines(f"  {SENTENCE}\n\nshort\n")
    shown = lines()
    assert max(map(len, shown)) <= 40
    assert shown[-4:] == [
        "  the engine that the track needs was",
        "    not found in the folder of downloads",
        "",
        "short",
    ]


def test_other_outputs_get_lines_of_any_length():
    out, err = io.StringIO(), io.StringIO()
    console = Console(out, err)
    console.warning(SENTENCE)
    console.result_lines(f"{SENTENCE}\n")
    assert (out.getvalue(), err.getvalue()) == (f"{SENTENCE}\n", f"warning: {SENTENCE}\n")


def test_a_secret_that_a_line_break_would_separate_is_hidden(terminal):
    stream, lines = terminal
    console = Console(io.StringIO(), stream)
    console.hide(frozenset({"correct horse battery staple"}))
    console.warning("the server refused the password correct horse battery staple")
    assert "horse" not in " ".join(lines())


def test_a_table_shortens_columns_and_drops_others():
    rows = [["name", "a long description", "1234567890"]]
    headers = ("A", "B", "C")
    assert table(headers, rows, Fit(30, ((1, 8),))).splitlines()[2] == "name  a long desc…  1234567890"
    assert table(headers, rows, Fit(20, ((1, 8),), (2,))).splitlines()[2] == "name  a long descri…"
    assert table(headers, rows, Fit(20, ((1, 8),), (2,))).splitlines()[0].split() == ["A", "B"]


def test_the_last_column_of_a_table_breaks_between_words():
    rows = [["one", "first second third"], ["two", ""]]
    assert table(("A", "B"), rows, Fit(16, ((1, 5),), wraps_last=True)).splitlines()[2:] == [
        "one  first",
        "     second",
        "     third",
        "two",
    ]


def test_all_columns_of_a_table_can_break():
    rows = [["a.long.name", "one two", "x"], ["b", "y", "z"]]
    fit = Fit(20, ((1, 5), (0, 7)), wraps_all=True)
    assert table(("A", "B", "C"), rows, fit).splitlines()[2:] == [
        "a.long.nam  one    x",
        "  e           two",
        "b           y      z",
    ]


def test_a_list_of_races_of_80_columns_has_challenge_and_version():
    race = summary(challenge="append-fast")
    now = datetime(2026, 3, 1, 13, 30, 15, tzinfo=UTC)
    headers, _, line = race_table([ListedRace(race)], {race.race_id: "b625d810"}, now, 80).splitlines()
    assert len(line) <= 80
    assert headers.split() == ["ID", "Track", "Engine", "Car", "Result", "State"]
    assert "http_logs / appen" in line
    assert "opensearch 3.3.0" in line


@pytest.mark.parametrize("show", ["warning", "progress", "error", "problem", "hint", "trace"])
def test_a_message_of_a_server_is_searched_for_secrets_in_part(show):
    """A search visits each character several times: of 60 MB, it took a minute."""
    text = "password: x1 " * 200_000
    out = io.StringIO()
    console = Console(io.StringIO(), out)
    began = time.process_time()
    match show:
        case "warning":
            console.warning(text)
        case "progress":
            console.progress(text)
        case "error":
            console.error(PacenoteError(text))
        case "problem":
            console.error(TrackError("wrong", problems=(text,)))
        case "hint":
            console.error(PacenoteError("wrong", hint=text))
        case "trace":
            console.trace(PacenoteError(text))
    assert time.process_time() - began < 0.5
    console.close()
    assert "…" in out.getvalue()
    assert len(out.getvalue()) < 70_000


@pytest.mark.parametrize("place", [0, 4_090, 8_190, 32_760, 65_530, 100_000, 180_000])
def test_no_part_of_a_secret_is_shown_where_a_message_is_cut(place):
    out = io.StringIO()
    console = Console(io.StringIO(), out)
    console.hide(frozenset({"CORRECT-HORSE-BATTERY-STAPLE"}))
    console.warning(f"{'x' * place}CORRECT-HORSE-BATTERY-STAPLE{'y' * (200_000 - place)}")
    assert "HORSE" not in out.getvalue()
    assert "STAPLE" not in out.getvalue()
    assert "CORRECT" not in out.getvalue()


@pytest.mark.parametrize(("length", "times"), [(800, 100), (1_500, 60), (4_000, 20)])
def test_no_part_of_a_secret_that_a_message_repeats_is_shown(length, times):
    """Redacted, it is short enough to be shown as a whole."""
    secret = ("0123456789abcdef" * length)[:length]
    out = io.StringIO()
    console = Console(io.StringIO(), out)
    console.hide(frozenset({secret}))
    console.error(PacenoteError("proxy " + " ".join([secret] * times)))
    console.close()
    assert "<hidden>" in out.getvalue()
    assert "0123" not in out.getvalue()
