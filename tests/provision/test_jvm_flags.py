"""The flags of a running JVM. `tests/e2e/test_snapshot.py` reads those of real engines."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.jvm_flags import parse_flags, read_jvm_flags

REPLY = """\
     bool UseG1GC                           = true                           {product} {ergonomic}
   size_t MaxHeapSize                       = 536870912                      {product} {command line}
   double SomeShare                         = 1.500000                       {diagnostic} {default}
ccstrlist OnError                           =                                {product} {default}
   size_t HeapOfOldJava                    := 1                              {product}
"""


def test_every_flag_in_the_reply_has_its_value() -> None:
    assert parse_flags(REPLY) == {
        "UseG1GC": "true",
        "MaxHeapSize": "536870912",
        "SomeShare": "1.500000",
        "OnError": "",
        "HeapOfOldJava": "1",
    }


FAKE_JVM = """
import mmap, os, signal, socket, sys
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
path = f"/tmp/.java_pid{os.getpid()}"

def serve(*_):
    if not os.path.exists(f"/tmp/.attach_pid{os.getpid()}"):
        return
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path + ".tmp")
        os.chmod(path + ".tmp", 0o600)
        server.listen()
        os.rename(path + ".tmp", path)
        client, _ = server.accept()
        asked = client.recv(100).replace(bytes(1), b" ")
        client.sendall(sys.argv[2].encode() + b" bool Asked = " + asked + b" {product} {default}")
        client.close()
    os.unlink(path)

if len(sys.argv) > 2:
    signal.signal(signal.SIGQUIT, serve)
print(flush=True)
sys.stdin.read()
"""
"""A program that answers as HotSpot does, with its second argument and what it was asked."""


@contextmanager
def running(code: str, *arguments: str) -> Iterator[int]:
    """Runs a Python program until the end of the block, which must not have ended it."""
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()
    assert process.returncode == 0


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "libjvm.so"
    path.write_bytes(b"x")
    return str(path)


def test_a_jvm_is_asked_for_its_flags(library: str) -> None:
    with running(FAKE_JVM, library, f"0\n{REPLY}") as pid:
        flags = read_jvm_flags(pid)
        assert not Path(f"/tmp/.attach_pid{pid}").exists()
    assert flags["UseG1GC"] == "true"
    assert flags["Asked"] == "1 jcmd VM.flags -all"


def test_a_jvm_that_reports_an_error_is_an_error(library: str) -> None:
    with running(FAKE_JVM, library, "1\nno such command") as pid, pytest.raises(EngineError, match="no such"):
        read_jvm_flags(pid)


@pytest.mark.parametrize("kind", ["a file", "a link", "a socket for all"])
def test_only_the_socket_of_the_jvm_is_asked(library: str, tmp_path: Path, kind: str) -> None:
    with running(FAKE_JVM, library, f"0\n{REPLY}") as pid, socket.socket(socket.AF_UNIX) as other:
        path = Path(f"/tmp/.java_pid{pid}")
        other.bind(str(path if kind == "a socket for all" else tmp_path / "s"))
        if kind == "a file":
            path.touch(0o600)
        elif kind == "a link":
            path.symlink_to(tmp_path / "s")
        else:
            path.chmod(0o666)
        try:
            with pytest.raises(EngineError, match="is not a socket that only the JVM's user can use"):
                read_jvm_flags(pid)
        finally:
            path.unlink()


def test_a_jvm_that_does_not_answer_is_an_error(library: str) -> None:
    deaf = FAKE_JVM.replace("def serve(*_):", "def serve(*_):\n    return")
    with running(deaf, library, "0") as pid:
        with pytest.raises(EngineError, match="does not answer"):
            read_jvm_flags(pid, timeout_s=0.02)
        assert not Path(f"/tmp/.attach_pid{pid}").exists()


def test_a_jvm_without_the_handler_or_with_an_option_against_it_gets_no_signal(library: str) -> None:
    with running(FAKE_JVM, library) as pid, pytest.raises(EngineError, match="does not handle SIGQUIT"):
        read_jvm_flags(pid)
    arguments = (library, "0", "-XX:+DisableAttachMechanism")
    with running(FAKE_JVM, *arguments) as pid, pytest.raises(EngineError, match="DisableAttach"):
        read_jvm_flags(pid)


def test_a_process_that_is_not_hotspot_gets_no_signal() -> None:
    code = "import sys; print(flush=True); sys.stdin.read()"
    with running(code) as pid, pytest.raises(EngineError, match="only HotSpot"):
        read_jvm_flags(pid)


def test_a_process_that_has_ended_is_an_error() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(EngineError, match="cannot be asked"):
        read_jvm_flags(ended.pid)
