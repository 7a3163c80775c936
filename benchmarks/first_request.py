"""How long it takes from the command to the first request of the plan, on a cluster that runs already."""

from __future__ import annotations

from pathlib import Path

from machine import cores, staying_on, temporary_folder
from outcome import Figure, Options, Outcome, Target
from watched import Watched, watch, write_track

from pacenote.cluster.cluster import start_cluster
from pacenote.provision.engine import EngineRequest

_LIMIT_MS = 1000.0
_TASKS = 3


def measure(options: Options) -> Outcome:
    """Races of a tiny track: against canned replies, and against a real engine behind the same server."""
    races = range(_races(options))
    with temporary_folder() as folder:
        track = write_track(folder / "track", _TASKS, clients=1)
        watch(track, folder / "home")  # Not counted: Python may have to compile first.
        canned = _figures("canned replies", [watch(track, folder / "home") for _ in races])
        real = _figures("real engine", _against_engine(options, track, folder))
    return Outcome(
        figures=(*canned, *real),
        targets=(
            Target("first request, canned replies", canned[1].median, _LIMIT_MS, "ms", at_most=True),
            Target("first request, real engine", real[1].median, _LIMIT_MS, "ms", at_most=True),
        ),
        notes=("the server and the engine run on one core, pacenote on the other",),
    )


def _races(options: Options) -> int:
    return options.choose(5, 3)


def _against_engine(options: Options, track: Path, folder: Path) -> list[Watched]:
    """The same races; the server hands every request on to an engine on its own core."""
    with staying_on(cores()[0]):
        request = EngineRequest(home=options.engines, artifacts=folder)
        with start_cluster(request) as cluster:
            port = cluster.hosts[0].port
            return [watch(track, folder / "home", port) for _ in range(_races(options))]


def _figures(against: str, watched: list[Watched]) -> tuple[Figure, Figure, Figure]:
    """Milliseconds from the start of the command: to its first word, to the plan's first, to its exit."""

    def since_start(moments: list[int]) -> tuple[float, ...]:
        pairs = zip(moments, watched, strict=True)
        return tuple((moment - each.race.begun_ns) / 1e6 for moment, each in pairs)

    first_word = since_start([each.exchanges[0].arrived_ns for each in watched])
    first_planned = since_start([each.planned[0].arrived_ns for each in watched])
    ended = since_start([each.race.ended_ns for each in watched])
    return (
        Figure(f"command to first control request, {against}", "ms", first_word),
        Figure(f"command to first request of the plan, {against}", "ms", first_planned),
        Figure(f"command to exit, {_TASKS} tasks of one request, {against}", "ms", ended),
    )
