"""Lists show the metrics store beside this machine, and where each entry is."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.metrics_store.metrics_documents import MetricSources
from pacenote.metrics_store.store import MetricsStore
from pacenote.metrics_store.store_annotations import StoreAnnotations
from pacenote.store.annotations import Annotation
from pacenote.store.race_store import RaceStore
from support.http_server import json_response
from support.records import BEGAN, record


@pytest.fixture
def races(home, metrics_store):
    """Three races: here, in the store, and in both."""
    later = {name: BEGAN + timedelta(days=day) for day, name in enumerate(("here", "both", "store"))}
    records = {name: structs.replace(record(name), timestamp=moment) for name, moment in later.items()}
    for name in ("here", "both"):
        RaceStore(home).create(records[name]).finish(records[name])
    for name in ("both", "store"):
        MetricsStore(metrics_store.client()).write(records[name], MetricSources())
    return metrics_store


def test_races_of_the_store_are_listed_with_where_they_are(run, races):
    code, out, err = run("list", "races")
    assert (code, err) == (0, "")
    header, _, *rows = out.splitlines()
    assert header.split()[-1] == "Where"
    assert [row.split()[0] for row in rows] == ["store", "both", "here"]
    assert [
        row.rstrip().endswith(end) for row, end in zip(rows, (" store", "here, store", " here"), strict=True)
    ] == [True] * 3
    (row,) = run("list", "races", "--limit=1")[1].splitlines()[2:]
    assert row.split()[0] == "store"


def test_what_is_here_is_shown_of_a_race_that_is_in_both(run, races):
    documents = json.loads(run("list", "races", "--format=json")[1])["races"]
    places = {one["race-id"]: one["stored-in"] for one in documents}
    assert places == {"store": ["store"], "both": ["here", "store"], "here": ["here"]}
    assert {one["race-id"]: "verdict" in one for one in documents} == {
        "store": False,
        "both": True,
        "here": True,
    }


def test_a_race_of_another_machine_with_the_same_id_is_another_race(run, races):
    other = structs.replace(record("here"), timestamp=BEGAN - timedelta(days=1))
    MetricsStore(races.client()).write(other, MetricSources())
    rows = [row.split() for row in run("list", "races")[1].splitlines()[2:]]
    assert [(row[0], row[-1]) for row in rows[-2:]] == [("here", "here"), ("here", "store")]
    documents = json.loads(run("list", "races", "--format=json")[1])["races"]
    assert [one["race-timestamp"][:8] for one in documents[-2:]] == ["20260301", "20260228"]


def test_races_of_other_environments_are_not_listed(run, races, home):
    (home / "pacenote.toml").write_text('environment-name = "ci"\n')
    out = run("list", "races")[1]
    assert [row.split()[0] for row in out.splitlines()[2:]] == ["both", "here"]


def test_a_store_that_does_not_answer_is_a_warning(run, races):
    races.answer = lambda request: json_response({"error": {"reason": "no"}}, 400)
    code, out, err = run("list", "races")
    assert code == 0
    assert [row.split()[0] for row in out.splitlines()[2:]] == ["both", "here"]
    assert err.startswith("warning: only what is on this machine is listed: the metrics store at ")
    assert len(err.splitlines()) == 1


def test_entries_that_are_no_races_do_not_end_the_list(run, races):
    races.indices["rally-races-v1"]["odd"] = {
        "environment": "local",
        "race-timestamp": "5",
        "race-id": "odd",
        "car": 1,
    }
    races.indices["rally-races-v1"]["none"] = {"environment": "local"}
    code, out, _ = run("list", "races")
    assert code == 0
    assert {row.split()[0] for row in out.splitlines()[2:]} == {"odd", "store", "both", "here"}


@pytest.mark.parametrize(
    "timestamp", ["00010101T000000Z", "99991231T235959Z", "99999999T999999Z", "20260301T123015", "", None, []]
)
def test_a_damaged_date_in_the_store_is_one_odd_row(run, races, timestamp):
    odd = {"race-id": "odd\ud800", "track": "\udc00", "user-tags": {"\ud800": [1]}}
    races.indices["rally-races-v1"]["odd"] = {"environment": "local", "race-timestamp": timestamp, **odd}
    for arguments in ((), ("--format=json",)):
        code, out, err = run("list", "races", *arguments)
        assert (code, err) == (0, "")
        assert all(name in out for name in ("store", "both", "here", "odd"))


def test_annotations_of_the_store_are_listed(run, metrics_store):
    code, out, err = run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=mine")
    assert (code, err) == (0, "")
    own = out.split()[2]
    theirs = Annotation(annotation_id="t1", race_timestamp="20260302T000000Z", message="theirs")
    other = replace(theirs, annotation_id="t2", environment="ci")
    for annotation in (theirs, other):
        StoreAnnotations(metrics_store.client()).add(annotation)
    rows = [line.split() for line in run("list", "annotations")[1].splitlines()[2:]]
    assert rows == [
        ["t1", "20260302T000000Z", "store", "theirs"],
        [own, "20260301T000000Z", "here,", "store", "mine"],
    ]
    listed = json.loads(run("list", "annotations", "--format=json")[1])
    assert [one["stored_in"] for one in listed] == [["store"], ["here", "store"]]


def test_an_annotation_is_kept_if_the_store_refuses_it(run, metrics_store):
    metrics_store.answer = lambda request: json_response({"error": {"reason": "read-only"}}, 400)
    code, out, err = run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=mine")
    assert code == 0
    assert "warning: the annotation is only on this machine: " in err
    assert out.split()[2] in run("list", "annotations", "--no-metrics-store")[1]


@pytest.mark.parametrize("timestamp", ["yesterday", "99999999T999999Z", "", None])
def test_races_of_the_store_without_a_time_hide_no_race_of_this_machine(run, races, home, timestamp):
    (RaceStore(home).create(record("damaged")).path / "race.json").write_text("{")
    for number in range(10):
        odd = {"environment": "local", "race-id": f"x{number}", "race-timestamp": timestamp}
        races.indices["rally-races-v1"][f"x{number}"] = odd
    ids = [row.split()[0] for row in run("list", "races", "--limit=3")[1].splitlines()[2:]]
    # Which ones the store gives is up to it.
    assert [one for one in ids if one != "store"] == ["damaged", "both", "here"][: 3 - ids.count("store")]
    last = [row.split()[0] for row in run("list", "races", "--limit=20")[1].splitlines()[2:]][4:]
    assert set(last) == {f"x{number}" for number in range(10)}


def test_annotations_without_a_time_hide_no_other_one(run, metrics_store, home):
    run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=mine")
    (home / "annotations" / "zz.json").write_text('{"race-timestamp": "zz", "message": "copied"}')
    for number in range(10):
        odd = Annotation(annotation_id=f"z{number}", race_timestamp="yesterday", message="theirs")
        StoreAnnotations(metrics_store.client()).add(odd)
    assert run("list", "annotations", "--limit=1")[1].splitlines()[2:][0].endswith("mine")
    for days in ("--from-date=20260301", "--to-date=20260301"):
        assert len(run("list", "annotations", days)[1].splitlines()) == 3


def test_another_race_of_the_store_with_the_same_id_and_time_is_listed_beside_it(run, races):
    (both,) = (one for one in races.documents("rally-races-v1") if one["race-id"] == "both")
    both["track"] = "theirs"
    rows = [row.split() for row in run("list", "races")[1].splitlines()[2:] if row.startswith("both")]
    assert sorted(row[-1] for row in rows) == ["here", "store"]
