"""What a search does before its first probe: it says how long it takes, and runs the tasks that it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.test_saturate import Listener
from pacenote.errors import UsageError
from pacenote.lab.rate_search import RateRange
from pacenote.lab.saturate import Saturation, saturate
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.model.race_request import RaceRequest
from pacenote.model.saturation import Objective
from pacenote.model.saturation_answer import answer
from support.http_server import HttpServer
from support.secure import engine

pytestmark = pytest.mark.process

SCHEDULE = [
    {"name": "create", "operation": {"operation-type": "create-index", "index": "a", "body": {}}},
    {"name": "warm", "operation": {"operation-type": "search", "index": "a", "body": {}}},
    {"name": "nap", "operation": {"operation-type": "sleep", "duration": 0.01}},
    {"name": "target", "operation": {"operation-type": "search", "index": "a", "body": {}}},
]


class Started(Exception):
    """Ends a search when its preparation begins."""


class StartListener(Listener):
    """Keeps what it is told until the preparation begins."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def info(self, text: str) -> None:
        self.told.append(text)

    def started(self, record: Any) -> None:
        raise Started


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with engine(None) as running:
        yield running


@pytest.fixture
def request_(tmp_path: Path, server: HttpServer) -> SaturationRequest:
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": SCHEDULE}))
    race = RaceRequest(
        race_id="r",
        home=tmp_path / "home",
        track_path=tmp_path,
        pipeline="benchmark-only",
        target_hosts=(server.address,),
    )
    return SaturationRequest(
        race=race,
        task="target",
        objective=Objective((), 1.0),
        within=RateRange(1000.0, 1000.0, 1000.0, repeats=0),
        connections=4,
        window_s=0.05,
        warmup_s=0.01,
        clients=0,
        level_s=0.1,
    )


def prepared(saturation: Saturation) -> list[str]:
    return [task.task for task in saturation.record.tasks]


def test_tasks_that_only_read_are_left_out_of_the_preparation(request_: SaturationRequest) -> None:
    saturation = saturate(request_, Listener())
    assert prepared(saturation) == ["create", "nap"]
    note = 'tasks that only read were not run before the search (--prepare=needed): "warm"'
    assert note in saturation.result.notes


def test_all_tasks_before_the_task_run_on_request(request_: SaturationRequest) -> None:
    saturation = saturate(replace(request_, prepare="all"), Listener())
    assert prepared(saturation) == ["create", "warm", "nap"]
    assert not any("--prepare" in note for note in saturation.result.notes)


def test_the_expected_duration_is_stated_before_anything_starts(request_: SaturationRequest) -> None:
    listener = StartListener()
    long = replace(request_, window_s=20.0, warmup_s=5.0, clients=8, level_s=5.0, repeats=1)
    with pytest.raises(Started):
        saturate(long, listener)
    assert listener.told == [
        "expected duration: 4 min 10 s to 12 min 30 s for 10 to 30 probes of 25 s each, then 1 min for the "
        "closed loop; if slow operations come in bursts or replies are late, up to 11 min 5 s for each "
        "probe, and 332 min 30 s for 30; before them, the preparation: as long as the engine needs for 1 task"
    ]


@pytest.fixture
def merging(request_: SaturationRequest) -> SaturationRequest:
    """A search in a challenge whose last task is administrative."""
    assert request_.race.track_path is not None
    schedule = [*SCHEDULE, {"operation": {"name": "merge", "operation-type": "force-merge"}}]
    (request_.race.track_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    return request_


def test_an_administrative_task_is_rejected(merging: SaturationRequest) -> None:
    with pytest.raises(UsageError, match='task "merge" is administrative') as caught:
        saturate(replace(merging, task="merge"), Listener())
    assert caught.value.hint == "other tasks: warm, target"


def test_the_default_is_the_last_task_that_is_not_administrative(merging: SaturationRequest) -> None:
    assert saturate(replace(merging, task=None), Listener()).result.task == "target"


def test_the_answer_is_part_of_the_record(request_: SaturationRequest) -> None:
    saturation = saturate(request_, Listener())
    stored = json.loads((request_.race.home / "races" / "r" / "race.json").read_text())["saturation"]
    assert stored["answer"] == answer(saturation.result)
    assert (stored["task"], stored["stable"]) == ("target", saturation.result.stable)
    assert saturation.record.saturation is not None
