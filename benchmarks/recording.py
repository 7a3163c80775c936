"""Measures the speed at which Flight Recorder recordings are read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from machine import run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote import _core
from pacenote.evidence.recording import RecordingReader

_LIMIT = 5.0
_PROGRAM = Path(__file__).with_name("AllocatingThreads.java")
_SMALL_CHUNKS = "-XX:FlightRecorderOptions=maxchunksize=3M,stackdepth=64"
_EVENTS = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")


@dataclass(frozen=True, slots=True)
class _Case:
    """A recording that is read."""

    name: str
    """What is special about it."""

    rounds: int
    """Rounds of the program."""

    quick_rounds: int
    """Rounds of the program in a quick run."""

    depth: int
    """Half the depth of its stacks; 0 for flat stacks."""

    options: tuple[str, ...] = ()
    """Options of the JVM."""


_CASES = (
    _Case("flat stacks", 5_000, 500, 0),
    _Case("chunks of 3 MB with 2,048 stacks of 50 frames", 125_000, 12_500, 23, (_SMALL_CHUNKS,)),
)


def measure(options: Options) -> Outcome:
    """Measures events per second of CPU time: of the core alone, and of all of the reader in Python."""
    jdk = _installed_jdk()
    if jdk is None:
        return Outcome(skipped="no JDK with a compiler and Flight Recorder is in JAVA_HOME or /usr/lib/jvm")
    figures, targets, notes = list[Figure](), list[Target](), list[str]()
    for case in _CASES:
        core, reader, note = _measure(jdk, case, options)
        rate = Figure(f"events per CPU second, {case.name}", "M/s", core)
        figures += (rate, Figure(f"the same, {case.name}, with the conversion to Python", "M/s", reader))
        targets.append(Target(rate, _LIMIT, at_most=False))
        notes.append(note)
    return Outcome(
        figures=tuple(figures),
        targets=tuple(targets),
        notes=(*notes, "all events are decoded and grouped by class, thread and stack"),
    )


def _measure(jdk: Path, case: _Case, options: Options) -> tuple[tuple[float, ...], tuple[float, ...], str]:
    """Returns events per CPU second in millions, of the core and with Python, and what was read."""
    core, reader = [], []
    with temporary_folder() as folder:
        path = _record(jdk, folder, case, options.choose(case.rounds, case.quick_rounds))
        recording = RecordingReader([path]).recording()
        counts = {each.name: each.count for each in recording.event_types}
        if not all(counts[name] for name in _EVENTS) or recording.files[0].problems:
            raise BenchmarkError(f"{path} does not have the events that are to be read")
        file = recording.files[0]
        for _ in range(options.choose(10, 3)):
            started = time.process_time()
            _core.read_recordings([path], [None])
            between = time.process_time()
            RecordingReader([path]).recording()
            core.append(file.events / 1e6 / (between - started))
            reader.append(file.events / 1e6 / (time.process_time() - between))
        size_mb = path.stat().st_size / 1e6
    stacks = f"{len(recording.stacks):,} different stacks"
    note = f"{case.name}: {file.events:,} events, {stacks}, chunks: {file.chunks}, {size_mb:.0f} MB"
    return tuple(core), tuple(reader), note


def _installed_jdk() -> Path | None:
    named = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes = (*named, *sorted(Path("/usr/lib/jvm").glob("*"), reverse=True))
    return next((each for each in homes if (each / "bin/javac").exists() and _profile(each).exists()), None)


def _profile(jdk: Path) -> Path:
    return jdk / "lib/jfr/profile.jfc"


def _record(jdk: Path, folder: Path, case: _Case, rounds: int) -> Path:
    """Records the program with all events of allocations, and returns the recording."""
    settings = _profile(jdk).read_text()
    for name in _EVENTS:
        before, after = settings.split(f'<event name="{name}">')
        settings = f'{before}<event name="{name}">{after.replace(">false<", ">true<", 1)}'
    (folder / "all.jfc").write_text(settings)
    options = ["-Xmx256m", "-XX:TLABSize=16k", "-XX:-ResizeTLAB", "-XX:+UseParallelGC"]
    flight = f"-XX:StartFlightRecording=settings={folder / 'all.jfc'},filename={folder / 'run.jfr'},maxsize=0"
    run([str(jdk / "bin/java"), *options, *case.options, flight, str(_PROGRAM), str(rounds), str(case.depth)])
    return folder / "run.jfr"
