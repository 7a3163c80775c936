"""Measures `pacenote compare` of forty races with more than sixty metrics: the screen, and the JSON with the
merged percentiles of their series. Half of the facts of their snapshots differ between the sides.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from machine import PACENOTE, run, temporary_folder
from msgspec.structs import replace
from outcome import Figure, Options, Outcome, Target
from recorded_series import write_series

from pacenote.model.race_record import RaceRecord, RecordedTrack, Verdict
from pacenote.model.result import (
    DurationSummary,
    OperationTotals,
    Percentile,
    TaskResult,
    Throughput,
    WorkTotals,
)
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.store.race_store import RaceStore

_LIMIT_MS = 2_000.0
_BLOCKS, _SEARCHES, _FACTS = 20, 4, 1_500
_COUNT = 50_000
_SECONDS, _RATE = 60, 800


def measure(options: Options) -> Outcome:
    """Measures the wall time of the whole command, after one run that is not counted."""
    outputs = {"40 races": "--report=short", "40 races, merged percentiles": "--report-format=json"}
    times: dict[str, list[float]] = {name: [] for name in outputs}
    with temporary_folder() as home:
        _store_races(home)
        command = [PACENOTE, "compare", "--baseline=tag:variant=a", "--contender=tag:variant=b"]
        for turn in range(1 + options.choose(10, 3)):
            for name, output in outputs.items():
                wall_ms = run([*command, output], {"PACENOTE_HOME": str(home)}).wall_s * 1e3
                if turn:
                    times[name].append(wall_ms)
    figures = tuple(Figure(f"pacenote compare, {name}", "ms", tuple(own)) for name, own in times.items())
    return Outcome(figures=figures, targets=tuple(Target(each, _LIMIT_MS, at_most=True) for each in figures))


def _store_races(home: Path) -> None:
    store, draw = RaceStore(home), random.Random(1)
    facts = {f"setting.fact_{number}": "value" for number in range(_FACTS)}
    flags = [f"node.n.jvm.argument.-D{number}" for number in range(_FACTS)]
    series = home / "series"
    series.mkdir()
    write_series(series, [f"search-{number}" for number in range(_SEARCHES)], _SECONDS, _RATE)
    for number in range(2 * _BLOCKS):
        variant = "ab"[number % 2]
        side = Snapshot(facts | dict.fromkeys(flags, variant))
        folder = store.create(example_race(number, variant, draw))
        folder.write_snapshot(RaceSnapshot(side, side))
        shutil.copy(series / "series.parquet", folder.series)


def example_race(number: int, variant: str, draw: random.Random) -> RaceRecord:
    """Returns a race of a variant, which differs from others by chance."""
    return RaceRecord(
        race_id=f"race-{number}",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
        track=RecordedTrack("http_logs"),
        challenge="append-no-conflicts",
        user_tags={"experiment": "benchmark", "block": number // 2, "variant": variant},
        tasks=tuple(_tasks(draw)),
        verdict=Verdict("valid"),
        complete=True,
    )


def _tasks(draw: random.Random) -> Iterator[TaskResult]:
    for number in range(_SEARCHES):
        yield replace(example_task(f"search-{number}", draw.gauss(10, 0.1)), index=number)


def example_task(name: str, median_ms: float = 10.0) -> TaskResult:
    """Returns the result of a search with a target rate."""
    times = _times(median_ms)
    return TaskResult(
        task=name,
        operation="search",
        operation_type="search",
        index=0,
        unit="ops",
        clients=1,
        started_s=0.0,
        duration_s=60.0,
        window_s=50.0,
        paced=True,
        throughput=Throughput(90.0, 100.0, 100.0, 110.0),
        service_time=times,
        latency=replace(times, mean_ms=11.0),
        processing_time=times,
        lateness=None,
        failed_service_time=None,
        accounting=OperationTotals(_COUNT, _COUNT, 0, 0, 0, 0, _COUNT, _COUNT),
        work=WorkTotals(_COUNT, 0),
        bytes_out=0,
        bytes_in=0,
        error_rate=0.0,
        errors=(),
        ended_by="time",
    )


def _times(median: float) -> DurationSummary:
    percentiles = tuple(
        Percentile(q, median * factor, median, median * factor * 2, supported=True)
        for q, factor in ((50.0, 1.0), (90.0, 2.0), (99.0, 3.0), (99.9, 4.0), (99.99, 5.0), (100.0, 6.0))
    )
    return DurationSummary(_COUNT, median / 2, median, median * 6, percentiles)
