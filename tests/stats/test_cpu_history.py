"""What others had counts as taken from the engine only of the seconds in which hardly any CPU was idle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs

from pacenote.evidence.telemetry_values import host_figures_by_task, node_figures_by_task, telemetry_cuts
from pacenote.model.task_observations import TaskObservation
from pacenote.model.telemetry_cuts import CounterCut, TaskTelemetry, TaskTimes
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import ObservedHost
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.stats.cpu_figures import CpuSet, cpu_figures
from pacenote.stats.cpu_history import CpuHistory
from pacenote.store.race_folder import RaceFolder
from pacenote.verdict.observation_rules import LACKED_SHARE, lacked_most, used_by_others
from support.records import task

SECOND_NS = 10**9
START_NS = 1_700_000_000 * SECOND_NS

Second = tuple[float, float, float]
"""What engine, driver and others have of two CPUs in a second, as shares; these are idle in the rest."""


def even(engine: float, driver: float, others: float, waiting: float | None) -> dict[str, float]:
    """The figures of two CPUs of which these have the same shares all the time, and for which this number of
    threads of the engine wait, or an unknown one.
    """

    def cut(share: float) -> CounterCut:
        return CounterCut(share * 2_000 * 60, 60.0, 60.0, None, 60, 0, 0)

    busy = engine + driver + others
    counters: list[tuple[str, dict[str, str], float]] = [
        ("cpu.user", {}, busy),
        ("cpu.idle", {}, 1 - busy),
        ("process.user", {"process": "n"}, engine),
        ("process.system", {"process": "n"}, 0),
        ("process.user", {"process": "driver"}, driver),
        ("process.system", {"process": "driver"}, 0),
    ]
    if waiting is not None:
        counters.append(("process.run_queue_wait", {"process": "n", "threads": "other"}, waiting / 2))
    cuts = dict[str, tuple[tuple[dict[str, str], CounterCut], ...]]()
    for name, labels, share in counters:
        cuts[name] = (*cuts.get(name, ()), (labels, cut(share)))
    return cpu_figures(TaskTelemetry(cuts), CpuSet(nodes=("n",), exact_interrupts=True))


def sampled(
    folder: Path,
    seconds: Sequence[Second],
    waiting: float,
    own_cpus: tuple[int, ...] = (),
    bound: tuple[str, ...] = ("n", "driver"),
) -> dict[str, float | str]:
    """The figures of a race on two CPUs, from its file: so many threads of the engine wait. The node may use
    all CPUs, or these of four, of which the others are idle; the driver may use the same, or all.
    """
    folder.mkdir(exist_ok=True)
    race = RaceTelemetry(RaceFolder(folder), ObservedHost((), (), (), {}))
    totals = dict[tuple[str, str, str], float]()

    def write(second: int) -> None:
        race.write([
            TelemetrySample(
                START_NS + second * SECOND_NS, "host", name, total, "ms", "counter", {key: of} if of else {}
            )
            for (name, key, of), total in totals.items()
        ])

    for number, (engine, driver, others) in enumerate(((0.0, 0.0, 0.0), *seconds)):
        busy = engine + driver + others
        states = {"user": busy, "idle": 1 - busy} if number else {"user": 0.0, "idle": 0.0}
        for state, share in states.items():
            for cpu in range(4) if own_cpus else (0, 1):
                is_free = own_cpus and cpu not in own_cpus
                of_cpu = float(state == "idle" and number > 0) if is_free else share
                for label in ("", str(cpu)):
                    key = (f"cpu.{state}", "cpu" if label else "", label)
                    totals[key] = totals.get(key, 0.0) + 1_000 * of_cpu
        waited = waiting / 2 if number else 0.0
        for process, share in (("n", engine), ("driver", driver)):
            for name, of in (("process.user", share), ("process.system", 0.0)):
                totals[name, "process", process] = totals.get((name, "process", process), 0.0) + 2_000 * of
        wait = ("process.run_queue_wait", "process", "n")
        totals[wait] = totals.get(wait, 0.0) + 2_000 * waited
        write(number)
    result = structs.replace(task("index"), started_s=0.0, duration_s=float(len(seconds)))
    race.close(DriveResult((result,), {"started_unix_ns": START_NS}))
    file = folder / "telemetry.parquet"
    cuts, own = telemetry_cuts(file), {name: list(own_cpus) for name in bound if own_cpus}
    # The second node is bound elsewhere, so that the first one has figures of its own.
    further = {"m": [cpu for cpu in range(4) if cpu not in own_cpus]} if own_cpus else {}
    values = {"host-sampler": {"nodes": ["n", *further], "process_cpus": own | further}}
    if own_cpus:
        return node_figures_by_task(file, cuts, values)["index"]["n"]
    return host_figures_by_task(file, cuts, values)["index"]


def lacked(figures: dict[str, float | str]) -> float:
    return float(figures["cpu.lacked_share"])


def is_disturbed(figures: dict[str, float | str]) -> bool:
    observation = TaskObservation(other_share=float(figures["cpu.other_share"]), lacked_share=lacked(figures))
    assert lacked_most(observation) == lacked(figures)
    return used_by_others({}, observation, None)


def test_threads_that_wait_for_each_other_beside_idle_cpus_lack_nothing(tmp_path: Path) -> None:
    """The figures of a race in which the engine searched, and an agent ran: its threads wake each other."""
    known, unknown = (dict(even(0.27, 0.018, 0.047, waiting)) for waiting in (0.255, None))
    assert known["cpu.idle_share"] == pytest.approx(0.665)
    assert known["cpu.lacked_share"] == unknown["cpu.lacked_share"] == 0.0
    recorded = sampled(tmp_path, [(0.27, 0.018, 0.047)] * 30, 0.255)
    assert recorded["cpu.engine_waiting"] == pytest.approx(0.255)
    assert (lacked(recorded), is_disturbed(recorded)) == (0.0, False)


def test_known_waits_never_blame_others_for_more_than_unknown_ones() -> None:
    """A longer race has better evidence: it does not get the opposite cause."""
    for idle in (step / 50 for step in range(50)):
        for part in (0.1, 0.5, 0.9):
            engine, others = part * (1 - idle), (1 - part) * (1 - idle)
            known, unknown = (even(engine, 0.0, others, waiting) for waiting in (1.8, None))
            least = known["cpu.lacked_share"]
            possible = unknown.get("cpu.lacked_possible_share", unknown.get("cpu.lacked_share"))
            assert possible is not None
            assert least <= possible + 1e-9, (idle, part)


@pytest.mark.parametrize("waiting", [1.8, None])
def test_a_little_more_idle_time_does_not_change_the_cause(waiting: float | None) -> None:
    """What the engine lacked falls evenly: to nothing, from all that others had."""
    shares = [
        float(figures.get("cpu.lacked_possible_share", figures.get("cpu.lacked_share", -1.0)))
        for idle in range(0, 60)
        for figures in [even(0.4 * (1 - idle / 100), 0.0, 0.6 * (1 - idle / 100), waiting)]
    ]
    assert shares[0] == pytest.approx(0.6)
    assert shares[-1] == 0.0
    assert all(0.0 <= before - after + 1e-9 < 0.1 for before, after in pairwise(shares))


def test_others_that_had_all_cpus_for_some_seconds_took_them_although_most_time_was_idle(
    tmp_path: Path,
) -> None:
    """As a backup within a task: for ten of sixty seconds, the engine gets half of what it needs."""
    seconds = [*[(0.3, 0.02, 0.0)] * 25, *[(0.15, 0.02, 0.83)] * 10, *[(0.3, 0.02, 0.0)] * 25]
    figures = sampled(tmp_path, seconds, 0.5)
    assert float(figures["cpu.idle_share"]) > 0.5
    others = 0.83 / 6
    assert lacked(figures) == pytest.approx(others / (0.275 + others), rel=0.01)
    assert is_disturbed(figures)


def test_others_count_in_the_seconds_without_idle_time_only(tmp_path: Path) -> None:
    """An agent runs all the time; the engine has the CPUs for itself while it compiles, in the beginning."""
    seconds = [*[(0.93, 0.02, 0.05)] * 6, *[(0.15, 0.02, 0.05)] * 54]
    figures = sampled(tmp_path, seconds, 0.5)
    engine = (6 * 0.93 + 54 * 0.15) / 60
    assert lacked(figures) == pytest.approx(0.005 / (engine + 0.005), rel=0.01)
    assert not is_disturbed(figures)


def test_the_seconds_are_those_of_the_cpus_that_a_node_may_use(tmp_path: Path) -> None:
    seconds = [*[(0.3, 0.02, 0.0)] * 15, *[(0.15, 0.02, 0.83)] * 5]
    figures = sampled(tmp_path, seconds, 0.5, own_cpus=(0, 1))
    assert float(figures["cpu.idle_share"]) > 0.4
    # Without its own CPUs, half of all time was idle in each second.
    assert lacked(figures) > 2 * LACKED_SHARE


def test_there_is_no_idle_cpu_to_move_to_if_there_is_only_one(tmp_path: Path) -> None:
    """An agent that runs while the engine wants its only CPU is in its way, however idle that is later."""
    # The process has 0.2 of a CPU.
    seconds = [(0.1, 0.0, 0.28)] * 20
    alone = sampled(tmp_path / "one", seconds, 0.12, own_cpus=(0,))
    assert float(alone["cpu.idle_share"]) > 0.6
    assert lacked(alone) > 0.2
    assert lacked(sampled(tmp_path / "two", seconds, 0.12, own_cpus=(0, 1))) == 0.0


def test_what_an_engine_lacked_at_least_is_nothing_beside_idle_cpus(tmp_path: Path) -> None:
    """What the driver had of these CPUs is not known: it may use others. The engine waits for itself."""
    idle, busy = (
        sampled(tmp_path / name, [(0.3, 0.05, others)] * 20, 2.0, (0, 1), ("n",))
        for name, others in (("idle", 0.1), ("busy", 0.6))
    )
    assert idle["cpu.other_least_share"] == pytest.approx(0.1)
    assert "cpu.lacked_least_share" not in idle
    assert busy["cpu.lacked_least_share"] == pytest.approx(0.6 / 0.9)


@pytest.mark.parametrize("damaged", [[(0, 0.0)], [(0, None), (SECOND_NS, 100.0)]])
@pytest.mark.parametrize("name", ["cpu.idle", "process.user", "process.system"])
def test_a_history_that_is_not_known_of_most_of_a_task_says_nothing(
    name: str, damaged: list[tuple[int, float | None]]
) -> None:
    points: list[tuple[int, float | None]] = [(at * SECOND_NS, at * 100.0) for at in range(3)]
    keys = (("cpu.idle", ""), ("process.user", "n"), ("process.system", "n"))
    whole = dict.fromkeys(keys, points)
    for counters, expected in (
        (whole, pytest.approx(700.0)),
        ({key: damaged if key[0] == name else points for key in keys}, None),
        ({key: points for key in keys if key[0] != name}, None),
    ):
        history = CpuHistory(counters, TaskTimes("t", 0, 2 * SECOND_NS))
        assert history.contended_ms(frozenset(), ("n",), 1_000.0) == expected


def test_a_sample_that_could_not_be_read_and_a_restarted_process_hide_no_burst() -> None:
    """Others have all of two of four seconds; a sample of the process is missing within, and it begins again
    in a quiet second.
    """
    idle = [(at * SECOND_NS, value) for at, value in enumerate((0.0, 0.0, 0.0, 1_000.0, 2_000.0))]
    own = [(at * SECOND_NS, value) for at, value in enumerate((5.0, None, 5.0, 0.0, 0.0))]
    counters = {("cpu.idle", ""): idle, ("process.user", "n"): own, ("process.system", "n"): own}
    history = CpuHistory(counters, TaskTimes("t", 0, 4 * SECOND_NS))
    assert history.contended_ms(frozenset(), ("n",), 1_000.0) == pytest.approx(2_000 / 3)
