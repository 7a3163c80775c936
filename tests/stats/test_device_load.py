"""The load of a device has the columns of iostat."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pacenote.model.telemetry_cuts import CounterCut, TaskTelemetry
from pacenote.stats.device_load import DeviceLoad, DirectionLoad, device_load
from pacenote.stats.host_figures import stripe_imbalance

COUNTERS: Mapping[str, float] = {
    "reads": 1000,
    "reads_merged": 20,
    "read_bytes": 80000 * 512,
    "read_time": 4000,
    "writes": 500,
    "writes_merged": 100,
    "write_bytes": 64000 * 512,
    "write_time": 9000,
    "busy_time": 6000,
    "weighted_time": 13100,
    "discards": 30,
    "discards_merged": 0,
    "discard_bytes": 2400 * 512,
    "discard_time": 60,
    "flushes": 12,
    "flush_time": 40,
}
"""What a device counted in 100 s."""

SYSFS = "1000 20 80000 4000 500 100 64000 9000 2 6000 13100 30 0 2400 60 12 40\n"
"""The same as the kernel shows it."""

ONE_DEVICE = """\
Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util
dasda 0.00 0.00 0.00 0.00 0.00 0.00 5.00 982.40 1.60 24.24 3.72 196.48 0.00 0.60
dasdb 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
dasdc 0.00 0.00 0.00 0.00 0.00 0.00 1312.00 365877.60 18.60 1.40 4.62 278.87 2.89 95.40
"""
"""The data of Elasticsearch on one device, in the field report about IBM Z."""

STRIPED = """\
Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqm-sz %util
dasda 0.20 0.80 0.00 0.00 4.00 4.00 4.00 1028.80 3.20 44.44 2.15 257.20 0.00 0.60
dasdb 0.00 0.00 0.00 0.00 0.00 0.00 1647.80 93600.00 178.40 9.77 1.37 56.80 0.00 91.60
dasdc 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
dasdd 0.00 0.00 0.00 0.00 0.00 0.00 1488.80 92883.20 179.60 10.76 1.45 62.39 0.00 91.40
dasde 0.00 0.00 0.00 0.00 0.00 0.00 1576.20 93319.20 177.40 10.12 1.43 59.21 0.00 91.80
dasdf 0.00 0.00 0.00 0.00 0.00 0.00 1655.80 93764.80 179.00 9.76 1.37 56.63 0.00 91.60
dm-0 0.00 0.00 0.00 0.00 0.00 0.00 7083.00 373567.20 0.00 0.00 1.74 52.74 12.36 92.00
"""
"""The same on a logical volume of four stripes; the header is misspelt in the report."""

STRIPES = ("dasdb", "dasdd", "dasde", "dasdf")


def telemetry(counters: Mapping[str, float], seconds: float, device: str = "vda") -> TaskTelemetry:
    """Returns what a device counted in so many seconds."""
    labels = {"device": device}
    cut = {
        f"disk.{name}": ((labels, CounterCut(value, seconds, seconds, None, 2, 0, 0)),)
        for name, value in counters.items()
    }
    return TaskTelemetry(cut)


def columns(load: DeviceLoad) -> dict[str, float]:
    """Returns the columns of iostat, without those of a load without requests."""
    values: dict[str, float | None] = {"aqu-sz": load.queue, "util": 100 * load.util_share}
    directions = {"r": load.reads, "w": load.writes, "d": load.discards, "f": load.flushes}
    for key, direction in directions.items():
        if direction is None:
            continue
        values |= {f"{key}/s": direction.per_s, f"{key}_await": direction.await_ms}
        merged_or_sent = direction.per_s + direction.merged_per_s
        if key != "f":
            values |= {
                f"{key}kB/s": direction.bytes_per_s / 1024,
                f"{key}rqm/s": direction.merged_per_s,
                f"{key}rqm": 100 * direction.merged_per_s / merged_or_sent if merged_or_sent else None,
                f"{key}areq-sz": None if direction.request_bytes is None else direction.request_bytes / 1024,
            }
    return {name: value for name, value in values.items() if value is not None}


def loads(table: str) -> dict[str, DeviceLoad]:
    """Returns the loads in a table of iostat by device."""
    header, *rows = (line.split() for line in table.splitlines())
    names = ["aqu-sz" if name == "aqm-sz" else name for name in header]
    assert len(names) == 15
    return {row[0]: load_of(dict(zip(names[1:], map(float, row[1:]), strict=True)), row[0]) for row in rows}


def load_of(row: Mapping[str, float], device: str) -> DeviceLoad:
    def direction(key: str) -> DirectionLoad:
        per_s = row[f"{key}/s"]
        return DirectionLoad(
            per_s, 1024 * row[f"{key}kB/s"], row[f"{key}rqm/s"], per_s * row[f"{key}_await"] / 1e3
        )

    return DeviceLoad(device, direction("r"), direction("w"), None, None, row["aqu-sz"], row["%util"] / 100)


def test_the_columns_follow_from_the_counters() -> None:
    load = device_load(telemetry(COUNTERS, 100.0), "vda")
    assert load is not None
    assert load.little_queue == pytest.approx(0.131)
    assert load.await_ms == pytest.approx(13000 / 1500)
    assert (load.reads.per_s, load.writes.request_bytes) == (10.0, 65536.0)
    assert device_load(telemetry(COUNTERS, 100.0), "vdb") is None
    # Linux before 4.18 counts neither discards nor flushes.
    old = {name: value for name, value in COUNTERS.items() if not name.startswith(("discard", "flush"))}
    load = device_load(telemetry(old, 100.0), "vda")
    assert load is not None
    assert (load.discards, load.flushes) == (None, None)
    idle = device_load(telemetry(dict.fromkeys(COUNTERS, 0.0), 1.0), "vda")
    assert idle is not None
    assert (idle.await_ms, idle.reads.await_ms, idle.reads.request_bytes, idle.little_queue) == (
        None,
    ) * 3 + (0,)
    assert device_load(telemetry(dict.fromkeys(COUNTERS, 0.0), 0.0), "vda") is None


def missing_for_iostat() -> str:
    """Returns why iostat cannot be run with the counters of this test, or an empty string."""
    if shutil.which("iostat") is None:
        return "iostat is not installed (package sysstat)"
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "iostat with given counters needs root and unshare"
    tried = subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True)
    return "mount namespaces are not allowed here" if tried.returncode else ""


@pytest.mark.process
def test_iostat_of_sysstat_prints_the_same_columns(tmp_path: Path) -> None:
    if reason := missing_for_iostat():
        pytest.skip(reason)
    device = min(path.name for path in Path("/sys/block").iterdir() if (path / "stat").exists())
    (tmp_path / "stat").write_text(SYSFS)
    (tmp_path / "diskstats").write_text(f" 254 0 {device} {SYSFS}")
    # The first report is about the time since the machine was started: 100 s.
    (tmp_path / "uptime").write_text("100.00 150.00\n")
    targets = {"stat": f"/sys/block/{device}/stat", "diskstats": "/proc/diskstats", "uptime": "/proc/uptime"}
    mounts = "".join(f"mount --bind {tmp_path / name} {target} && " for name, target in targets.items())
    script = f"{mounts}iostat -dx -o JSON {device}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], check=True, capture_output=True, text=True, env={"LC_ALL": "C"}
    )
    statistics = json.loads(done.stdout)["sysstat"]["hosts"][0]["statistics"][0]
    [printed] = statistics["disk"]
    assert printed.pop("disk_device") == device
    load = device_load(telemetry(COUNTERS, 100.0), "vda")
    assert load is not None
    computed = columns(load)
    assert set(printed) == set(computed)
    for name, value in printed.items():
        assert computed[name] == pytest.approx(value, abs=0.006), name


def test_the_tables_of_the_field_report_obey_their_own_sums() -> None:
    single, striped = loads(ONE_DEVICE), loads(STRIPED)
    stripes = [striped[name] for name in STRIPES]
    assert sum(disk.writes.bytes_per_s for disk in stripes) == pytest.approx(
        striped["dm-0"].writes.bytes_per_s
    )
    assert striped["dm-0"].writes.bytes_per_s == 373567.2 * 1024
    imbalance = stripe_imbalance(stripes)
    assert imbalance is not None
    assert 1.0 < imbalance < 1.01
    for table in (single, striped):
        for load in table.values():
            writes = load.writes
            size = (writes.request_bytes or 0.0) / 1024
            assert size * writes.per_s == pytest.approx(writes.bytes_per_s / 1024, rel=1e-3)


@pytest.mark.parametrize(
    ("table", "device", "little"),
    [
        (ONE_DEVICE, "dasdc", 6.06),
        (STRIPED, "dasdb", 2.26),
        (STRIPED, "dasdd", 2.16),
        (STRIPED, "dasde", 2.25),
        (STRIPED, "dasdf", 2.27),
        (STRIPED, "dm-0", 12.32),
        (STRIPED, "dasda", 0.01),
    ],
)
def test_requests_in_flight_follow_from_littles_law(table: str, device: str, little: float) -> None:
    assert loads(table)[device].little_queue == pytest.approx(little, abs=0.005)
