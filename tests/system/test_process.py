"""Processes that are not children are identified and killed."""

from __future__ import annotations

import contextlib
import fcntl
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
    kill_processes_with_lock,
    process_identity,
    processes_with_lock,
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


HAS_MANY = """
import os, sys
descriptor = int(sys.argv[1])
for _ in range(1_100):
    os.open("/dev/null", os.O_RDONLY)
os.dup(descriptor)
os.close(descriptor)
print(flush=True)
sys.stdin.read()
"""
"""Keeps a copy of a descriptor, after more than a thousand others."""


@contextlib.contextmanager
def holding(file: Path, *command: str, user: int | None = None) -> Iterator[ProcessIdentity]:
    """Runs a command that holds the lock on a file, which the process that took it has released; its last
    argument is the number of the descriptor.
    """
    pipe = subprocess.PIPE
    with file.open("w") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        number = locked.fileno()
        child = subprocess.Popen(
            [*command, str(number)], pass_fds=(number,), stdin=pipe, stdout=pipe, user=user
        )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        identity = process_identity(child.pid)
        assert identity is not None
        yield identity
        child.kill()


WAITS = ("/bin/sh", "-c", "echo; read line")


def test_a_process_that_inherited_a_lock_is_found_and_killed(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with holding(file, *WAITS) as process:
        assert processes_with_lock(file) == (process,)
        assert not kill_processes_with_lock(file, lambda pid: pid != process.pid)
        assert kill_processes_with_lock(file)
        assert not is_running(process)
    assert processes_with_lock(file) == ()


def test_only_the_first_descriptors_of_a_process_are_looked_at(tmp_path: Path) -> None:
    """A hundred processes can share a table of 20,000 descriptors."""
    with holding(tmp_path / "lock", sys.executable, "-I", "-S", "-c", HAS_MANY):
        assert processes_with_lock(tmp_path / "lock") == ()


def test_processes_of_other_users_are_looked_at_only_if_they_are_meant(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can run a process as another user")
    file = tmp_path / "lock"
    with holding(file, *WAITS, user=65534) as process:
        assert processes_with_lock(file) == ()
        assert processes_with_lock(file, lambda pid: pid == process.pid) == (process,)


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
