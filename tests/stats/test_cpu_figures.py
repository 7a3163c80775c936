"""What an engine lacked is a figure only if it is known for how long its threads waited."""

from __future__ import annotations

import pytest

from pacenote.model.telemetry_cuts import CounterCut, TaskTelemetry, TaskTimes
from pacenote.stats.cpu_figures import CpuSet, cpu_figures
from pacenote.stats.host_limits import well_covered

WAITS = "process.run_queue_wait"


def figures(
    duration_s: float, span_s: float, others_ms: float, idle_ms: float, stolen_ms: float = 0
) -> dict[str, float]:
    """Two cores: each second, the engine has 760 ms, the driver 40, and threads wait for 1,300, which was
    read over `span_s`.
    """

    def cut(per_s: float, span_s: float) -> CounterCut:
        return CounterCut(per_s * duration_s, duration_s, span_s, None, 3, 0, 0)

    counters = (
        ("cpu.user", {}, 800 + others_ms),
        ("cpu.idle", {}, idle_ms),
        ("cpu.steal", {}, stolen_ms),
        ("process.user", {"process": "n"}, 700),
        ("process.system", {"process": "n"}, 60),
        ("process.user", {"process": "driver"}, 40),
        ("process.system", {"process": "driver"}, 0),
        (WAITS, {"process": "n", "threads": "other"}, 1_300),
    )
    cuts = dict[str, tuple[tuple[dict[str, str], CounterCut], ...]]()
    for name, labels, per_s in counters:
        of_task = (labels, cut(per_s, span_s if name == WAITS else duration_s + 1))
        cuts[name] = (*cuts.get(name, ()), of_task)
    known = well_covered(TaskTelemetry(cuts), TaskTimes("t", 0, int(duration_s * 1e9)))
    return cpu_figures(known, CpuSet(nodes=("n",), process_cpus={}))


def test_waits_that_were_not_read_are_not_taken_as_none() -> None:
    """Threads are read every ten seconds: the readings around a short task are mostly of other times."""
    known = figures(8.0, 10.0, others_ms=900, idle_ms=300)
    assert known["cpu.lacked_share"] == pytest.approx(900 / 1_660)
    for duration_s, span_s in ((4.0, 10.0), (9.0, 20.0)):
        unread = figures(duration_s, span_s, others_ms=900, idle_ms=300)
        assert not {"cpu.lacked_share", "cpu.engine_waiting"} & set(unread)
        assert unread["cpu.lacked_possible_share"] == pytest.approx(900 / 1_660)
    assert "cpu.lacked_possible_share" not in known


def test_without_idle_time_or_other_programs_what_the_engine_lacked_is_bounded() -> None:
    # The threads may have waited whenever another program ran.
    busy = figures(4.0, 10.0, others_ms=1_100, idle_ms=100)
    assert busy["cpu.lacked_share"] == pytest.approx(1_100 / 1_860)
    # All that others had would not matter.
    quiet = figures(4.0, 10.0, others_ms=30, idle_ms=200)
    assert quiet["cpu.lacked_share"] == pytest.approx(30 / 790)
    # An engine that does little has little more than others, without lacking anything.
    idle = figures(4.0, 10.0, others_ms=500, idle_ms=1_170)
    assert idle["cpu.lacked_share"] == 0.0
    assert "cpu.lacked_possible_share" not in {*busy, *quiet, *idle}


def test_what_guests_of_the_host_took_is_known_without_waits() -> None:
    unread = figures(4.0, 10.0, others_ms=900, idle_ms=300, stolen_ms=400)
    taken = 400 * 760 / 1_700
    assert unread["cpu.lacked_least_share"] == pytest.approx(taken / (760 + taken))
    assert unread["cpu.lacked_possible_share"] == pytest.approx((900 + taken) / (1_660 + taken))
