"""`pacenote list`: races, pipelines, cars, telemetry devices and plugins."""

import json

import pytest

from pacenote.store.race_store import RaceStore
from support.records import record


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
    _, out, _ = run("list", "races", "--format=json", "--limit=1", "--user-tag=intention:baseline")
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


def test_an_empty_home_has_no_races(run, home):
    assert run("list", "races") == (0, "No races found.\n", "")
    assert not home.exists()


def test_an_invalid_date_is_rejected(run):
    code, _, err = run("list", "races", "--from-date=2026-03-01")
    assert code == 2
    assert err.startswith("error: '2026-03-01' is not a date\nhint: dates are written yyyyMMdd")


@pytest.mark.parametrize("place", [".", "races"])
def test_a_home_that_is_not_a_folder_is_an_error(run, home, place):
    (home / place).parent.mkdir(parents=True, exist_ok=True)
    (home / place).touch()
    code, out, err = run("list", "races")
    assert (code, out) == (64, "")
    assert err.startswith(f"error: cannot read races from {home / place}: Not a directory\n")


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("pipelines", "benchmark-only race against an existing cluster"),
        ("cars", "4gheap 4 GB of heap"),
        ("telemetry", "jvm-stats Number and time of garbage collections"),
        ("telemetry", "startup-time Seconds until a node that Pacenote starts is healthy."),
        ("elasticsearch-plugins", "No plugins of the engine are available."),
    ],
)
def test_lists_of_pipelines_cars_telemetry_and_plugins(run, what, line):
    code, out, err = run("list", what)
    assert (code, err) == (0, "")
    assert any(" ".join(text.split()).startswith(line) for text in out.splitlines())
    assert isinstance(json.loads(run("list", what, "--format=json")[1]), list)
