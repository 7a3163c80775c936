"""Measures `pacenote diagnose` of a race of an hour: twelve tasks with 400 operations per second, a snapshot
with 4,500 facts, a GC log with two collections per second, and 300 series of telemetry once a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from comparing import example_task
from machine import PACENOTE, run, temporary_folder
from msgspec.structs import replace
from outcome import Figure, Options, Outcome, Target
from recorded_samples import write_samples
from recorded_series import write_series

from pacenote import _core
from pacenote.model.race_record import RaceRecord, RecordedCluster, RecordedTrack, Verdict
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.started_node import StartedNode
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore

_LIMIT_MS = 1_000.0
_TASKS, _FACTS = 12, 4_500
_PER_SECOND = 2
_RATE = 400
_SERIES = 300
_NS = 10**9

HOUR_S = 3_600
"""Length of the race in seconds."""

TASK_S = HOUR_S // _TASKS
"""Length of each task in seconds."""

NODE = "rally-node-0"
"""The node of the race."""

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
"""When the race began."""

_COLLECTION = """\
[{at}][{up}ns][info ][gc,start    ] GC({n}) Pause Young (Normal) (G1 Evacuation Pause)
[{at}][{up}ns][info ][gc,task     ] GC({n}) Using 2 workers of 2 for evacuation
[{at}][{up}ns][info ][gc,phases   ] GC({n})   Pre Evacuate Collection Set: 0.09ms
[{at}][{up}ns][info ][gc,phases   ] GC({n})   Merge Heap Roots: 0.04ms
[{at}][{up}ns][info ][gc,phases   ] GC({n})   Evacuate Collection Set: 20.00ms
[{at}][{up}ns][info ][gc,phases   ] GC({n})   Post Evacuate Collection Set: 2.07ms
[{at}][{up}ns][info ][gc,phases   ] GC({n})   Other: 0.10ms
[{at}][{up}ns][trace][gc,age      ] GC({n}) Age table:
[{at}][{up}ns][trace][gc,age      ] GC({n}) - age   1:    2400144 bytes,    2400144 total
[{at}][{up}ns][info ][gc,heap     ] GC({n}) Eden regions: 117->0(145)
[{at}][{up}ns][info ][gc,heap     ] GC({n}) Survivor regions: 5->8(16)
[{at}][{up}ns][info ][gc,heap     ] GC({n}) Old regions: 2->2
[{at}][{up}ns][info ][gc,heap     ] GC({n}) Humongous regions: 1->1
[{at}][{up}ns][info ][gc          ] GC({n}) Pause Young (Normal) (G1 Evacuation Pause) 124M->9M(256M) 22.5ms
[{at}][{up}ns][info ][gc,cpu      ] GC({n}) User=0.03s Sys=0.00s Real=0.02s
[{at}][{up}ns][info ][safepoint   ] Safepoint "G1CollectForAllocation", Time since last: 477000000 ns, \
Reaching safepoint: 7161 ns, At safepoint: 22606194 ns, Leaving safepoint: 25568 ns, Total: 22638923 ns, \
Threads: 0 runnable, 12 total
"""


def measure(options: Options) -> Outcome:
    """Measures the wall time of the whole command, after one run that is not counted."""
    times = []
    with temporary_folder() as home:
        store_race(home)
        for turn in range(1 + options.choose(10, 3)):
            command = [PACENOTE, "diagnose", "race", "--report=short"]
            wall_ms = run(command, {"PACENOTE_HOME": str(home)}).wall_s * 1e3
            times += [wall_ms] if turn else []
    figure = Figure("pacenote diagnose, one hour", "ms", tuple(times))
    return Outcome(figures=(figure,), targets=(Target(figure, _LIMIT_MS, at_most=True),))


def store_race(home: Path) -> RaceFolder:
    """Stores the race and returns its folder."""
    record = RaceRecord(
        race_id="race",
        timestamp=BEGIN,
        track=RecordedTrack("http_logs"),
        tasks=tuple(
            replace(
                example_task(f"search-{number}"),
                started_s=float(TASK_S * number),
                duration_s=float(TASK_S),
                window_s=280.0,
            )
            for number in range(_TASKS)
        ),
        cluster=RecordedCluster("opensearch", "3.3.0", started_nodes=(StartedNode(name=NODE),)),
        verdict=Verdict("valid"),
        driver={"started_unix_ns": int(BEGIN.timestamp()) * _NS},
        telemetry={"host-sampler": {"data_devices": [{"device": "vda"}]}},
        complete=True,
    )
    folder = RaceStore(home).create(record)
    side = Snapshot(dict(_facts()))
    folder.write_snapshot(RaceSnapshot(side, side))
    tasks = [task.task for task in record.tasks]
    write_series(folder.path, tasks, TASK_S, _RATE)
    write_samples(folder.samples, tasks, TASK_S, _RATE)
    _write_telemetry(folder)
    _write_log(folder)
    return folder


def _facts() -> Iterator[tuple[str, str]]:
    yield f"node.{NODE}.jvm.vm_name", "OpenJDK 64-Bit Server VM"
    yield f"node.{NODE}.jvm.flag.MaxHeapSize", str(1 << 28)
    for number in range(_FACTS):
        yield f"node.{NODE}.setting.fact_{number}", "value"


def _write_log(folder: RaceFolder) -> None:
    """Writes the GC log, which has about 14 MB."""
    folder.artifacts.mkdir(parents=True, exist_ok=True)
    with (folder.artifacts / "gc.log").open("w", encoding="utf-8") as log:
        log.write(f"[{_time(0)}][1000000ns][info ][gc          ] Using G1\n")
        for number in range(HOUR_S * _PER_SECOND):
            seconds = number / _PER_SECOND
            up = int(seconds * 1e9) + 1_000_000_000
            log.write(_COLLECTION.format(at=_time(seconds), up=up, n=number))


def _time(seconds: float) -> str:
    moment = BEGIN + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}+0000"


def _write_telemetry(folder: RaceFolder) -> None:
    """Writes what the page shows, and further series, once a second."""
    begin_s = int(BEGIN.timestamp())
    file = _core.TelemetryFile(folder.path)
    for second in range(HOUR_S + 1):
        file.write((begin_s + second) * _NS, [*_samples(second)])
    for number in range(HOUR_S // TASK_S):
        at_s = begin_s + number * TASK_S
        file.add_task(f"search-{number}", at_s * _NS, (at_s + TASK_S) * _NS)
    file.close()


def _samples(second: int) -> list[tuple[str, str, float | None, str, str, dict[str, str]]]:
    grown = 500.0 * second + 40 * (second % 7)
    host: list[tuple[str, str, dict[str, str]]] = [
        ("cpu.user", "ms", {}),
        ("cpu.idle", "ms", {}),
        ("cpu.system", "ms", {}),
    ]
    host += [(f"process.{kind}", "ms", {"process": NODE}) for kind in ("user", "system")]
    host += [(f"disk.{kind}_bytes", "B", {"device": "vda"}) for kind in ("read", "write")]
    host += [(f"other_{number}", "", {"cpu": "0"}) for number in range(_SERIES - len(host))]
    node: dict[str, str] = {"node": NODE}
    gauges = [("jvm.mem.heap_used", "B"), ("indices.merges.current", "")]
    return [
        *(("host", name, grown, unit, "counter", labels) for name, unit, labels in host),
        *(("node-gauges", name, float(second % 60), unit, "gauge", node) for name, unit in gauges),
    ]
