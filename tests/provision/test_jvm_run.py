"""The Java of an engine runs within limits: it may be any program of an archive."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.jvm_run import MAX_OUTPUT_BYTES, JvmOutput, run_jvm

pytestmark = pytest.mark.process


def script(folder: Path, text: str) -> Path:
    program = folder / "java"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_both_streams_and_the_exit_code_are_returned(tmp_path: Path) -> None:
    java = script(tmp_path, 'echo "$@"; echo more >&2; exit 3')
    assert run_jvm(java, ("a", "b"), None, 10) == JvmOutput(3, "a b\nmore\n")
    java = script(tmp_path, "kill -9 $$")
    assert run_jvm(java, (), None, 10) == JvmOutput(-9, "")


def test_its_folder_is_writable_and_is_removed(tmp_path: Path) -> None:
    output = run_jvm(script(tmp_path, 'touch own && mkdir -p a/b && echo "$PWD $HOME"'), (), None, 10)
    folder, home = output.text.split()
    assert (output.exit_code, folder) == (0, home)
    assert not Path(folder).parent.exists()


def test_it_does_not_run_longer_than_its_time(tmp_path: Path) -> None:
    before = time.monotonic()
    assert run_jvm(script(tmp_path, "echo first; sleep 60"), (), None, 0.5) == JvmOutput(None, "first\n")
    assert run_jvm(script(tmp_path, "exec >&- 2>&-; sleep 60"), (), None, 0.5) == JvmOutput(None, "")
    assert time.monotonic() - before < 20


def test_what_it_prints_is_bounded(tmp_path: Path) -> None:
    output = run_jvm(script(tmp_path, "yes"), (), None, 60)
    assert output.exit_code is None
    assert MAX_OUTPUT_BYTES <= len(output.text) < 2 * MAX_OUTPUT_BYTES


def test_a_process_that_it_leaves_is_not_waited_for(tmp_path: Path) -> None:
    java = script(tmp_path, f"echo $$ > {tmp_path}/pid; setsid sleep 30 & echo done")
    before = time.monotonic()
    assert run_jvm(java, (), None, 25) == JvmOutput(0, "done\n")
    assert time.monotonic() - before < 15


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(EngineError, match="cannot be started"):
        run_jvm(tmp_path / "missing", (), None, 10)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
