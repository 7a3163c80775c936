"""How late the driver sends what a schedule says, at a thousand requests per second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import null_server
import peers
from machine import cores, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target, percentile
from watched import watch

_RATE = 1000
_DEFAULT_US = 20
_SPIN_US = 100
_P50_US = 50.0
_P99_US = 250.0


@dataclass(frozen=True, slots=True)
class _Arm:
    """Races of so many clients, which watch the clock so long before an operation is due."""

    clients: int
    spin_us: int

    @property
    def name(self) -> str:
        clients = "1 client" if self.clients == 1 else f"{self.clients} clients"
        if self.spin_us == _DEFAULT_US:
            return clients
        return f"{clients}, spinning {self.spin_us} µs" if self.spin_us else f"{clients}, never spinning"


@dataclass(frozen=True, slots=True)
class _Late:
    """What a race says of its lateness, and how busy it kept the driver's threads."""

    p50_us: float
    p99_us: float
    busy_percent: float


_ARMS = tuple(_Arm(clients, spin_us) for spin_us in (_DEFAULT_US, 0, _SPIN_US) for clients in (1, 16))


def measure(options: Options) -> Outcome:
    """Races of every kind in turns; the server on one core, Pacenote on the other."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    seconds = options.choose(4, 2)
    late: dict[_Arm, list[_Late]] = {arm: [] for arm in _ARMS}
    serving, measured = cores()
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        tracks = {clients: _track(folder, clients, seconds) for clients in (1, 16)}
        for turn in range(options.choose(2, 1)):
            for arm in _ARMS if turn % 2 == 0 else reversed(_ARMS):
                settings = ["--driver-threads=1", f"--spin={arm.spin_us}"]
                raced = peers.pacenote(tracks[arm.clients], server.port, folder / "home", measured, settings)
                late[arm].append(_lateness(raced))
        seen = _seen_by_a_server(folder, seconds)
    ours = [figure for arm, values in late.items() for figure in _figures(arm, values)]
    return Outcome(
        figures=(*ours, seen),
        targets=tuple(_targets(late)),
        notes=(
            f"{_RATE:,} searches/s for {seconds} s after 1 s of warm-up, as the race records them",
            f"nginx {null_server.version()} on one core, pacenote with all its threads on the other",
            "seen by a server in Python: arrival less schedule, the earliest as on time; its waking is in it",
            f"the same, p99: {percentile(seen.values, 99):.3g} µs",
        ),
    )


def _track(folder: Path, clients: int, seconds: int) -> Path:
    how = {"clients": clients, "target-throughput": _RATE, "warmup-time-period": 1, "time-period": seconds}
    return peers.write_track(folder, f"paced-{clients}", *peers.search(**how))


def _lateness(raced: peers.Raced) -> _Late:
    lateness = raced.task["lateness"]
    at = {each["q"]: each["ms"] * 1000 for each in lateness["percentiles"]}
    threads = raced.record["driver"]["threads"]
    busy = sum(thread["cpu_s"] for thread in threads) / sum(thread["wall_s"] for thread in threads)
    return _Late(at[50], at[99], 100 * busy)


def _figures(arm: _Arm, late: Sequence[_Late]) -> tuple[Figure, Figure, Figure]:
    return (
        Figure(f"lateness p50, {arm.name}", "µs", tuple(each.p50_us for each in late)),
        Figure(f"lateness p99, {arm.name}", "µs", tuple(each.p99_us for each in late)),
        Figure(f"driver's threads busy, {arm.name}", "%", tuple(each.busy_percent for each in late)),
    )


def _targets(late: dict[_Arm, list[_Late]]) -> Iterator[Target]:
    for arm in (arm for arm in late if arm.spin_us == _DEFAULT_US):
        p50, p99, _ = _figures(arm, late[arm])
        yield Target(p50.name, p50.median, _P50_US, "µs", at_most=True)
        yield Target(p99.name, p99.median, _P99_US, "µs", at_most=True)


def _seen_by_a_server(folder: Path, seconds: int) -> Figure:
    """Lateness as a server saw it that writes down when requests arrive. It does not know when the schedule
    began: the request that was the least late gives it.
    """
    how = {"clients": 1, "target-throughput": _RATE, "warmup-time-period": 0, "time-period": seconds}
    operation = {"operation-type": "raw-request", "path": "/"}
    watched = watch(peers.write_track(folder, "watched", operation, how), folder / "home")
    arrivals = [exchange.arrived_ns for exchange in watched.planned]
    if len(arrivals) != _RATE * seconds:
        raise BenchmarkError(f"the server has seen {len(arrivals):,} requests of {_RATE * seconds:,}")
    offsets = [arrival - number * 1_000_000_000 // _RATE for number, arrival in enumerate(arrivals)]
    return Figure("lateness, seen by a server", "µs", tuple((each - min(offsets)) / 1000 for each in offsets))
