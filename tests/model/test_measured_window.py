"""Figures are those of the measured window, and so is what is said about the driver and the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.evidence.telemetry_values import host_figures_by_task, telemetry_cuts
from pacenote.model.finding import Finding
from pacenote.model.measured_window import measured_window
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import ObservedHost
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.verdict.driver_health import suspect_findings
from pacenote.verdict.driver_pauses import gap_findings, gaps_between_tasks_text, stopped_s
from pacenote.verdict.late_readings import late_reply_findings
from pacenote.verdict.task_rules import paused
from support.records import task, times

NS = 10**9
START_NS = 1_790_000_000 * NS
WARMUP_S, WINDOW_S, BEGAN_S = 100, 10, 5

SEARCH = task(
    "search",
    started_s=float(BEGAN_S),
    duration_s=float(WARMUP_S + WINDOW_S),
    window_s=float(WINDOW_S),
    window_from_s=float(WARMUP_S),
    service_time=replace(times(50_000, p50=15.0, p99=19.0), mean_ms=15.0),
)
"""A task with a long warm-up and a short window."""

DISTURBED = {"warm-up": (BEGAN_S + 20, 5), "window": (BEGAN_S + WARMUP_S + 2, 5)}
"""When the driver is disturbed, in seconds since the first task began, and for how long."""


@pytest.mark.parametrize(
    ("window_from_s", "window_s", "duration_s", "expected"),
    [
        (100.0, 10.0, 111.0, (100.0, 10.0, 105.0)),
        # Of older races, the begin of the window is not known.
        (None, 10.0, 111.0, (101.0, 10.0, 106.0)),
        # A task that ended early has no more than it took, and one without a window is whole.
        (100.0, 10.0, 104.0, (100.0, 4.0, 105.0)),
        (None, 20.0, 10.0, (0.0, 10.0, 5.0)),
        (100.0, 10.0, 90.0, (0.0, 90.0, 5.0)),
        (None, 0.0, 90.0, (0.0, 90.0, 5.0)),
    ],
)
def test_the_window_is_a_part_of_the_task(
    window_from_s: float | None, window_s: float, duration_s: float, expected: tuple[float, float, float]
) -> None:
    measured = replace(SEARCH, window_from_s=window_from_s, window_s=window_s, duration_s=duration_s)
    window = measured_window(measured)
    assert (window.from_s, window.length_s, window.began_s) == expected
    assert window.ended_s == window.began_s + window.length_s


def gaps(at_s: int, length_s: int) -> list[Finding]:
    return list(gap_findings(clock(at_s, length_s), (SEARCH,)))


def clock(at_s: int, length_s: int) -> dict[str, object]:
    """The clocks of a driver that did not run."""
    gap = {"at_s": at_s, "length_s": length_s, "from_s": at_s, "to_s": at_s + length_s, "gaps": 1}
    return {"gaps": [gap], "gaps_s": length_s}


def pauses(at_s: int, length_s: int) -> list[Finding]:
    """The driver was stopped for 30 ms in each second."""
    stopped = {"stopped": 1, "stopped_s": 0.03, "stolen_s": 0.0}
    return list(paused([SEARCH], driver(at_s, length_s, pauses=1, short=1, short_s=0.03, **stopped)))


def late(at_s: int, length_s: int) -> list[Finding]:
    """In each second, 3 readings were late by 2 ms."""
    noticed = {"pauses": 3, "short": 3, "short_s": 0.006, "longest_short_s": 0.002}
    unstopped = {"stopped": 0, "stopped_s": 0.0, "stolen_s": 0.0}
    return list(late_reply_findings([SEARCH], driver(at_s, length_s, **noticed, **unstopped)))


def driver(at_s: int, length_s: int, **evidence: float) -> dict[str, object]:
    seconds = [
        {"from_s": float(second), "to_s": second + 0.98, "paused_s": evidence["short_s"], **evidence}
        for second in range(at_s, at_s + length_s)
    ]
    total = {"pauses": evidence["pauses"] * length_s, "paused_s": evidence["short_s"] * length_s}
    return {"wall_s": 200.0, "clock": {**total, "paused": seconds}, "cpus": {"numbers": None, "count": 1}}


def core_waits(at_s: int, length_s: int) -> list[Finding]:
    """A thread waited for a core for 30 ms in each second."""
    spans = [
        {"from_s": float(second), "to_s": second + 1.0, "waited_s": 0.03}
        for second in range(at_s, at_s + length_s)
    ]
    whole = {"step": "search", "waits": length_s, "waited_s": 0.03 * length_s, "share": 0.02, "spans": spans}
    threads = [{"name": "drive-0", "core_waits": [whole]}]
    step = {"step": "search", "tasks": [SEARCH.index], "waited_s": 0.05, "worked_s": 9.0}
    waited = {"threads": threads, "core_times": [step], "wall_s": 200.0}
    findings = suspect_findings(waited, (SEARCH,))
    return [finding for finding in findings if "waited for a core" in finding.text]


@pytest.mark.parametrize("findings", [gaps, pauses, late, core_waits])
def test_a_disturbance_counts_in_the_window_and_not_before_it(
    findings: Callable[[int, int], list[Finding]],
) -> None:
    """In the whole task, the same disturbance would be too small to matter, or too large."""
    assert findings(*DISTURBED["warm-up"]) == []
    (finding,) = findings(*DISTURBED["window"])
    assert finding.tasks == ("search",)


def test_a_gap_in_the_warm_up_is_in_no_measured_time() -> None:
    in_warmup, in_window = (clock(*DISTURBED[part]) for part in ("warm-up", "window"))
    assert gaps_between_tasks_text(in_warmup, [SEARCH]).endswith(
        "while no task was measured: measured times are not affected"
    )
    assert not gaps_between_tasks_text(in_window, [SEARCH])
    assert [stopped_s({"clock": each}, SEARCH) for each in (in_warmup, in_window)] == [0.0, 5.0]


def sampled(folder: Path, disturbed: str, **part: float | None) -> Mapping[str, object]:
    """Returns the figures of a host of which other programs took one of two CPUs for ten seconds."""
    race, measured = RaceTelemetry(RaceFolder(folder), ObservedHost((), (), (), {})), replace(SEARCH, **part)
    first = {"warm-up": BEGAN_S + 20, "window": BEGAN_S + WARMUP_S}[disturbed]
    totals = {"cpu.user": 0.0, "cpu.idle": 0.0}
    for second in range(BEGAN_S + WARMUP_S + WINDOW_S + 1):
        race.write(
            TelemetrySample(START_NS + second * NS, "host", name, total, "ms", "counter")
            for name, total in totals.items()
        )
        busy = 1_000.0 if first <= second < first + 10 else 0.0
        totals = {"cpu.user": totals["cpu.user"] + busy, "cpu.idle": totals["cpu.idle"] + 2_000 - busy}
    race.close(DriveResult((measured,), {"started_unix_ns": START_NS}))
    file = folder / "telemetry.parquet"
    return host_figures_by_task(file, telemetry_cuts(file, [measured]), {})["search"]


@pytest.mark.parametrize(
    ("disturbed", "part", "idle_share"),
    [
        ("window", {}, 0.5),
        ("warm-up", {}, 1.0),
        # Without a warm-up, they are those of the whole task.
        ("window", {"window_from_s": 0.0, "window_s": 110.0}, 1 - 5 / 110),
    ],
)
def test_the_figures_of_the_host_are_those_of_the_window(
    tmp_path: Path, disturbed: str, part: dict[str, float | None], idle_share: float
) -> None:
    figures = sampled(tmp_path, disturbed, **part)
    assert figures["cpu.idle_share"] == pytest.approx(idle_share)
