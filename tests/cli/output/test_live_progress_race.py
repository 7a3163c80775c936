"""A race on a terminal that is resized while it runs, and Ctrl-C: a real process on a pseudo-terminal."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

import pacenote
from plugins.tracks import write_track
from python_tasks.racing import serving
from support.terminal import Terminal

pytestmark = pytest.mark.process

SECONDS = 60.0


class Session:
    """A race on a terminal."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.terminal = Terminal(80, 24)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""
        self._pid, self._controller = pty.fork()
        if not self._pid:
            os.execve(sys.executable, arguments, environment)
        self.resize(80, 24)

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size; the kernel sends SIGWINCH."""
        self.terminal.resize(columns, rows)
        ioctl(self._controller, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key: bytes) -> None:
        os.write(self._controller, key)

    def read_until(self, pattern: str) -> None:
        """Shows what the race writes until the screen has a text, or until the race has ended."""
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern, "\n".join(self.terminal.screen)):
            assert time.monotonic() < deadline, "\n".join(self.terminal.screen)
            if not self._read():
                break

    def exit_code(self) -> int:
        while self._read():
            pass
        os.close(self._controller)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        """Returns whether the race still has the terminal open."""
        if not select.select([self._controller], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._controller, 1 << 16)
        except OSError:
            return False
        text = self._rest + self._decoder.decode(data)
        # A sequence that is not complete waits for its rest.
        complete = re.sub(r"\x1b(\[[?0-9;]*)?$", "", text)
        self._rest = text[len(complete) :]
        # The terminal echoes Ctrl-C at the place of the cursor.
        self.terminal.feed(complete.replace("\r\n", "\n"))
        return True


def search(name: str, seconds: float) -> dict[str, object]:
    operation = {"operation-type": "search", "index": "logs", "body": {"query": {"match_all": {}}}}
    return {"name": name, "operation": operation, "time-period": seconds, "target-throughput": 50}


def test_a_race_on_a_terminal_survives_resizes_and_restores_it_after_ctrl_c(tmp_path: Path) -> None:
    schedule = [search("first", 1), search("second", 600), search("third", 1)]
    root = write_track(tmp_path, {"README.md": ""}, {"schedule": schedule})
    environment = os.environ | {
        "PACENOTE_HOME": str(tmp_path / "home"),
        "RALLY_HOME": str(tmp_path / "rally"),
        "PYTHONPATH": str(Path(pacenote.__file__).parents[1]),
        "TERM": "xterm-256color",
        "PYTHONIOENCODING": "utf-8",
    }
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    with serving() as server:
        arguments = [f"--track-path={root}", f"--target-hosts={server.address}", "--race-id=r"]
        session = Session([sys.executable, "-m", "pacenote", "race", *arguments], environment)
        terminal = session.terminal
        session.read_until(r"(?s)done  first .* now   second .*50 ops/s.*p99 [▁-█ ]{5}.* next  third")
        assert not terminal.is_cursor_visible
        for columns, rows in ((60, 12), (100, 30), (50, 20)):
            session.resize(columns, rows)
            began = int(re.findall(r"step 2 of 3, (\d+) s", "\n".join(terminal.screen))[-1])
            session.read_until(rf"(?s)step 2 of 3, ({began + 1}|{began + 2}) s.* next  third")
            shown = "\n".join(terminal.screen)
            assert [shown.count(label) for label in (" done ", " now ", " next ")] == [1, 1, 1], shown
        session.press(b"\x03")
        code = session.exit_code()
    screen = "\n".join(terminal.lines)
    assert code == 128 + signal.SIGINT
    assert terminal.is_cursor_visible
    assert " INTERRUPTED " in screen
    assert not re.search(r" now +second| next +third", screen), "remains of the display"
