"""Races for comparisons: two variants in blocks, with known changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache

from msgspec.structs import replace

from pacenote.model.comparison import ComparedRace
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import OperationTotals, TaskResult, Throughput, WorkTotals
from support.records import BEGAN, bulk, paced, record, times, with_failures

Change = Callable[[RaceRecord], RaceRecord]


def index(rate: float = 10_000.0, **changes: object) -> TaskResult:
    """A task that indexes without errors at this rate."""
    own = {
        "throughput": Throughput(rate * 0.8, rate, rate, rate * 1.2),
        "error_rate": 0.0,
        "errors": (),
        "accounting": OperationTotals(500, 500, 0, 0, 0, 0, 500, 500),
        "work": WorkTotals(740_000, 0),
        "service_time": times(500, 40.0, 90.0),
    }
    return bulk(**own | changes)


def search(p50: float = 2.0, **changes: object) -> TaskResult:
    """A search with a target rate, without errors."""
    own = {"latency": times(p50=p50 + 0.5), "service_time": times(p50=p50)}
    return paced(**own | changes)


def unserved(share: float, **changes: object) -> TaskResult:
    """A search of which this share was not sent, because its engine hung; all others were fast."""
    successes = times(9_000, p50=2.5)
    count = round(9_000 * share / (1 - share))
    own = {
        "latency": successes,
        "accounting": OperationTotals(9_000, 9_000, 0, 0, 0, 0, 9_000, 9_000, unsent=count),
        "latency_with_failures": with_failures(successes, count),
    }
    return search(**own | changes)


def race(name: str, order: int = 0, **changes: object) -> RaceRecord:
    """A race that began `order` × 10 minutes after the first one."""
    began = BEGAN + timedelta(minutes=10 * order)
    own = {"timestamp": began, "tasks": _tasks(), "user_tags": {}, "telemetry_errors": ()}
    return record(name, **own | changes)


def many_bulks(rate: float) -> TaskResult:
    """A task that indexes with so many operations that few races show that hardly any fails."""
    return index(rate, accounting=OperationTotals(5_000, 5_000, 0, 0, 0, 0, 5_000, 5_000))


@cache
def _tasks() -> tuple[TaskResult, ...]:
    return index(), search()


def compared(*records: RaceRecord) -> list[ComparedRace]:
    """Returns complete races without snapshots."""
    return [ComparedRace(each) for each in records]


def blocks(count: int, factor: float = 1.0, noise: float = 0.01) -> tuple[list[RaceRecord], list[RaceRecord]]:
    """Returns races in ABBA order; the contender indexes `factor` times as fast, with this relative noise."""
    draw = random.Random(7)
    sides: tuple[list[RaceRecord], list[RaceRecord]] = ([], [])
    for block in range(count):
        shared = draw.gauss(1, noise)
        for side, own in enumerate((1.0, factor)):
            order = 2 * block + (side != block % 2)
            rate = 10_000 * own * shared * draw.gauss(1, noise)
            tags = {"experiment": "heap", "block": block, "variant": "ab"[side]}
            sides[side].append(
                race(
                    f"{'ab'[side]}{block}",
                    order,
                    tasks=(index(rate), search(2.0 * draw.gauss(1, noise))),
                    user_tags=tags,
                    car_params={"heap": f"{side + 1}g"},
                )
            )
    return sides


def changed(races: Sequence[RaceRecord], **changes: object) -> list[RaceRecord]:
    """Returns races with other fields."""
    return [replace(each, **changes) for each in races]  # type: ignore[arg-type]
