"""Measures the driver's lateness at a thousand scheduled requests per second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import null_server
import peers
from machine import cores, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target, percentile
from recorded_race import record_race

_RATE = 1000
_DEFAULT_US = 20
_SPIN_US = 100
_P50_US = 50.0
_P99_US = 250.0


@dataclass(frozen=True, slots=True)
class _Configuration:
    """A configuration with which several races are run."""

    clients: int
    """Number of clients."""

    spin_us: int
    """Microseconds to spin before an operation is due."""

    @property
    def name(self) -> str:
        """The configuration as shown in tables."""
        clients = "1 client" if self.clients == 1 else f"{self.clients} clients"
        if self.spin_us == _DEFAULT_US:
            return clients
        return f"{clients}, spinning {self.spin_us} µs" if self.spin_us else f"{clients}, never spinning"


@dataclass(frozen=True, slots=True)
class _Lateness:
    """The lateness in one race, and the load of the driver's threads."""

    p50_us: float
    """Median in microseconds."""

    p99_us: float
    """99th percentile in microseconds."""

    busy_percent: float
    """CPU time of the driver's threads in percent of their wall time."""


_CONFIGURATIONS = tuple(
    _Configuration(clients, spin_us) for spin_us in (_DEFAULT_US, 0, _SPIN_US) for clients in (1, 16)
)


def measure(options: Options) -> Outcome:
    """Races with all configurations in turn; the server runs on one core, and Pacenote on another."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    seconds = options.choose(4, 2)
    measurements: dict[_Configuration, list[_Lateness]] = {each: [] for each in _CONFIGURATIONS}
    serving, measured = cores()
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        tracks = {clients: _track(folder, clients, seconds) for clients in (1, 16)}
        for turn in range(options.choose(6, 1)):
            for configuration in _CONFIGURATIONS if turn % 2 == 0 else reversed(_CONFIGURATIONS):
                settings = ["--driver-threads=1", f"--spin={configuration.spin_us}"]
                race = peers.pacenote(
                    tracks[configuration.clients], server.port, folder / "home", measured, settings
                )
                measurements[configuration].append(_lateness(race))
        recorded = _recorded_track(folder, seconds)
        races = range(options.choose(6, 1))
        at_server = [_lateness_at_server(recorded, folder / "home", seconds) for _ in races]
    figures = [figure for each, values in measurements.items() for figure in _figures(each, values)]
    return Outcome(
        figures=(*figures, *_figures_at_server(at_server)),
        targets=tuple(_targets(measurements)),
        notes=(
            f"{_RATE:,} searches/s for {seconds} s after 1 s of warm-up, as recorded by the race",
            f"nginx {null_server.version()} on one core, pacenote with all its threads on the other",
            "lateness at the server: arrival minus schedule; the request with the least delay counts as on"
            " time; includes the server's own delay",
        ),
    )


def _track(folder: Path, clients: int, seconds: int) -> Path:
    parameters = {
        "clients": clients,
        "target-throughput": _RATE,
        "warmup-time-period": 1,
        "time-period": seconds,
    }
    return peers.write_track(folder, f"paced-{clients}", *peers.search(**parameters))


def _lateness(race: peers.PacenoteRun) -> _Lateness:
    lateness = race.task["lateness"]
    micros = {percentile["q"]: percentile["ms"] * 1000 for percentile in lateness["percentiles"]}
    threads = race.record["driver"]["threads"]
    busy = sum(thread["cpu_s"] for thread in threads) / sum(thread["wall_s"] for thread in threads)
    return _Lateness(micros[50], micros[99], 100 * busy)


def _figures(configuration: _Configuration, races: Sequence[_Lateness]) -> tuple[Figure, Figure, Figure]:
    return (
        Figure(f"lateness p50, {configuration.name}", "µs", tuple(race.p50_us for race in races)),
        Figure(f"lateness p99, {configuration.name}", "µs", tuple(race.p99_us for race in races)),
        Figure(
            f"driver's threads busy, {configuration.name}", "%", tuple(race.busy_percent for race in races)
        ),
    )


def _targets(measurements: dict[_Configuration, list[_Lateness]]) -> Iterator[Target]:
    for configuration in (each for each in measurements if each.spin_us == _DEFAULT_US):
        p50, p99, _ = _figures(configuration, measurements[configuration])
        yield Target(p50, _P50_US, at_most=True)
        yield Target(p99, _P99_US, at_most=True)


def _figures_at_server(races: Sequence[tuple[float, ...]]) -> Iterator[Figure]:
    """Yields percentiles of each race, whose requests are not independent."""
    for q in (50, 99):
        values = tuple(percentile(lateness, q) for lateness in races)
        yield Figure(f"lateness p{q} at the server", "µs", values)


def _recorded_track(folder: Path, seconds: int) -> Path:
    parameters = {"clients": 1, "target-throughput": _RATE, "warmup-time-period": 0, "time-period": seconds}
    return peers.write_track(folder, "recorded", {"operation-type": "raw-request", "path": "/"}, parameters)


def _lateness_at_server(track: Path, home: Path, seconds: int) -> tuple[float, ...]:
    """Returns the lateness of each request of a race in microseconds, from the arrival times that a server
    records, independently of the driver's clock.

    The server does not know when the schedule started, so the request with the least delay counts as on time.
    """
    race = record_race(track, home)
    arrivals = [exchange.arrived_ns for exchange in race.planned]
    if len(arrivals) != _RATE * seconds:
        raise BenchmarkError(f"the server received {len(arrivals):,} of {_RATE * seconds:,} requests")
    offsets = [arrival - number * 1_000_000_000 // _RATE for number, arrival in enumerate(arrivals)]
    start = min(offsets)
    return tuple((offset - start) / 1000 for offset in offsets)
