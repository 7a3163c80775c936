"""What the folder of a race has becomes evidence, and what it lacks is missing with a reason."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote import _core
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, Window
from pacenote.diagnose.race_facts import race_builder
from pacenote.evidence.recorded_figures import add_recorded_figures
from support.openj9_logs import START, LogPlan, Totals, generate
from support.records import bulk, record

BEGIN_S = 1_795_466_258
TASK = bulk().task
NODE = "n0"
MEASURED_S = bulk().started_s + bulk().duration_s - bulk().window_s
"""When the measured window of the task begins, in seconds after the first task did."""
S = 1_000_000_000
GC_LOG = "".join(
    f"[2026-11-23T20:37:{38 + second:02}.000+0000][{second}.000s][info][gc] {text}\n"
    for second, text in (
        (0, "Using G1"),
        (2, "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 110M->20M(256M) 1000.000ms"),
        (4, "GC(1) Pause Young (Normal) (G1 Evacuation Pause) 110M->20M(256M) 1000.000ms"),
    )
)


def write_telemetry(folder: Path) -> None:
    """Writes ten seconds of counters of a node and of the host."""
    file = _core.TelemetryFile(str(folder))
    for second in range(11):
        busy = {"process.cpu.total": 1000.0, "indices.indexing.index_time": 500.0}
        rows = [
            ("node-counters", name, per_s * second, "ms", "counter", {"node": NODE})
            for name, per_s in busy.items()
        ]
        rows += [
            ("host", f"cpu.{state}", per_s * second, "ms", "counter", {})
            for state, per_s in (("user", 1500.0), ("idle", 500.0))
        ]
        file.write((BEGIN_S + second) * S, rows)
    file.add_task(TASK, BEGIN_S * S, (BEGIN_S + 10) * S)
    file.close()


def evidence(folder: Path, driver: Mapping[str, object] | None = None) -> Evidence:
    race = record("race-a", tasks=(bulk(),), telemetry={"host-sampler": {"nodes": [NODE]}})
    race = race if driver is None else replace(race, driver=driver)
    builder: EvidenceBuilder = race_builder(race)
    builder.set(Window(), "host.usable_cores", 2)
    add_recorded_figures(builder, race, folder)
    return builder.build()


def reason(observed: Evidence, name: str) -> str:
    value = observed.value(Window(TASK, NODE), name)
    assert isinstance(value, Unknown), value
    return value.reasons[0][1]


@pytest.mark.parametrize("packed", [False, True])
def test_counters_host_and_gc_log_become_figures_of_the_task(tmp_path: Path, packed: bool) -> None:
    write_telemetry(tmp_path)
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    log = artifacts / ("gc.log.gz" if packed else "gc.log")
    log.write_bytes(gzip.compress(GC_LOG.encode()) if packed else GC_LOG.encode())
    observed = evidence(tmp_path)
    window = Window(TASK, NODE)
    assert observed.value(window, "node.cpu_share") == pytest.approx(0.5)
    assert observed.value(window, "node.indexing_share") == pytest.approx(0.5)
    assert observed.value(window, "cpu.idle_share") == pytest.approx(0.25)
    assert observed.value(window, "gc.collector") == "G1"
    assert observed.value(window, "gc.stop_share") == pytest.approx(0.2)
    assert observed.value(window, "task.documents") == bulk().work.done
    assert "--telemetry=jfr" in reason(observed, "allocation.top_class")


def test_what_the_folder_lacks_is_missing_with_a_reason(tmp_path: Path) -> None:
    observed = evidence(tmp_path)
    for name in ("node.cpu_share", "cpu.idle_share"):
        assert "telemetry.parquet" in reason(observed, name)
    for name in ("gc.stop_share", "allocation.top_class"):
        assert "does not state when its tasks ran" in reason(observed, name)


def test_nothing_is_known_after_the_end_of_a_compressed_log_that_is_cut(tmp_path: Path) -> None:
    write_telemetry(tmp_path)
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    (artifacts / "gc.log.gz").write_bytes(gzip.compress(GC_LOG.encode())[:-8])
    observed = evidence(tmp_path)
    assert "cut off or damaged" in observed.unread[0]
    assert observed.value(Window(TASK, NODE), "gc.coverage_share") == pytest.approx(0.4)


def test_the_record_has_the_times_of_tasks_without_telemetry(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    (artifacts / "gc.log").write_text(GC_LOG)
    begin_s = BEGIN_S - MEASURED_S
    observed = evidence(tmp_path, {"started_unix_ns": round(begin_s * S)})
    assert observed.value(Window(TASK, NODE), "gc.stop_share") == pytest.approx(2 / bulk().window_s)
    assert "telemetry.parquet" in reason(observed, "node.cpu_share")
    later = evidence(tmp_path, {"started_unix_ns": round((begin_s + 1000) * S)})
    assert "has no line from the time of the task" in reason(later, "gc.stop_share")


OPENJ9 = LogPlan(
    heap_mb=1024,
    nursery=(10, 1_000_000, 5_000),
    globals=(1, 8_000_000, 9_000),
    percolated=0,
    largest_request=3 << 20,
    copied=Totals(100, 20, 10),
    collected_mb_per_minute=6_000,
    paused_share=0.015,
)
"""Ten scavenges, one per second."""


def test_rotated_logs_of_openj9_are_collected(tmp_path: Path) -> None:
    parts = list(generate(OPENJ9))
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    root = parts[0].partition("<init")[0]
    (artifacts / "gc.log.001").write_text("".join(parts[:6]) + parts[-1])
    (artifacts / "gc.log.002").write_text(root + "".join(parts[6:]))
    started_ns = round((START.timestamp() - MEASURED_S) * S)
    observed = evidence(tmp_path, {"started_unix_ns": started_ns})
    window = Window(TASK, NODE)
    assert observed.value(window, "gc.collector") == "gencon"
    assert observed.value(window, "gc.flipped_bytes") == 100 << 20
    assert observed.value(window, "gc.largest_request_bytes") == 3 << 20
    rate = observed.value(window, "gc.large_allocations_per_s")
    assert isinstance(rate, float)
    assert rate > 0


@pytest.mark.parametrize("last_reply_s", [10.0, 70.0])
def test_what_openj9_has_overwritten_is_not_covered(tmp_path: Path, last_reply_s: float) -> None:
    """The measured window ends when its time is over, although a request may time out long after that."""
    header, *pauses, end = generate(OPENJ9)
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    # The JVM writes three files, and has overwritten the first one, with four scavenges.
    for number, own in ((2, pauses[4:7]), (3, pauses[7:10]), (1, pauses[10:])):
        # Each file begins with the element and the time of the rotation; only the first one has the id 1.
        began = re.search(r'timestamp="[^"]*"', own[0])
        assert began is not None
        beginning = re.sub(r'id="1" timestamp="[^"]*"', f'id="99" {began[0]}', header)
        assert beginning != header
        text = beginning + "".join(own)
        (artifacts / f"gc.log.{number:03}").write_text(text if number == 1 else text + end)
    task = bulk(started_s=0.0, duration_s=last_reply_s, window_s=10.0, window_from_s=0.0)
    race = record("race-a", tasks=(task,), driver={"started_unix_ns": round(START.timestamp() * S)})
    builder = race_builder(race)
    add_recorded_figures(builder, race, tmp_path)
    observed = builder.build()
    window = Window(TASK, NODE)
    assert observed.value(window, "gc.collector") == "gencon"
    covered = observed.value(window, "gc.coverage_share")
    assert isinstance(covered, float)
    assert 0.4 < covered < 0.7
    assert observed.unread == (), "a file of a JVM that runs is not damaged"


def test_files_that_cannot_be_read_are_missing_with_a_reason(tmp_path: Path) -> None:
    write_telemetry(tmp_path)
    assert "has no gc.log" in reason(evidence(tmp_path), "gc.stop_share")
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "gc.log").write_text("nothing that a collector writes\n")
    (tmp_path / "artifacts" / "race.jfr").write_bytes(b"no recording")
    observed = evidence(tmp_path)
    for name in ("gc.stop_share", "allocation.top_class"):
        assert "artifacts" in reason(observed, name)
    assert [text.split(": ")[0].rpartition("/")[2] for text in observed.unread] == ["gc.log", "race.jfr"]
    (tmp_path / "telemetry.parquet").write_bytes(b"PAR1")
    assert "telemetry.parquet" in reason(evidence(tmp_path), "node.cpu_share")
