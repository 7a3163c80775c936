"""Files that the kernel copies from the memory of another process are read within a limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.host.facts import Facts
from pacenote.host.process import read_process_environment
from pacenote.system.process_memory import read_process_memory


def test_the_memory_of_a_process_is_read_up_to_a_limit() -> None:
    arguments = Path("/proc/self/cmdline").read_bytes()
    file = Path(f"/proc/{os.getpid()}/cmdline")
    assert read_process_memory(file, 1 << 20) == arguments
    assert read_process_memory(file, 5) == arguments[:5]


def test_a_missing_process_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_process_memory(tmp_path / "cmdline", 100)


def test_a_process_that_withholds_its_memory_delays_nothing(tmp_path: Path) -> None:
    file = tmp_path / "environ"
    # A pipe that no process writes to cannot be opened, as the files of such a process cannot be read.
    os.mkfifo(file)
    with pytest.raises(TimeoutError, match=r"does not let others read it within 0\.2 s"):
        read_process_memory(file, 100, timeout_s=0.2)


def test_the_environment_of_a_process_that_withholds_it_is_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "7").mkdir()
    os.mkfifo(tmp_path / "7" / "environ")
    limit_s = 0.2
    monkeypatch.setattr(read_process_memory, "__defaults__", (limit_s,))
    facts = Facts()
    read_process_environment(facts, tmp_path, "node", 7)
    [(key, reason)] = facts.snapshot().unread.items()
    assert key == "node.environment.*"
    assert "does not let others read it" in reason
