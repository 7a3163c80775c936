"""Samples of devices and of the host are written, cut to the tasks and read back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet
import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote import _core
from pacenote.errors import StoreError
from pacenote.evidence.telemetry_values import (
    device_readings,
    host_figures_by_task,
    host_history,
    observe_tasks,
    telemetry_cuts,
)
from pacenote.model.race_progress import RaceProgress
from pacenote.model.result import TaskResult
from pacenote.model.telemetry_cuts import CounterCut, GaugeCut
from pacenote.model.telemetry_sample import TelemetrySample, TelemetrySink
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import ObservedHost, observed_host
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from support.records import record, task

SECOND_NS = 10**9
START_NS = 1_700_000_000 * SECOND_NS
SOURCE = "node-counters"


class Listener:
    """Keeps the names of tasks that have ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def progress(self, progress: RaceProgress) -> None: ...

    def task_finished(self, result: TaskResult) -> None:
        self.ended.append(result.task)

    def warning(self, text: str) -> None: ...


def telemetry(folder: Path) -> RaceTelemetry:
    return RaceTelemetry(RaceFolder(folder), ObservedHost((("driver", os.getpid()),), (), (), {}))


def samples(seconds: Sequence[int]) -> list[TelemetrySample]:
    """Returns a counter that grows by 10 per second, and a gauge that cannot be read in second 3."""
    readings = []
    for second in seconds:
        time_ns, heap = START_NS + second * SECOND_NS, None if second == 3 else 7.0
        labels = {"node": "n"}
        readings.append(TelemetrySample(time_ns, SOURCE, "gc", 10.0 * second, "ms", "counter", labels))
        readings.append(TelemetrySample(time_ns, SOURCE, "heap", heap))
    return readings


def driven(*tasks: TaskResult) -> DriveResult:
    return DriveResult(tasks, {"started_unix_ns": START_NS})


def test_samples_are_cut_to_the_tasks_of_the_race(tmp_path: Path) -> None:
    race, listener = telemetry(tmp_path), Listener()
    sink: TelemetrySink = race
    sink.write(samples(range(10)))
    first = structs.replace(task("index"), started_s=1.0, duration_s=4.0)
    second = structs.replace(task("search"), started_s=5.0, duration_s=3.5)
    ends: list[str] = []
    race.listener(listener, lambda: ends.append("end")).task_finished(first)
    values, problems = race.close(driven(first, second))
    assert (values, problems, listener.ended, ends) == ({}, (), ["index"], ["end"])
    cuts = telemetry_cuts(tmp_path / "telemetry.parquet")
    assert [(each.task, each.begin_ns - START_NS, each.duration_s) for each in cuts.tasks] == [
        ("index", SECOND_NS, 4.0),
        ("search", 5 * SECOND_NS, 3.5),
    ]
    index, search = (cuts.of_source(SOURCE, name) for name in ("index", "search"))
    assert index.counter("gc", node="n") == CounterCut(40.0, 4.0, 4.0, 10.0, 5, 0, 0)
    assert index.gauge("heap") == GaugeCut(7.0, 7.0, 7.0, 7.0, 7.0, 4, 1)
    cut = search.counter("gc", node="n")
    assert cut is not None
    assert cut.per_s == pytest.approx(10.0)
    assert (search.counter("gc"), search.gauge("gc", node="n"), search.counter("none")) == (None, None, None)
    assert cuts.of_source(SOURCE, "other").cuts == {}
    assert cuts.of_source("host", "index").cuts == {}
    table = pyarrow.parquet.read_table(tmp_path / "telemetry.parquet")
    assert table.column_names == ["time", "task", "source", "name", "value", "unit", "kind", "labels"]
    rows = [row for row in table.to_pylist() if row["time"] == START_NS + 3 * SECOND_NS]
    assert {(row["name"], row["value"], row["task"]) for row in rows} == {
        ("gc", 30.0, "index"),
        ("heap", None, "index"),
    }
    assert json.loads(rows[0]["labels"]) == {"node": "n"}


def test_tasks_have_times_of_the_clock_of_samples_if_the_wall_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    race, hour_ns, wall_ns = telemetry(tmp_path), 3600 * SECOND_NS, time.time_ns
    begin_ns = race.now_ns()
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns() - hour_ns)
    race.listener(Listener(), lambda: None)
    first = structs.replace(task("index"), started_s=0.0, duration_s=4.0)
    race.close(DriveResult((first,), {"started_unix_ns": time.time_ns()}))
    [times] = telemetry_cuts(tmp_path / "telemetry.parquet").tasks
    # Without the difference of the clocks, it would have begun an hour earlier.
    assert abs(times.begin_ns - begin_ns) < hour_ns / 2


def test_readings_of_a_device_are_in_the_order_of_time(tmp_path: Path) -> None:
    race = telemetry(tmp_path)
    race.write([*samples((3, 4)), replace(samples((3,))[0], source="other")])
    race.close(None)
    readings = list(device_readings(tmp_path / "telemetry.parquet", SOURCE))
    assert [(one.time_ns - START_NS, one.name, one.value) for one in readings] == [
        *((3 * SECOND_NS, "heap", None), (3 * SECOND_NS, "gc", 30.0)),
        *((4 * SECOND_NS, "heap", 7.0), (4 * SECOND_NS, "gc", 40.0)),
    ]
    assert (readings[1].labels, readings[1].unit, readings[1].source) == ({"node": "n"}, "ms", SOURCE)
    assert list(device_readings(tmp_path / "telemetry.parquet", "none")) == []


def test_secrets_are_removed_from_names_and_labels(tmp_path: Path) -> None:
    folder = RaceFolder(tmp_path, frozenset({"hunter-22"}))
    file = RaceTelemetry(folder, ObservedHost((), (), (), {}))
    (sample, *_) = samples([1])
    file.write(
        [replace(sample, name="pool.hunter-22.queue", labels={"node": "hunter-22", "hunter-22": "a"})] * 2
    )
    file.close(None)
    rows = pyarrow.parquet.read_table(tmp_path / "telemetry.parquet").to_pylist()
    assert len(rows) == 2
    assert "pool.<hidden>.queue" in str(rows[0])
    assert "hunter-22" not in str(rows)


def test_series_whose_labels_are_equal_without_secrets_stay_different(tmp_path: Path) -> None:
    folder = RaceFolder(tmp_path, frozenset({"hunter-22", "hunter-33"}))
    file = RaceTelemetry(folder, ObservedHost((), (), (), {}))
    (sample, *_) = samples([1])
    for seconds in range(2):
        of_time = replace(sample, time_ns=START_NS + seconds * SECOND_NS)
        nodes = ("n-hunter-22", "n-hunter-33", "n-<hidden>")
        file.write([replace(of_time, labels={"node": node}) for node in nodes])
        file.write([replace(of_time, name="keys", labels={"hunter-22": "a", "hunter-33": "b"})])
    file.close(None)
    rows = pyarrow.parquet.read_table(tmp_path / "telemetry.parquet").to_pylist()
    labels = [json.loads(row["labels"]) for row in rows if row["name"] == sample.name]
    assert sorted(each["node"] for each in labels) == sorted([
        *["n-<hidden>"] * 2,
        *["n-<hidden> #2"] * 2,
        *["n-<hidden> #3"] * 2,
    ])
    keys = [json.loads(row["labels"]) for row in rows if row["name"] == "keys"]
    assert keys == [{"<hidden>": "a", "<hidden> #2": "b"}] * 2


def test_the_times_of_tasks_are_known_before_the_race_has_ended(tmp_path: Path) -> None:
    race, listener = telemetry(tmp_path), Listener()
    begin_ns = race.now_ns()
    race.listener(listener, lambda: None).task_finished(structs.replace(task("index"), duration_s=2.0))
    race.close(None)
    [times] = telemetry_cuts(tmp_path / "telemetry.parquet").tasks
    assert times.task == "index"
    assert times.duration_s == 2.0
    assert begin_ns <= times.end_ns


def test_this_host_is_sampled_and_has_figures(tmp_path: Path) -> None:
    race = RaceTelemetry(RaceFolder(tmp_path), observed_host((), ()))
    race.start_sampler()
    begin_ns = race.now_ns()
    # Stopping the sampler reads all files once more, whatever the time.
    result = structs.replace(task("index"), started_s=0.0, duration_s=3_600.0)
    values, problems = race.close(DriveResult((result,), {"started_unix_ns": begin_ns - SECOND_NS}))
    assert problems == ()
    sampler = values["host-sampler"]
    assert (sampler["sweeps"], sampler["missed"], sampler["nodes"]) == (2, 0, [])
    assert sampler["cpu_s"] > 0
    assert isinstance(sampler["not_available"], dict)
    file = tmp_path / "telemetry.parquet"
    figures = host_figures_by_task(file, telemetry_cuts(file), values)["index"]
    assert 0 < figures["memory.available_share"] < 1  # type: ignore[operator]
    assert "disk.device" not in figures
    assert all(len(history) <= 1 for history in host_history(file).devices.values())


def test_a_folder_that_cannot_be_written_does_not_end_the_race(tmp_path: Path) -> None:
    race = telemetry(tmp_path / "none")
    race.start_sampler()
    race.write(samples(range(3)))
    race.listener(Listener(), lambda: None).task_finished(task("index"))
    values, problems = race.close(driven())
    [problem] = problems
    assert values == {}
    assert problem.startswith(f"values over time are not recorded: cannot record to {tmp_path / 'none'}")
    assert race.now_ns() == 0
    for read in (telemetry_cuts, host_history):
        with pytest.raises(StoreError, match=r"telemetry\.parquet does not exist"):
            read(tmp_path / "telemetry.parquet")


def test_a_journal_that_others_remove_is_a_problem_of_the_race(tmp_path: Path) -> None:
    race = telemetry(tmp_path)
    race.start_sampler()
    (tmp_path / "telemetry.jsonl").unlink()
    values, [problem] = race.close(driven())
    assert problem.startswith("values over time are not complete: cannot record to")
    assert values["host-sampler"]["sweeps"] >= 1
    assert race.close(driven()) == ({}, (problem,))


def test_other_kinds_of_samples_are_rejected(tmp_path: Path) -> None:
    file = _core.TelemetryFile(tmp_path)
    with pytest.raises(_core.CoreError, match='no kind of samples "rate"'):
        file.write(0, [("host", "x", 1.0, "", "rate", {})])
    assert file.close() == 0


def test_a_defect_in_what_is_read_of_the_samples_does_not_make_a_race_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(file: Path, _tasks: object) -> None:
        raise IndexError(f"of {file.name}")

    measured = record(tasks=(task("term"),))
    assert observe_tasks(measured, tmp_path / "none.parquet", None) == measured
    monkeypatch.setattr("pacenote.evidence.telemetry_values.telemetry_cuts", broken)
    observed = observe_tasks(measured, tmp_path / "t.parquet", None)
    assert observed.telemetry_errors == (
        *measured.telemetry_errors,
        "state of cluster and host by task: a defect of Pacenote: IndexError: of t.parquet",
    )
    assert structs.replace(observed, telemetry_errors=measured.telemetry_errors) == measured


def test_many_names_are_looked_for_in_a_time_that_grows_with_their_number(tmp_path: Path) -> None:
    """A server may choose a hundred thousand names of values."""
    file = _core.TelemetryFile(str(tmp_path))
    file.write(START_NS, [(SOURCE, f"n{number:07}", 1.0, "", "gauge", {}) for number in range(4_000)])
    file.close()
    names = [f"n{number:07}" for number in range(3_999, 1_003_999)]
    began = time.process_time()
    points = _core.telemetry_points(str(tmp_path / "telemetry.parquet"), SOURCE, names)
    assert [name for name, *_ in points] == ["n0003999"]
    assert time.process_time() - began < 5
