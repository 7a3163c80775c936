"""Processes that are not children are identified and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.system.process import (
    ProcessIdentity,
    is_running,
    kill_process,
    process_identity,
    session_of,
)

FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def process() -> Iterator[ProcessIdentity]:
    with subprocess.Popen(["sleep", "60"]) as child:
        identity = process_identity(child.pid)
        assert identity is not None
        yield identity
        child.kill()


@pytest.mark.parametrize("number", [10**23, 10**99, 2**31, 2**31 - 1, 0, -1])
def test_a_number_that_is_no_process_id_is_no_process(number: int) -> None:
    """A server may report it."""
    assert session_of(number) is None
    assert process_identity(number) is None


def test_a_process_runs_until_all_its_threads_have_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS]) as child:
        try:
            status = Path(f"/proc/{child.pid}/status")
            while "State:\tZ" not in status.read_text("utf-8"):
                time.sleep(0.01)
            identity = process_identity(child.pid)
            assert identity is not None
            assert is_running(identity)
        finally:
            child.kill()
    assert not is_running(identity)


def test_an_unexpected_process_is_not_killed(process: ProcessIdentity) -> None:
    assert not kill_process(process, lambda _: False)
    assert is_running(process)


def test_a_process_that_ends_while_it_is_identified_has_ended(process: ProcessIdentity) -> None:
    def ends(pid: int) -> bool:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        # Its program and its folder can no longer be read.
        return False

    assert kill_process(process, ends)
