"""Measures the time from the start of the command to the plan's first request to an existing cluster."""

from __future__ import annotations

from pathlib import Path

from machine import cores, pinned_to, temporary_folder
from outcome import Figure, Options, Outcome, Target
from recorded_race import RecordedRace, record_race, write_track

from pacenote.cluster.cluster import start_cluster
from pacenote.provision.engine_request import EngineRequest

_LIMIT_MS = 1000.0
_TASKS = 3


def measure(options: Options) -> Outcome:
    """Races a tiny track against canned replies, then against a real engine behind the same server."""
    races = range(_races(options))
    with temporary_folder() as folder:
        track = write_track(folder / "track", _TASKS, clients=1)
        record_race(track, folder / "home")  # Not counted: Python may have to compile modules.
        canned = _figures("canned replies", [record_race(track, folder / "home") for _ in races])
        real = _figures("real engine", _against_engine(options, track, folder))
    return Outcome(
        figures=(*canned, *real),
        targets=(
            Target(canned[1], _LIMIT_MS, at_most=True),
            Target(real[1], _LIMIT_MS, at_most=True),
        ),
        notes=("the server and the engine run on one core, pacenote on the other",),
    )


def _races(options: Options) -> int:
    return options.choose(8, 3)


def _against_engine(options: Options, track: Path, folder: Path) -> list[RecordedRace]:
    """Runs races in which the server forwards every request to an engine on the same core."""
    with pinned_to(cores()[0]):
        request = EngineRequest(home=options.engines, artifacts=folder)
        with start_cluster(request) as cluster:
            port = cluster.hosts[0].port
            return [record_race(track, folder / "home", port) for _ in range(_races(options))]


def _figures(against: str, races: list[RecordedRace]) -> tuple[Figure, Figure, Figure]:
    """Returns times since the start of the command: first request, first planned request, and exit."""

    def since_start(times_ns: list[int]) -> tuple[float, ...]:
        pairs = zip(times_ns, races, strict=True)
        return tuple((time_ns - race.command.started_ns) / 1e6 for time_ns, race in pairs)

    first_request = since_start([race.exchanges[0].arrived_ns for race in races])
    first_planned = since_start([race.planned[0].arrived_ns for race in races])
    ended = since_start([race.command.ended_ns for race in races])
    return (
        Figure(f"command to first control request, {against}", "ms", first_request),
        Figure(f"command to first request of the plan, {against}", "ms", first_planned),
        Figure(f"command to exit, {_TASKS} tasks of one request, {against}", "ms", ended),
    )
