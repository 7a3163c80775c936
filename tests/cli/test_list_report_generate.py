"""The commands that work from what is stored, and `generate`."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pacenote.store.local import RaceStore
from support.records import record, task


@pytest.fixture
def races():
    store = RaceStore()
    for day, name in enumerate(("abc-1", "abc-2"), start=1):
        store.create(record(name, timestamp=record().timestamp.replace(day=day)))
    return store


def test_races_are_listed(run, races):
    code, out, err = run("list", "races")
    assert (code, err) == (0, "")
    header, _, first, second = out.splitlines()
    assert header.split("  ")[0] == "Race ID"
    assert first.split() == [
        *("abc-2", "20260302T123015Z", "http_logs", "append-no-conflicts", "defaults", "opensearch", "3.3.0"),
        *("deadbeef", "a1b2c3", "intention=baseline", "valid", "complete"),
    ]
    assert second.startswith("abc-1")


def test_races_are_listed_as_json(run, races):
    _, out, _ = run("list", "races", "--format=json", "--limit=1", "--user-tags=intention:baseline")
    (found,) = json.loads(out)
    assert (found["race_id"], found["verdict"], found["user_tags"]) == (
        "abc-2",
        "valid",
        {"intention": "baseline"},
    )


@pytest.mark.parametrize(
    ("option", "count"),
    [("--from-date=20260302", 1), ("--to-date=20260301", 1), ("--track=nope", 0), ("--benchmark-name=x", 0)],
)
def test_races_are_filtered(run, races, option, count):
    _, out, _ = run("list", "races", "--format=json", option)
    assert len(json.loads(out)) == count


def test_no_races(run, home):
    assert run("list", "races") == (0, "No races found.\n", "")
    assert not home.exists()


def test_a_bad_date(run):
    code, _, err = run("list", "races", "--from-date=2026-03-01")
    assert code == 2
    assert err.startswith("error: '2026-03-01' is no date\nhint: dates are written yyyyMMdd")


def test_a_report_is_printed_again(run, races):
    for arguments in (("abc-2",), ("latest", "--quiet", "--offline")):
        code, out, err = run("report", *arguments)
        assert (code, err) == (0, "")
        assert "- Race ID: abc-2" in out
        assert "99.9th percentile service time" in out


def test_the_report_of_a_killed_race_has_its_finished_tasks(run):
    RaceStore().create(record("killed", tasks=(), complete=False)).append(task())
    code, out, _ = run("report", "killed")
    assert code == 0
    assert "Mean Throughput" in out
    assert "- Reason: the race has not finished" in out


def test_a_report_of_nothing(run, races):
    assert run("report", "nope")[0] == 64
    code, _, err = run("report", "abc")
    assert code == 64
    assert err.startswith("error: 'abc' is the beginning of 2 races: abc-1, abc-2\nhint: give more of the id")


def test_generating(run, monkeypatch, tmp_path):
    calls = []

    def generate(name, documents, seed, output_dir, progress):
        progress("generating http_logs", documents, documents)
        calls.append((name, documents, seed, output_dir))

    module = ModuleType("pacenote.race.generated")
    module.generate = generate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pacenote.race.generated", module)
    code, out, err = run("generate", "http_logs", "--docs=1000", "--seed=7", f"--output-path={tmp_path}")
    said = f"generating http_logs …\n1,000 documents of http_logs in {tmp_path}\n"
    assert (code, out, err) == (0, "", said)
    run("generate", "http_logs", "--docs=5")
    assert calls == [("http_logs", 1000, 7, tmp_path), ("http_logs", 5, 42, Path())]
    assert run("generate", "http_logs")[0] == 2
    assert run("generate", "http_logs", "--docs=0")[0] == 2


@pytest.mark.parametrize("place", [".", "races"])
def test_a_home_that_is_no_folder(run, home, place):
    (home / place).parent.mkdir(parents=True, exist_ok=True)
    (home / place).touch()
    code, out, err = run("list", "races")
    assert (code, out) == (64, "")
    assert err.startswith(f"error: races cannot be looked for in {home / place}: Not a directory\n")
