"""`pacenote host`: this machine and its checks."""

from __future__ import annotations

import json

import pytest

from pacenote.cli import host
from pacenote.model.snapshot import Snapshot


@pytest.fixture(autouse=True)
def without_watching(monkeypatch):
    monkeypatch.setattr(host, "_WATCH_S", 0.001)


def test_this_machine_is_printed_and_checked(run):
    code, out, err = run("host")
    assert (code, err) == (0, "")
    assert out.startswith("machine ")
    assert "free memory: " in out
    assert "change: " in out
    assert out.endswith("nothing was changed\n")


def test_what_hurts_is_printed_last_and_named(run, monkeypatch):
    facts = {"sysctl.vm.max_map_count": "65530", "kernel.transparent_huge_pages.enabled": "madvise"}
    monkeypatch.setattr("pacenote.host.machine.read_machine", lambda _: Snapshot(facts))
    _, out, _ = run("host")
    marks = [line.split()[0] for line in out.splitlines() if line[:6].strip() in {"ok", "?", "note", "HURTS"}]
    assert marks == sorted(marks, key=["ok", "?", "note", "HURTS"].index)
    assert {"ok", "?", "note"} <= set(marks)
    assert "\nmay hurt: memory maps\n" in out


def test_names_of_mount_points_do_not_reach_the_terminal_as_they_are(run, monkeypatch):
    facts = {
        "disk.d.file_system": "fuse",
        "disk.d.mount_options": "rw",
        "disk.d.mount_point": "/a\x1b]0;x\x07",
    }
    monkeypatch.setattr("pacenote.host.machine.read_machine", lambda _: Snapshot(facts))
    code, out, _ = run("host")
    assert code == 0
    assert "fuse, rw at /a ]0;x" in out
    assert all(line.isprintable() for line in out.splitlines())


def test_json_has_every_fact_and_check(run, tmp_path):
    document = json.loads(run("host", "--format=json", f"--data-paths={tmp_path}")[1])
    assert "disk.data.0.file_system" in document["facts"]
    assert {"name", "state", "value", "meaning", "change", "source", "report"} == document["checks"][0].keys()
    assert document["environment"]["kernel"] == document["facts"]["kernel.release"]


def test_a_path_that_does_not_exist_is_not_checked_in_place_of_another(run, tmp_path):
    code, out, err = run("host", f"--data-paths={tmp_path},{tmp_path}/not-mounted")
    assert (code, out) == (2, "")
    assert f"--data-paths: {tmp_path}/not-mounted does not exist" in err
