"""`pacenote add annotation`, and what `list` and `delete` do with annotations."""

from __future__ import annotations

import json

import pytest

ADD = ("add", "annotation", "--race-timestamp=20260301T123015Z")


def test_an_annotation_is_added_listed_and_deleted(run):
    code, out, err = run(*ADD, "--message=new disks", "--track=geonames", "--chart-type=io")
    added, annotation, name, to, day = out.split()
    assert (code, err, added, annotation, to, day) == (0, "", "added", "annotation", "to", "2026-03-01")
    (listed,) = json.loads(run("list", "annotations", "--format=json")[1])
    assert listed == {
        "annotation_id": name,
        "race_timestamp": "20260301T000000Z",
        "message": "new disks",
        "environment": "local",
        "track": "geonames",
        "chart_type": "io",
        "chart_name": None,
        "accepted": None,
    }
    header, _, line = run("list", "annotations")[1].splitlines()
    assert header.split("  ")[0] == "Annotation Id"
    assert line.split() == [name, "20260301T000000Z", "geonames", "io", "new", "disks"]
    assert run("delete", "annotation", f"--id={name}") == (0, f"deleted annotation {name}\n", "")
    assert run("list", "annotations") == (0, "No annotations found.\n", "")


def test_a_dry_run_adds_nothing(run, home):
    code, out, _ = run(*ADD, "--message=x", "--dry-run")
    assert (code, out) == (0, "would add annotation 'x' to 2026-03-01\n")
    assert not (home / "annotations").exists()


@pytest.mark.parametrize(
    ("option", "count"),
    [
        *(("--track=a", 1), ("--track=c", 0), ("--limit=1", 1), ("--from-date=20260302", 1)),
        *(("--to-date=20260301", 1), ("--from-date=20260301", 2)),
    ],
)
def test_annotations_are_filtered(run, option, count):
    for track, day in (("a", "20260301"), ("b", "20260302")):
        run("add", "annotation", f"--race-timestamp={day}T080000Z", "--message=x", f"--track={track}")
    assert len(json.loads(run("list", "annotations", "--format=json", option)[1])) == count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["race"], "cannot add 'race'"),
        (["annotation", "--race-timestamp=2026-03-01"], "--race-timestamp '2026-03-01' is not a timestamp"),
        (["annotation", "--chart-type=pie"], "--chart-type cannot be 'pie'"),
    ],
)
def test_wrong_annotations_are_rejected(run, arguments, message):
    code, _, err = run("add", "--race-timestamp=20260301T123015Z", "--message=x", *arguments)
    assert code == 2
    assert err.startswith(f"error: {message}")
