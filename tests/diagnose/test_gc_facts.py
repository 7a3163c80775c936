from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.gc_facts import add_gc_figures
from pacenote.evidence.gc_log import GcLogReader
from support.openj9_logs import START, LogPlan, Totals, generate

BEGIN = 1_795_466_258.0
HEADER = """\
[2026-11-23T20:37:38.000+0000][0.010s][info][gc     ] Using G1
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Heap Region Size: 1M
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Heap Max Capacity: 256M
"""
WINDOW = Window("index-append", "a")


def line(second: float, text: str, tags: str = "gc") -> str:
    whole, thousandths = divmod(round(second * 1000), 1000)
    wall = f"2026-11-23T20:37:{38 + whole:02}.{thousandths:03}+0000"
    return f"[{wall}][{second:.3f}s][info][{tags:7}] {text}\n"


def collections() -> str:
    """Returns ten young collections of 50 ms, one per second, two of them because of large objects."""
    lines = ""
    for number in range(10):
        cause = "G1 Humongous Allocation" if number in (3, 6) else "G1 Evacuation Pause"
        lines += line(number + 1, f"GC({number}) Pause Young (Normal) ({cause}) 110M->20M(256M) 50.000ms")
        lines += line(number + 1, f"GC({number}) User=0.08s Sys=0.02s Real=0.05s", "gc,cpu")
        lines += line(
            number + 1,
            'Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 1000000 ns, '
            "At safepoint: 50000000 ns, Leaving safepoint: 0 ns, Total: 51000000 ns, "
            "Threads: 1 runnable, 9 total",
            "safepoint",
        )
    return lines + line(10.4, "GC(10) Pause Young (Mixed) (G1 Evacuation Pause) 90M->64M(256M) 2.000ms")


def test_a_log_becomes_figures_of_a_window(tmp_path: Path) -> None:
    file = tmp_path / "gc.log"
    file.write_text(
        HEADER + collections() + line(12, "GC(11) Pause Full (System.gc()) 90M->64M(256M) 9.000ms")
    )
    between = (BEGIN + 0.5, BEGIN + 10.5)
    builder = EvidenceBuilder("race")
    (log,) = GcLogReader([file]).between([between])
    assert log is not None
    add_gc_figures(builder, WINDOW, log, between)
    known = builder.build()
    expected = {
        "gc.collector": "G1",
        "gc.coverage_share": 1.0,
        "gc.stop_share": 0.051,
        "gc.pause_share": 0.0502,
        "gc.pauses": 11,
        "gc.pause_max_ms": 50,
        "gc.pause_p99_ms": 50,
        "gc.young_pause_mean_ms": 502 / 11,
        "gc.young_interval_s": 10 / 11,
        "gc.young_s_per_s": 0.0502,
        "gc.time_to_safepoint_max_ms": 1.0,
        "gc.cpu_ratio": 1.0 / 0.502,
        "gc.system_ratio": 0.25,
        "gc.live_bytes": 64 << 20,
        "gc.live_share": 0.25,
        "gc.old_after_share": 0.25,
        "gc.full_collections": 0,
        "gc.allocation_stalls": 0,
        "gc.explicit_collections": 0,
        "gc.large_allocations_per_s": 0.2,
        "gc.heap_resizes": 0,
    }
    for name, value in expected.items():
        assert known.value(WINDOW, name) == (value if isinstance(value, str) else pytest.approx(value)), name
    assert not isinstance(known.value(WINDOW, "gc.flipped_bytes"), float), "the log has no ages or regions"


def test_phases_beside_the_application_can_use_their_threads_at_most(tmp_path: Path) -> None:
    file = tmp_path / "gc.log"
    settings = line(0.1, "CPUs: 8 total, 4 available") + line(0.1, "Concurrent Workers: 2")
    file.write_text(HEADER + settings + collections() + line(10.45, "GC(11) Concurrent Mark Cycle 2000.0ms"))
    between = (BEGIN + 0.5, BEGIN + 10.5)
    (log,) = GcLogReader([file]).between([between])
    assert log is not None
    builder = EvidenceBuilder("race")
    add_gc_figures(builder, WINDOW, log, between)
    assert builder.build().value(WINDOW, "gc.concurrent_cpu_share") == pytest.approx(0.2 * 2 / 4)


PARALLEL = """\
[2026-11-23T20:37:38.000+0000][0.010s][info][gc] Using Parallel
[2026-11-23T20:37:39.000+0000][1.000s][info][gc,heap] GC(0) PSYoungGen: 65536K(76288K)->10240K(76288K)
[2026-11-23T20:37:39.000+0000][1.000s][info][gc,heap] GC(0) ParOldGen: 0K(175104K)->2048K(175104K)
[2026-11-23T20:37:39.000+0000][1.000s][info][gc] GC(0) Pause Young (Allocation Failure) 64M->12M(245M) 9.000ms
[2026-11-23T20:37:49.000+0000][11.000s][info][safepoint] the end
"""


def test_what_a_collector_does_not_log_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "gc.log"
    file.write_text(PARALLEL)
    between = (BEGIN, BEGIN + 10)
    (log,) = GcLogReader([file]).between([between])
    assert log is not None
    builder = EvidenceBuilder("race")
    add_gc_figures(builder, WINDOW, log, between)
    evidence = builder.build()
    for name in ("gc.large_allocations_per_s", "gc.allocation_stalls", "gc.heap_resizes"):
        assert isinstance(evidence.value(WINDOW, name), Unknown), name
    stated = ("gc.full_collections", "gc.explicit_collections", "gc.flipped_bytes", "gc.tenured_bytes")
    assert [evidence.value(WINDOW, name) for name in stated] == [0, 0, 10 << 20, 2 << 20]


@pytest.mark.parametrize("concurrent", [None, Totals(1_000, 200, 100)])
def test_a_log_of_openj9_has_what_was_copied(tmp_path: Path, concurrent: Totals | None) -> None:
    plan = LogPlan(
        heap_mb=1024,
        nursery=(10, 1_000_000, 5_000),
        globals=(1, 8_000_000, 9_000),
        percolated=0,
        largest_request=50_000,
        copied=Totals(100, 20, 10),
        collected_mb_per_minute=6_000,
        paused_share=0.015,
        concurrent=concurrent,
    )
    file = tmp_path / "verbosegc.log"
    file.write_text("".join(generate(plan)))
    begin = START.replace(tzinfo=UTC).timestamp()
    between = (begin, begin + 20)
    builder = EvidenceBuilder("race")
    (log,) = GcLogReader([file], UTC).between([between])
    assert log is not None
    add_gc_figures(builder, WINDOW, log, between)
    evidence = builder.build()
    assert evidence.value(WINDOW, "gc.collector") == "gencon"
    assert evidence.value(WINDOW, "gc.flipped_bytes") == pytest.approx((1_100 if concurrent else 100) << 20)
    assert evidence.value(WINDOW, "gc.tenured_bytes") == pytest.approx((220 if concurrent else 20) << 20)
    assert evidence.value(WINDOW, "gc.concurrent") is (concurrent is not None)
    assert evidence.value(WINDOW, "gc.tenure_age") == 7
    pause_ms = evidence.value(WINDOW, "gc.young_pause_mean_ms")
    assert isinstance(pause_ms, float)
    assert pause_ms > 5, "pauses are longer than their collections"
