"""A JVM, which is a Python program here, writes a heap dump."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.telemetry.heap_dump import dump_heap
from support.fake_jvm import running_jvm

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "jvm"
    path.mkdir()
    return path


def test_a_jvm_writes_its_dump(folder: Path) -> None:
    with running_jvm(folder, "0\n") as pid:
        dump_heap(pid, Path("/heap.hprof"))
    assert (folder / "asked").read_bytes() == b"1\0dumpheap\0/heap.hprof\0-all\0\0"


@pytest.mark.parametrize("answer", ["1\nno\n\x1b[31mroom", "0\nDump failed\n\x1b[31mroom"])
def test_what_a_jvm_reports_is_an_error_of_one_line(folder: Path, answer: str) -> None:
    with running_jvm(folder, answer) as pid, pytest.raises(EngineError) as caught:
        dump_heap(pid, Path("/heap.hprof"))
    reason = caught.value.message.partition(" cannot write the heap dump /heap.hprof: ")[2]
    assert reason in ("no [31mroom", "Dump failed [31mroom")
