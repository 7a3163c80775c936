"""What libraries log and warn of, with texts of servers, is shown like Pacenote's own messages."""

from __future__ import annotations

import logging
import os
import warnings
from types import SimpleNamespace

import pytest

from pacenote.cli import main as program

HOSTILE = (
    "##vso[a]\x1b]0;title\x07\x9b2Jfake\nerror: all is good at https://bob:s3cret@host/x " + "long " * 1_000
)


def run_with(monkeypatch: pytest.MonkeyPatch, log: object) -> int:
    """Runs a command that does this."""
    command = SimpleNamespace(
        UNAVAILABLE_OPTIONS={}, add_options=lambda parser: None, run=lambda *_: log() or 0
    )  # type: ignore[operator]
    monkeypatch.setattr(program, "command_module", lambda name: command)
    # The handlers of pytest are in the place of those that no program has.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    return program.main(["trust"])


def log_with_error() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("library").exception("failed")


def log_in_copy() -> None:
    if (copy := os.fork()) == 0:
        try:
            logging.getLogger("library").warning(HOSTILE)
        finally:
            os._exit(0)
    os.waitpid(copy, 0)


@pytest.mark.parametrize(
    "log",
    [
        lambda: logging.getLogger("library.part").warning("expected %s", HOSTILE),
        lambda: logging.getLogger("library").error("%d %s", HOSTILE),
        log_with_error,
        log_in_copy,
        lambda: warnings.warn(HOSTILE, UserWarning, stacklevel=1),
    ],
    ids=["record", "arguments", "error", "copy", "warning"],
)
def test_a_text_of_a_library_is_one_line_without_control_characters_and_secrets(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], log: object
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run_with(monkeypatch, log) == 0
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(("warning: library", "warning: UserWarning: "))
    assert line.isprintable()
    assert len(line) < 400
    assert "s3cret" not in line
    assert "##vso[" not in line


def test_records_of_no_importance_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = logging.lastResort
    assert run_with(monkeypatch, lambda: logging.getLogger("library").info("x")) == 0
    assert capfd.readouterr().err == ""
    assert logging.lastResort is before
