"""The flags of a running JVM. `tests/e2e/test_snapshot.py` reads those of real engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.jvm_flags import parse_flags, read_jvm_flags
from support.fake_jvm import running_jvm

REPLY = """\
     bool UseG1GC                           = true                           {product} {ergonomic}
   size_t MaxHeapSize                       = 536870912                      {product} {command line}
   double SomeShare                         = 1.500000                       {diagnostic} {default}
ccstrlist OnError                           =                                {product} {default}
   size_t HeapOfOldJava                    := 1                              {product}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "jvm"
    path.mkdir()
    return path


def test_every_flag_in_the_reply_has_its_value() -> None:
    assert parse_flags(REPLY) == {
        "UseG1GC": "true",
        "MaxHeapSize": "536870912",
        "SomeShare": "1.500000",
        "OnError": "",
        "HeapOfOldJava": "1",
    }


def test_a_jvm_is_asked_for_its_flags(folder: Path) -> None:
    with running_jvm(folder, f"0\n{REPLY}") as pid:
        assert read_jvm_flags(pid)["UseG1GC"] == "true"
    assert (folder / "asked").read_bytes() == b"1\0jcmd\0VM.flags -all\0\0\0"


def test_a_jvm_that_reports_an_error_is_an_error(folder: Path) -> None:
    with running_jvm(folder, "1\nno such command") as pid, pytest.raises(EngineError, match="no such"):
        read_jvm_flags(pid)


@pytest.mark.parametrize("text", ["\n" * (1 << 20), " " * (1 << 20), "a" * (1 << 20), "a b={" * 200_000])
def test_a_reply_of_a_mebibyte_without_a_flag_is_read_at_once(text: str) -> None:
    assert parse_flags(text) == {}
