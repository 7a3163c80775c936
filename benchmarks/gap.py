"""Measures the time between two tasks during which no request is sent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from machine import temporary_folder
from outcome import ENOUGH_FOR_P99, BenchmarkError, Figure, Options, Outcome, Target, percentile
from recorded_race import Exchange, RecordedRace, record_race, write_track

_LIMIT_MS = 20.0
_TASKS = 20
_CLIENTS = (1, 8)


def measure(options: Options) -> Outcome:
    """Races twenty tasks with one request per client, first with one client and then with several."""
    figures: list[Figure] = []
    targets: list[Target] = []
    notes = ["the server runs on one core, pacenote with all its threads on the other"]
    for clients in _CLIENTS:
        races = _gaps(options.choose(20, 2), clients)
        gaps = tuple(gap for race in races for gap in race)
        label = "1 client" if clients == 1 else f"{clients} clients"
        longest = Figure(f"longest of {_TASKS - 1} gaps of a race, {label}", "ms", tuple(map(max, races)))
        figures += [Figure(f"gap, {label}", "ms", gaps), longest]
        p99 = percentile(gaps, 99)
        targets.append(Target(longest, _LIMIT_MS, at_most=True))
        mark = "" if len(gaps) >= ENOUGH_FOR_P99 else f" (too few for a p99: {ENOUGH_FOR_P99} are needed)"
        notes.append(f"p99 of {len(gaps)} gaps, {label}: {p99:.3g} ms{mark}")
    return Outcome(figures=tuple(figures), targets=tuple(targets), notes=tuple(notes))


def _gaps(races: int, clients: int) -> list[tuple[float, ...]]:
    """Returns the gaps of each race in milliseconds."""
    with temporary_folder() as folder:
        track = write_track(folder / "track", _TASKS, clients)
        recorded = (record_race(track, folder / "home") for _ in range(races))
        return [tuple(_gaps_of(race, clients)) for race in recorded]


def _gaps_of(race: RecordedRace, clients: int) -> Iterator[float]:
    """Yields the milliseconds from the last reply of each task to the first request of the next."""
    grouped: dict[int, list[Exchange]] = {}
    for exchange in race.planned:
        grouped.setdefault(exchange.task, []).append(exchange)
    if [len(grouped.get(task, ())) for task in range(_TASKS)] != [clients] * _TASKS:
        raise BenchmarkError(f"the server did not receive {clients} requests from each of {_TASKS} tasks")
    for task, following in itertools.pairwise(range(_TASKS)):
        ended = max(exchange.replied_ns for exchange in grouped[task])
        yield (min(exchange.arrived_ns for exchange in grouped[following]) - ended) / 1e6
