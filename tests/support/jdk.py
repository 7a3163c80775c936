"""Installed JDKs, for tests that compare Pacenote with the JDK's own tools."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

COLLECTORS = ("G1", "Parallel", "Serial", "Z", "Shenandoah")
"""Collectors of HotSpot, as its options name them."""

_JAVA = Path(__file__).parents[1] / "evidence" / "java"
_TIMEOUT_S = 300


def installed_jdks() -> list[Path]:
    """Returns the homes of installed JDKs that have a compiler and Flight Recorder."""
    named = [Path(value) for name, value in os.environ.items() if name.endswith("JAVA_HOME")]
    homes = {path.resolve() for path in (*named, *Path("/usr/lib/jvm").glob("*"))}
    return sorted(
        path for path in homes if (path / "bin/javac").exists() and (path / "lib/jfr/profile.jfc").exists()
    )


def jdk_params() -> list[object]:
    """Returns a test parameter for each installed JDK; without one, a parameter that skips the test."""
    reason = "no JDK with a compiler and Flight Recorder is in *JAVA_HOME or /usr/lib/jvm"
    skipped = pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no-jdk")
    return [pytest.param(home, id=home.name) for home in installed_jdks()] or [skipped]


def run_java(jdk: Path, *args: str | Path, folder: Path) -> str:
    """Runs `java` in a folder and returns its output."""
    command = [str(each) for each in (jdk / "bin/java", *args)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=_TIMEOUT_S
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout


def record(jdk: Path, folder: Path, collector: str = "G1", rounds: int = 100) -> Path:
    """Runs a program with Flight Recorder and all events that Pacenote reads, and returns the recording.

    The GC log of the run is in the folder of the recording, as `gc.log`.
    """
    (folder / "all.jfc").write_text(_settings(jdk))
    log = "gc*=info,safepoint=info:file=gc.log:utctime,uptimenanos,level,tags:filecount=0"
    run_java(
        jdk,
        "-Xmx96m",
        f"-XX:+Use{collector}GC",
        "-XX:TLABSize=16k",
        "-XX:-ResizeTLAB",
        f"-Xlog:{log}",
        "-XX:StartFlightRecording=settings=all.jfc,filename=run.jfr",
        _JAVA / "RecordedLoad.java",
        str(rounds),
        folder=folder,
    )
    return folder / "run.jfr"


def recording_totals(jdk: Path, recording: Path) -> list[list[str]]:
    """Reads a recording with the JDK's consumer API and returns the fields of its groups."""
    text = run_java(jdk, "-Xmx512m", _JAVA / "RecordingTotals.java", recording, folder=recording.parent)
    return [line.split("\t") for line in text.split("\n") if line]


def _with_event(settings: str, name: str, change: Callable[[str], str]) -> str:
    """Returns settings with those of one type of events changed, if they have the type."""
    start = settings.find(f'<event name="jdk.{name}">')
    if start < 0:
        return settings
    end = settings.index("</event>", start)
    return settings[:start] + change(settings[start:end]) + settings[end:]


def _settings(jdk: Path) -> str:
    """Returns the JDK's own profile with all allocations, frequent readings, and without thresholds."""
    text = (jdk / "lib/jfr/profile.jfc").read_text()
    for name in ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB", "CPUTimeSample"):
        text = _with_event(text, name, lambda event: event.replace(">false<", ">true<"))
    for name in ("CPULoad", "ThreadCPULoad", "ThreadAllocationStatistics"):
        text = _with_event(text, name, lambda event: re.sub(r'("period"[^>]*>)[^<]+', r"\g<1>200 ms", event))
    return re.sub(r'(<setting name="threshold"[^>]*>)[^<]+', r"\g<1>0 ms", text)
