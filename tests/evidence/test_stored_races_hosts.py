"""What nodes report about hosts that are not sampled is found in the folder of a race."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote import _core
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, Window
from pacenote.evidence.stored_races import add_reported_hosts
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from support.records import record

SECOND_NS = 10**9
WINDOW = Window("index", "far")
SETTING = "setting.cluster.routing.allocation.disk.watermark.low"


def evidence(folder: Path, *sampled: str) -> Evidence:
    race = replace(record("race-a"), telemetry={"host-sampler": {"nodes": list(sampled)}})
    builder = EvidenceBuilder("race-a")
    snapshot = RaceSnapshot(Snapshot({SETTING: "85%"}))
    add_reported_hosts(builder, race, snapshot, folder)
    return builder.build()


def test_the_load_and_the_space_of_a_host_are_those_that_its_node_reports(tmp_path: Path) -> None:
    file = _core.TelemetryFile(tmp_path)
    for second in range(11):
        rows = [
            ("process.cpu.total", 100.0 * second, "ms", "counter"),
            ("os.cpu.percent", 40.0, "%", "gauge"),
            ("fs.total.available", 1_000.0, "B", "gauge"),
            ("fs.total.total", 10_000.0, "B", "gauge"),
        ]
        file.write(second * SECOND_NS, [("node-counters", *row, {"node": "far"}) for row in rows])
    file.add_task("index", 0, 10 * SECOND_NS)
    file.close()
    observed = evidence(tmp_path)
    assert observed.value(WINDOW, "cpu.idle_share") == pytest.approx(0.6)
    assert observed.source(WINDOW, "cpu.idle_share") == "node counters"
    assert observed.value(WINDOW, "cluster.disk_watermark") is True
    assert "cpu.idle_share" not in evidence(tmp_path, "far").values.get(WINDOW, {})


def test_a_race_without_telemetry_has_none(tmp_path: Path) -> None:
    assert evidence(tmp_path).values == {}
