"""`pacenote compare`: the percentiles of all operations of each side, from recorded series."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pytest
from msgspec.structs import replace

from compare.races import blocks
from pacenote.evidence.driver_files import merged_series
from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from pacenote.model.result import DurationSummary, TaskResult
from pacenote.model.work import CallSequence, Request
from pacenote.plan.document import (
    ClientAllocation,
    DriverSettings,
    Iterations,
    OnError,
    Plan,
    PlannedTask,
    Step,
    Target,
    TargetHost,
    TaskAllocation,
    Unpaced,
)
from pacenote.race.drive import drive
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.http_server import HttpResponse, http_server

WARMUP, COUNT = 10, 50


class Listener:
    """Ignores what the driver reports."""

    def progress(self, progress: object) -> None:
        """Ignored."""

    def task_finished(self, result: object) -> None:
        """Ignored."""

    def info(self, text: str) -> None:
        """Ignored."""

    def warning(self, text: str) -> None:
        """Ignored."""


def plan(port):
    """Two tasks of one client, with a warm-up."""
    tasks = tuple(
        PlannedTask(
            name=name,
            operation="op",
            operation_type="raw-request",
            clients=1,
            pacing=Unpaced(),
            bound=Iterations(WARMUP, COUNT),
            ramp_up_s=0.0,
            unit="ops",
            tolerates_errors=False,
            work=CallSequence((Request("GET", "/"),)),
        )
        for name in ("term", "phrase")
    )
    steps = tuple(
        Step(task.name, (ClientAllocation(0, (TaskAllocation(number, 0),)),), None)
        for number, task in enumerate(tasks)
    )
    target = Target((TargetHost("http", "127.0.0.1", port),), (), 5_000)
    return Plan("r", 1, target, DriverSettings(1, OnError.CONTINUE), tasks, steps).to_json()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of a recorded race, and the results of its tasks."""
    folder = RaceFolder(tmp_path_factory.mktemp("race"))
    with http_server(lambda _: HttpResponse(body=b"{}")) as server:
        return folder, drive(plan(server.port), folder, None, Listener()).tasks


@pytest.fixture
def races(recorded):
    """Three blocks of races that have these results and this series."""
    folder, tasks = recorded
    store = RaceStore()
    for side in blocks(3):
        for race in side:
            own = store.create(replace(race, tasks=tasks))
            shutil.copy(folder.series, own.series)
    return store


def supported(times: DurationSummary) -> list[tuple[float, float]]:
    return [(each.q, each.ms) for each in times.percentiles if each.supported and each.q < 100]


def test_the_percentiles_of_one_race_are_its_own(recorded):
    folder, tasks = recorded
    merged = merged_series([folder.series])
    assert (merged.unread, set(merged.tasks)) == ((), {"term", "phrase"})
    for task in tasks:
        own, pooled = task.service_time, merged.tasks[task.task]
        assert pooled.service_time.count == own.count == COUNT
        limited = [(each.q, min(each.ms, own.max_ms)) for each in pooled.service_time.percentiles]
        assert [q for q, _ in limited] == [50.0, 90.0]
        assert limited == supported(own)
        assert pooled.latency.count == 0


SIDES = ("--baseline=tag:variant=a", "--contender=tag:variant=b")


def percentile(tasks: tuple[TaskResult, ...], name: str, q: float) -> float:
    return next(each for each in tasks if each.task == name).service_time.at(q).ms


def test_json_and_markdown_have_the_percentiles_of_all_operations(run, races, recorded):
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    percentiles = {each["metric"]["label"]: each for each in document["merged_percentiles"]}
    assert list(percentiles) == [
        *("p50-service-time:term", "p90-service-time:term"),
        *("p50-service-time:phrase", "p90-service-time:phrase"),
    ]
    p90 = percentiles["p90-service-time:term"]
    # Each race has the same operations, so that all of them have the same percentiles.
    assert p90["baseline"] == p90["contender"] == percentile(recorded[1], "term", 90.0)
    assert (p90["baseline_count"], p90["contender_count"]) == (3 * COUNT, 3 * COUNT)
    assert p90["relative_change"] == 0
    assert not any("merged" in note for note in document["notes"])
    section = run("compare", *SIDES)[1].partition("## Merged percentiles")[2]
    lines = [line.strip("|") for line in section.splitlines() if "|" in line]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert rows[0] == ["Percentile", "Task", "Baseline", "Contender", "Unit", "Change"]
    assert [row[:2] for row in rows[2:]] == [
        [f"{q}th percentile service time", task] for task in ("term", "phrase") for q in (50, 90)
    ]
    assert "do not decide" in section


def test_what_does_not_show_them_does_not_read_them(run, races, monkeypatch):
    def unexpected(files):
        raise AssertionError(files)

    monkeypatch.setattr("pacenote.evidence.driver_files.merged_series", unexpected)
    for option in ("--report=short", "--report-format=csv", "--report-format=junit"):
        assert run("compare", *SIDES, option)[0] == 0


def test_races_of_two_machines_with_the_same_ids_are_merged_once_each(run, races, recorded, tmp_path):
    other = RaceStore(tmp_path / "other")
    for race in blocks(3)[0]:
        other.create(replace(race, tasks=recorded[1], timestamp=race.timestamp + timedelta(days=1)))
    sides = (f"{SIDES[0]},{other.races}", SIDES[1], "--report-format=json")
    document = json.loads(run("compare", *sides)[1])
    assert {each["baseline_count"] for each in document["merged_percentiles"]} == {3 * COUNT}
    assert "not in the merged percentiles: races a0, a1 and a2" in " ".join(document["notes"])


def test_series_that_are_missing_damaged_or_incomplete_are_named(run, races, recorded):
    RaceFolder(races.races / "a0").series.unlink()
    RaceFolder(races.races / "b1").series.write_bytes(b"PAR1")
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    assert {each["baseline_count"] for each in document["merged_percentiles"]} == {2 * COUNT}
    assert {each["contender_count"] for each in document["merged_percentiles"]} == {2 * COUNT}
    notes = [note for note in document["notes"] if "merged" in note]
    assert notes[0] == "not in the merged percentiles: race a0, whose series.parquet does not exist"
    assert notes[1].startswith("not in the merged percentiles: race b1, whose series.parquet is damaged: ")
    for race_id in ("a1", "a2"):
        RaceFolder(races.races / race_id).series.unlink()
    code, out, err = run("compare", *SIDES)
    assert (code, err) == (0, "")
    assert "## Merged percentiles" not in out
    assert "races a0, a1 and a2, whose series.parquet does not exist" in out.partition("## Notes")[2]


def change(store: RaceStore, recorded, changes: dict[str, object], **of_race: object) -> None:
    """Stores the last race of the contender with other fields of its first task, and of the race."""
    folder, (first, *others) = recorded
    path = store.races / "b2"
    record = RaceFolder(path).read()
    shutil.rmtree(path)
    own = store.create(replace(record, tasks=(replace(first, **changes), *others), **of_race))
    shutil.copy(folder.series, own.series)


def test_operations_that_a_series_lacks_are_counted(run, races, recorded):
    times = recorded[1][0].service_time
    change(races, recorded, {"service_time": replace(times, count=COUNT + 7)})
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    assert [note for note in document["notes"] if "merged" in note] == [
        "the series of the contender lack 7 operations of term, which its merged percentiles of service time "
        "do not contain"
    ]


@pytest.mark.parametrize("changes", [{"error_rate": 0.5}, {"unit": "pages"}])
def test_percentiles_of_a_task_that_must_not_be_compared_are_left_out(run, races, recorded, changes):
    change(races, recorded, changes)
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    assert {each["metric"]["task"] for each in document["merged_percentiles"]} == {"phrase"}


def test_percentiles_that_are_doubtful_are_left_out(run, races, recorded):
    late = Finding("replies were read late", "driver", "lower the rate", ("term",), doubtful_from=90.0)
    change(races, recorded, {}, verdict=Verdict("suspect", (late,)))
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    assert [each["metric"]["label"] for each in document["merged_percentiles"]] == [
        *("p50-service-time:term", "p50-service-time:phrase", "p90-service-time:phrase"),
    ]
