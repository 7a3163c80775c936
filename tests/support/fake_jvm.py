"""A program that answers commands as HotSpot does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FAKE_JVM = """
import mmap, os, signal, socket, sys
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
path = f"/tmp/.java_pid{os.getpid()}"
# A killed JVM leaves its socket, and the kernel gives its id to another process.
if os.path.exists(path):
    os.unlink(path)

def serve(*_):
    if not os.path.exists(f".attach_pid{os.getpid()}"):
        return
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path + ".tmp")
        os.chmod(path + ".tmp", 0o600)
        server.listen()
        os.rename(path + ".tmp", path)
        client, _ = server.accept()
        open("asked", "wb").write(client.recv(1000))
        client.sendall(sys.argv[2].encode())
        client.close()
    os.unlink(path)

if len(sys.argv) > 2:
    signal.signal(signal.SIGQUIT, serve)
print(flush=True)
sys.stdin.read()
"""
"""Answers with its second argument, and writes the request to the file `asked` in its folder."""


@contextmanager
def running(code: str, folder: Path, *arguments: str) -> Iterator[int]:
    """Runs a Python program in a folder until the end of the block, which must not have ended it, and yields
    its process id.
    """
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()
    assert process.returncode == 0


@contextmanager
def running_jvm(folder: Path, *arguments: str, code: str = FAKE_JVM) -> Iterator[int]:
    """Runs the program, which looks like HotSpot, in a folder; see `running`."""
    library = folder.parent / "libjvm.so"
    library.write_bytes(b"x")
    with running(code, folder, str(library), *arguments) as pid:
        yield pid
