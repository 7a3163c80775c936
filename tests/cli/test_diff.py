"""`pacenote diff`: what differs between two stored races."""

from __future__ import annotations

import json

import pytest

from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.store.race_store import RaceStore
from support.records import record


@pytest.fixture
def races():
    store = RaceStore()
    for name, swappiness in (("race-a", "60"), ("race-b", "1")):
        before = Snapshot({"sysctl.vm.swappiness": swappiness, "cpu.online": "0-1"})
        after = Snapshot({"sysctl.vm.swappiness": swappiness, "cpu.online": "0"})
        store.create(record(name)).write_snapshot(RaceSnapshot(before, after))
    store.create(record("old"))
    return store


def test_what_differs_is_printed_in_groups(run, races):
    code, out, err = run("diff", "race-a", "race-b")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["Kernel", "race-a", "race-b"]
    assert "sysctl.vm.swappiness  60      1\n" in out
    assert "\n1 fact differs, " in out


def test_the_place_where_long_values_differ_is_shown(run, races):
    store = RaceStore()
    for end in ("alike", "other"):
        side = Snapshot({"setting.a": "x" * 100 + end, "cpu.online": end})
        store.create(record(end)).write_snapshot(RaceSnapshot(side))
    _, out, _ = run("diff", "alike", "other")
    assert f"setting.a  …{'x' * 10}alike  …{'x' * 10}other\n" in out
    assert "2 facts differ (Engine 1, Machine 1), " in out


def test_what_snapshots_contain_does_not_reach_the_terminal_as_it_is(run, races):
    store = RaceStore()
    escape = "\x1b]0;x\x07\nnext"
    for name, side in (
        ("escaped-a", Snapshot({"setting.a": escape, f"setting.{escape}": "1", "cpu.online": "0"})),
        ("escaped-b", Snapshot({"setting.a": "1"}, {"cpu.*": f"it says {escape}"})),
    ):
        store.create(record(name)).write_snapshot(RaceSnapshot(side))
    code, out, err = run("diff", "escaped-a", "escaped-b")
    assert (code, err) == (0, "")
    assert "it says" in out
    assert all(line.isprintable() and not line.startswith("next") for line in out.splitlines())


def test_the_same_race_twice_shows_what_changed_while_it_ran(run, races):
    code, out, _ = run("diff", "race-a", "race-a", "--format=json")
    assert code == 0
    document = json.loads(out)
    assert document["races"] == ["before", "after"]
    assert document["groups"] == [
        {"title": "Machine", "differences": [{"key": "cpu.online", "values": ["0-1", "0"]}]}
    ]
    assert run("diff", "old", "old")[0] == 64


def test_a_race_without_a_snapshot_is_named(run, races):
    code, out, err = run("diff", "race-a", "old")
    assert code == 0
    assert err == "warning: old has no snapshot of engine and machine: only race.json is compared\n"
    assert out.startswith("0 facts differ, ")


def test_a_damaged_snapshot_is_an_error_in_one_line(run, races):
    (RaceStore().folder("race-b").snapshot).write_text("{")
    code, _, err = run("diff", "race-a", "race-b")
    assert code == 64
    assert "snapshot.json cannot be read" in err
