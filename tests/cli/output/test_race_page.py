"""`pacenote report --html`, and the page that a race leaves in its folder."""

from __future__ import annotations

import io
import json

import pytest
from msgspec.structs import replace

from pacenote import _core
from pacenote.cli.console import Console
from pacenote.cli.output.race_page import add_page, page_sources
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.report.screen.engine import engine_paragraph
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from report.test_saturation import FOUND
from support.records import record, task

BEGIN_S = 1_795_466_258
S = 1_000_000_000
RACE = record(
    "abc-1",
    tasks=(task(duration_s=20.0),),
    complete=True,
    driver={"started_unix_ns": BEGIN_S * S},
    telemetry={"host-sampler": {"data_devices": [{"device": "vda"}]}},
)
TEN_TIMES_7_MS = "HISTFAAAACZ4nJNpmSzMwMDAwgABzFCakYHBb8pEfwYG+w8Qgeu3GEUAZ5YGBg=="
"""A histogram in the compressed V2 encoding."""

GC_LOG = "".join(
    f"[2026-11-23T20:37:{38 + second:02}.000+0000][{second}.000s][info][gc] {text}\n"
    for second, text in (
        (0, "Using G1"),
        (4, "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 110M->20M(256M) 1500.000ms"),
    )
)


def write_series(folder: RaceFolder) -> None:
    """Writes twenty seconds of ten operations each, of which nothing ended in two."""
    rows = [
        {
            **{"task": "search", "operation": "search", "part": False, "driver": 0, "second": second},
            **{"sample_type": "normal", "operations": 10, "requests": 10, "errors": 0, "weight": 10},
            **{"failed_weight": 0, "bytes_out": 0, "bytes_in": 0, "service_time": TEN_TIMES_7_MS},
            **{"latency": None, "lateness": None, "failed_service_time": None},
        }
        for second in range(20)
        if second not in (3, 4)
    ]
    (folder.path / "series.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert _core.recover_files(folder.path) == len(rows)


@pytest.fixture
def folder() -> RaceFolder:
    """The folder of a race with a series, telemetry, a GC log and a snapshot."""
    folder = RaceStore().create(RACE)
    write_series(folder)
    file = _core.TelemetryFile(folder.path)
    for second in range(21):
        samples = [
            ("host", f"cpu.{state}", 500.0 * second, "ms", "counter", {}) for state in ("user", "idle")
        ]
        file.write((BEGIN_S + second) * S, samples)
    file.close()
    folder.artifacts.mkdir(exist_ok=True)
    (folder.artifacts / "gc.log").write_text(GC_LOG)
    folder.write_snapshot(RaceSnapshot(Snapshot({"setting.a": "1"})))
    return folder


def test_the_page_has_what_the_folder_of_the_race_has(folder):
    sources = page_sources(RACE, folder, None, is_running=False)
    seen = sources.observed
    assert seen.missing == ()
    assert seen.timeline is not None
    assert sum(seen.timeline.tasks["search"].operations) == 180
    assert [(each.at_s, each.ms, each.kind) for each in seen.pauses] == [(2.5, 1500.0, "Young (Normal)")]
    assert {each.name: each.mean[0] for each in seen.telemetry} == {"cpu.user": 500.0, "cpu.idle": 500.0}
    assert sources.diagnosis is not None
    assert sources.snapshot is not None
    assert "--track=http_logs" in sources.command


def test_pauses_of_a_node_before_and_after_the_race_are_not_those_of_the_race(folder):
    """The log of an engine that runs on has those of hours."""
    pause = "GC(7) Pause Young (Normal) (G1 Evacuation Pause) 110M->20M(256M) 4000.000ms"
    later = "".join(
        f"[2026-11-23T{time}.000+0000][{second}.000s][info][gc] {pause}\n"
        for time, second in (("20:38:08", 30), ("23:59:00", 12_082))
    )
    before = f"[2026-11-23T20:37:30.000+0000][-8.000s][info][gc] {pause}\n"
    (folder.artifacts / "gc.log").write_text(before.replace("[-8.000s]", "[0.000s]") + GC_LOG + later)
    seen = page_sources(RACE, folder, None, is_running=False).observed
    assert [(each.at_s, each.ms) for each in seen.pauses] == [(2.5, 1500.0)]
    groups = engine_paragraph(RACE, seen).groups
    assert ("GC: 1 pause of 1.5 s in all", "longest 1.5 s") in groups


def test_the_page_is_written_to_the_folder_or_to_a_file(run, folder, tmp_path):
    code, out, err = run("report", "abc-1", "--html")
    assert (code, err) == (0, "")
    assert out == f"{folder.page}\n"
    text = folder.page.read_text("utf-8")
    assert "At 0:03 for 2 s: search at 0 of usually 10 operations per second; 1 s of garbage" in text
    other = tmp_path / "new" / "page.html"
    assert run("report", "abc-1", f"--html={other}")[:2] == (0, f"{other}\n")
    assert other.read_text("utf-8") == text
    code, _, err = run("report", "abc-1", f"--html={tmp_path}")
    assert code != 0
    assert f"cannot write the page to {tmp_path}: " in err


def test_a_race_leaves_a_page_and_a_failure_is_a_warning(folder):
    err = io.StringIO()
    add_page(folder.path, None, Console(io.StringIO(), err))
    assert err.getvalue().endswith(f"page: {folder.page}\n")
    folder.page.unlink()
    folder.page.mkdir()
    err = io.StringIO()
    add_page(folder.path, None, Console(io.StringIO(), err))
    assert "warning: the page of the race was not written: " in err.getvalue()
    folder.race_json.unlink()
    err = io.StringIO()
    add_page(folder.path, None, Console(io.StringIO(), err))
    assert err.getvalue() == ""


@pytest.mark.parametrize(("options", "has_page"), [((), True), (("--no-html",), False)])
def test_a_race_writes_its_page_unless_it_is_told_not_to(run, fake_race, options, has_page):
    fake_race(lambda request, listener: RaceStore().create(RACE) and RACE)
    code, _, err = run("race", "--track=http_logs", *options)
    assert (code, "page: " in err) == (0, has_page)
    assert (RaceStore().races / RACE.race_id / "report.html").exists() == has_page


def test_a_defect_of_the_page_does_not_make_a_race_fail(folder, monkeypatch):
    def broken(*_: object, **__: object) -> str:
        raise StopIteration

    monkeypatch.setattr("pacenote.cli.output.race_page.page_text", broken)
    err = io.StringIO()
    add_page(folder.path, None, Console(io.StringIO(), err))
    assert "the page of the race was not written: a defect of Pacenote: StopIteration" in err.getvalue()


def test_a_race_without_files_has_a_page_that_says_what_is_missing(run):
    folder = RaceStore().create(record("abc-2", tasks=(task(),), complete=True))
    assert run("report", "abc-2", "--html")[0] == 0
    text = folder.page.read_text("utf-8")
    assert "There is no timeline: " in text
    assert "Not recorded: the race has no snapshot" in text
    killed = replace(record("abc-3", tasks=(), complete=False))
    assert RaceStore().create(killed)
    assert run("report", "abc-3", "--html")[0] == 0
    assert (
        "Not diagnosed: the race is not complete." in (folder.path.parent / "abc-3/report.html").read_text()
    )


def test_a_saturation_has_a_page_of_its_own(run):
    folder = RaceStore().create(record("abc-4"))
    folder.write_saturation(FOUND)
    code, out, _ = run("report", "abc-4", "--html")
    assert (code, out) == (0, f"{folder.page}\n")
    text = folder.page.read_text("utf-8")
    assert "Between 80 ops/s (80,000 docs/s) and 82 ops/s (82,000 docs/s)." in text
    assert "<span>pacenote</span> <span>saturate</span>" in text
    assert "--objective=p99:50ms" in text
