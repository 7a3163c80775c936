"""Measures the speed at which Flight Recorder recordings are read."""

from __future__ import annotations

import os
import time
from pathlib import Path

from machine import run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote import _core
from pacenote.evidence.recording import RecordingReader

_LIMIT = 5.0
_PROGRAM = Path(__file__).with_name("AllocatingThreads.java")
_EVENTS = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")


def measure(options: Options) -> Outcome:
    """Measures events per second of CPU time: of the core alone, and of all of the reader in Python."""
    jdk = _installed_jdk()
    if jdk is None:
        return Outcome(skipped="no JDK with a compiler and Flight Recorder is in JAVA_HOME or /usr/lib/jvm")
    core, reader = [], []
    with temporary_folder() as folder:
        path = _record(jdk, folder, options.choose(5_000, 500))
        recording = RecordingReader([path]).recording()
        counts = {each.name: each.count for each in recording.event_types}
        if not all(counts[name] for name in _EVENTS) or recording.files[0].problems:
            raise BenchmarkError(f"{path} does not have the events that are to be read")
        events = recording.files[0].events
        for _ in range(options.choose(10, 3)):
            started = time.process_time()
            _core.read_recordings([path], None)
            between = time.process_time()
            RecordingReader([path]).recording()
            core.append(events / 1e6 / (between - started))
            reader.append(events / 1e6 / (time.process_time() - between))
        size_mb = path.stat().st_size / 1e6
    rate = Figure("events per CPU second, core", "M/s", tuple(core))
    return Outcome(
        figures=(rate, Figure("events per CPU second, with the conversion to Python", "M/s", tuple(reader))),
        targets=(Target(rate, _LIMIT, at_most=False),),
        notes=(
            f"{events:,} events in {recording.files[0].chunks} chunks of a recording of {size_mb:.0f} MB; "
            "all events are decoded and grouped by class, thread and stack",
        ),
    )


def _installed_jdk() -> Path | None:
    named = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    found = (*named, *sorted(Path("/usr/lib/jvm").glob("*"), reverse=True))
    return next((each for each in found if (each / "bin/javac").exists() and _profile(each).exists()), None)


def _profile(jdk: Path) -> Path:
    return jdk / "lib/jfr/profile.jfc"


def _record(jdk: Path, folder: Path, rounds: int) -> Path:
    """Records the program with all events of allocations, and returns the recording."""
    settings = _profile(jdk).read_text()
    for name in _EVENTS:
        before, after = settings.split(f'<event name="{name}">')
        settings = f'{before}<event name="{name}">{after.replace(">false<", ">true<", 1)}'
    (folder / "all.jfc").write_text(settings)
    options = ["-Xmx256m", "-XX:TLABSize=16k", "-XX:-ResizeTLAB", "-XX:+UseParallelGC"]
    flight = f"-XX:StartFlightRecording=settings={folder / 'all.jfc'},filename={folder / 'run.jfr'},maxsize=0"
    run([str(jdk / "bin/java"), *options, flight, str(_PROGRAM), str(rounds)])
    return folder / "run.jfr"
