"""Measures `pacenote report --html` of a race of an hour: twelve tasks with a schedule, a diagnosis, a
snapshot with 4,500 facts, a GC log with two collections per second, and 300 series of telemetry.
"""

from __future__ import annotations

from diagnosing import BEGIN, HOUR_S, NODE, TASK_S, store_race
from machine import PACENOTE, run, temporary_folder
from outcome import Figure, Options, Outcome, Target
from recorded_series import write_series

from pacenote import _core
from pacenote.store.race_folder import RaceFolder

_LIMIT_MS, _LIMIT_KB = 2_000.0, 300.0
_RATE = 400
_SERIES = 300
_NS = 10**9


def measure(options: Options) -> Outcome:
    """Measures the wall time of the command, after one run that is not counted, and the size of the page."""
    times, sizes = [], []
    with temporary_folder() as home:
        folder = store_race(home)
        write_series(folder.path, [task.task for task in folder.read().tasks], TASK_S, _RATE)
        _write_telemetry(folder)
        for turn in range(1 + options.choose(10, 3)):
            wall_ms = run([PACENOTE, "report", "race", "--html"], {"PACENOTE_HOME": str(home)}).wall_s * 1e3
            times += [wall_ms] if turn else []
            sizes += [folder.page.stat().st_size / 1e3] if turn else []
    wall = Figure("pacenote report --html, one hour", "ms", tuple(times))
    size = Figure("size of the page", "kB", tuple(sizes))
    targets = (Target(wall, _LIMIT_MS, at_most=True), Target(size, _LIMIT_KB, at_most=True))
    return Outcome(figures=(wall, size), targets=targets)


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
