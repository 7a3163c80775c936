"""Commands reach only the JVM that they are for, which is a Python program here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.telemetry import jvm_attach
from pacenote.telemetry.jvm_attach import dump_heap

pytestmark = pytest.mark.process

FAKE_JVM = """
import os, signal, socket, sys
path = f"/tmp/.java_pid{os.getpid()}"

def serve(*_):
    assert os.path.exists(f".attach_pid{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path + ".tmp")
        os.chmod(path + ".tmp", 0o600)
        server.listen()
        os.rename(path + ".tmp", path)
        client, _ = server.accept()
        open("asked", "wb").write(client.recv(1000))
        client.sendall(sys.argv[1].encode())
        client.close()
    os.unlink(path)

signal.signal(signal.SIGQUIT, serve)
print(flush=True)
sys.stdin.read()
"""
"""A program that answers as HotSpot does, with its argument."""


@contextmanager
def running(folder: Path, answer: str = "0\n") -> Iterator[int]:
    """Runs the program in a folder until the end of the block, which must not have ended it."""
    command = [sys.executable, "-I", "-S", "-c", FAKE_JVM, answer]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()
    assert process.returncode == 0


def test_a_jvm_writes_its_dump(tmp_path: Path) -> None:
    with running(tmp_path) as pid:
        dump_heap(pid, Path("/heap.hprof"))
    assert (tmp_path / "asked").read_bytes() == b"1\0dumpheap\0/heap.hprof\0-all\0\0"
    assert [path.name for path in tmp_path.iterdir()] == ["asked"]


def test_what_a_jvm_reports_is_an_error_of_one_line(tmp_path: Path) -> None:
    with running(tmp_path, "1\nno\n\x1b[31mroom") as pid, pytest.raises(EngineError) as caught:
        dump_heap(pid, Path("/heap.hprof"))
    assert caught.value.message.endswith("cannot write the heap dump /heap.hprof: no [31mroom")


def test_nothing_is_created_through_a_link_in_the_folder_of_the_jvm(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with running(folder) as pid:
        (folder / f".attach_pid{pid}").symlink_to(tmp_path / "created")
        with pytest.raises(EngineError, match="cannot be attached to: File exists"):
            dump_heap(pid, Path("/heap.hprof"))
    assert not (tmp_path / "created").exists()


@pytest.mark.parametrize("kind", ["a file", "a link", "a socket for all"])
def test_only_the_socket_of_the_jvm_is_asked(tmp_path: Path, kind: str) -> None:
    with running(tmp_path) as pid, socket.socket(socket.AF_UNIX) as other:
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
                dump_heap(pid, Path("/heap.hprof"))
        finally:
            path.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_the_socket_of_another_user_is_not_asked(tmp_path: Path) -> None:
    with running(tmp_path) as pid, socket.socket(socket.AF_UNIX) as other:
        path = Path(f"/tmp/.java_pid{pid}")
        other.bind(str(path))
        try:
            path.chmod(0o600)
            os.chown(path, 65534, 65534)
            with pytest.raises(EngineError, match="is not a socket that only the JVM's user can use"):
                dump_heap(pid, Path("/heap.hprof"))
        finally:
            path.unlink()


def test_a_jvm_that_has_ended_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_attach, "_ATTACH_TIMEOUT_S", 0.1)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as process:
        process.wait()
    with pytest.raises(EngineError, match="does not run"):
        dump_heap(process.pid, Path("/heap.hprof"))
