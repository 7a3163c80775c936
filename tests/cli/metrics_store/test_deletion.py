"""Races and annotations are deleted here and in the metrics store, or nowhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pacenote.metrics_store.metrics_documents import MetricSources
from pacenote.metrics_store.store import MetricsStore
from pacenote.metrics_store.store_annotations import StoreAnnotations
from pacenote.model.race_record import PlanFile
from pacenote.store.annotations import Annotation
from pacenote.store.race_store import RaceStore
from support.http_server import json_response
from support.records import record


@pytest.fixture
def races(home, metrics_store):
    for name in ("here", "both"):
        RaceStore(home).create(record(name)).finish(record(name))
    for name in ("both", "store"):
        MetricsStore(metrics_store.client()).write(record(name), MetricSources())
    return metrics_store


def stored(store) -> set[str]:
    return {one["race-id"] for one in store.documents("rally-*")}


def folders(home) -> list[str]:
    return sorted(path.name for path in (home / "races").iterdir() if path.is_dir())


def test_races_are_deleted_wherever_they_are(run, races, home):
    assert run("delete", "race", "--id=both,sto,here") == (
        0,
        "deleted race both (here and in the metrics store)\n"
        "deleted race store (in the metrics store)\n"
        "deleted race here (here)\n",
        "",
    )
    assert (stored(races), folders(home)) == (set(), [])


def test_what_an_interrupted_export_left_is_deleted(run, races):
    races.indices["rally-races-v1"].clear()
    assert run("delete", "race", "--id=store")[:2] == (0, "deleted race store (in the metrics store)\n")
    assert stored(races) == {"both"}


def test_a_dry_run_deletes_nothing(run, races, home):
    code, out, _ = run("delete", "race", "--id=both", "--dry-run")
    assert (code, out) == (0, "would delete race both (here and in the metrics store)\n")
    assert (stored(races), folders(home)) == ({"both", "store"}, ["both", "here"])


def test_a_race_of_another_machine_with_the_same_id_is_kept(run, races, home):
    other = replace(record("both"), timestamp=record("both").timestamp + timedelta(days=1))
    MetricsStore(races.client()).write(other, MetricSources())
    assert run("delete", "race", "--id=both")[1] == "deleted race both (here and in the metrics store)\n"
    assert stored(races) == {"both", "store"}
    assert run("delete", "race", "--id=both")[1] == "deleted race both (in the metrics store)\n"
    assert stored(races) == {"store"}


def test_all_races_of_the_store_with_an_id_are_deleted_if_none_is_here(run, races):
    other = replace(record("store"), timestamp=record("store").timestamp + timedelta(days=1))
    MetricsStore(races.client()).write(other, MetricSources())
    assert run("delete", "race", "--id=store")[:2] == (0, "deleted race store (in the metrics store)\n")
    assert stored(races) == {"both"}


def test_a_race_of_the_store_may_be_left_of_a_damaged_folder(run, races, home):
    (home / "races" / "both" / "race.json").write_text("{")
    code, out, err = run("delete", "race", "--id=both")
    assert (code, out) == (0, "deleted race both (here)\n")
    assert "warning: the metrics store still has a race both: the folder could not be read" in err
    assert stored(races) == {"both", "store"}


def test_a_race_is_kept_here_if_the_store_cannot_delete_it(run, races, home):
    def refuse(request):
        refused = request.path.endswith("_delete_by_query")
        return json_response({"error": {"reason": "read-only"}}, 403) if refused else None

    races.answer = refuse
    assert run("delete", "race", "--id=both")[0] == 64
    assert folders(home) == ["both", "here"]


def test_an_unknown_race_deletes_nothing(run, races, home):
    code, _, err = run("delete", "race", "--id=both,nope")
    assert code == 64
    assert "no race 'nope' in" in err
    assert "nor in the metrics store" in err
    assert (stored(races), folders(home)) == ({"both", "store"}, ["both", "here"])


def test_an_ambiguous_prefix_deletes_nothing(run, races, home):
    RaceStore(home).create(record("bare"))
    before = stored(races), folders(home)
    code, _, err = run("delete", "race", "--id=b")
    assert (code, "'b' matches 2 races: bare, both" in err) == (64, True)
    assert (stored(races), folders(home)) == before


def test_what_is_no_id_deletes_nothing_in_the_store(run, races, home):
    store = RaceStore(home)
    store.delete(*(store.folder(name) for name in folders(home)))
    MetricsStore(races.client()).write(record("latest-1"), MetricSources())
    before = stored(races)
    assert run("delete", "race", "--id=latest")[0] == 64
    assert stored(races) == before


def test_a_store_that_does_not_answer_deletes_nothing(run, races, home):
    races.answer = lambda request: json_response({"error": {"reason": "no"}}, 400)
    code, _, err = run("delete", "race", "--id=both")
    assert code == 64
    assert "`pacenote delete" not in err
    assert "--no-metrics-store" in err
    assert folders(home) == ["both", "here"]
    assert run("delete", "race", "--id=both", "--no-metrics-store")[:2] == (0, "deleted race both\n")


def test_annotations_are_deleted_wherever_they_are(run, metrics_store):
    own = run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=mine")[1].split()[2]
    theirs = Annotation(annotation_id="t1", race_timestamp="20260302T000000Z", message="theirs")
    StoreAnnotations(metrics_store.client()).add(theirs)
    code, _, err = run("delete", "annotation", f"--id={own},nope")
    assert (code, "there is no annotation 'nope' here or in the metrics store" in err) == (64, True)
    assert run("delete", "annotation", f"--id={own},t1") == (
        0,
        f"deleted annotation {own}\ndeleted annotation t1\n",
        "",
    )
    assert metrics_store.documents("rally-annotations") == []
    assert run("list", "annotations")[1] == "No annotations found.\n"


@pytest.mark.parametrize("text", ["[]", "", '{"message": {}, "accepted": 1}'])
def test_a_damaged_annotation_can_be_deleted_and_keeps_no_other_one(run, metrics_store, home, text):
    run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=mine")
    (good,) = (path.stem for path in (home / "annotations").iterdir())
    (home / "annotations" / "bad.json").write_text(text)
    assert run("delete", "annotation", f"--id={good}") == (0, f"deleted annotation {good}\n", "")
    assert run("delete", "annotation", "--id=bad") == (0, "deleted annotation bad\n", "")
    assert not list((home / "annotations").iterdir())
    assert metrics_store.documents("rally-annotations") == []


def test_a_folder_does_not_delete_the_race_of_someone_else(run, races, home):
    """The store has a race with the id and the second of the one here."""
    theirs = record("both", plan=PlanFile("plan.json", "a" * 64))
    races.indices["rally-races-v1"].clear()
    races.indices["rally-results-v1"].clear()
    races.indices["rally-metrics-v1"].clear()
    MetricsStore(races.client()).write(theirs, MetricSources())
    for options in ((), ("--dry-run",)):
        code, out, err = run("delete", "race", "--id=both", *options)
        assert (code, out) == (64, "")
        assert "race both of 20260301T123015Z is not the one that the metrics store has" in err
        assert "its plan-sha256 is unknown here, and aaaa" in err
    assert (stored(races), folders(home)) == ({"both"}, ["both", "here"])
    assert run("delete", "race", "--id=both", "--no-metrics-store")[:2] == (0, "deleted race both\n")
    assert run("delete", "race", "--id=both")[:2] == (0, "deleted race both (in the metrics store)\n")


def test_an_export_names_the_race_that_the_store_has_and_writes_the_others(run, races):
    (both,) = (one for one in races.documents("rally-races-v1") if one["race-id"] == "both")
    both["plan-sha256"] = "a" * 64
    code, _, err = run("export", "tag:intention=baseline", "--to-store")
    assert code == 64
    assert (
        "warning: not exported: race both of 20260301T123015Z is not the one that the metrics store has"
        in err
    )
    assert both in races.documents("rally-races-v1")
    assert stored(races) == {"both", "store", "here"}


def test_an_odd_annotation_keeps_no_other_one_from_the_store(run, races, home):
    run("add", "annotation", "--no-metrics-store", "--race-timestamp=20260301T123015Z", "--message=mine")
    folder = home / "annotations"
    for name, day in (("\udcff", "20260302T000000Z"), ("..", "20260302T000000Z"), ("late", "yesterday")):
        (folder / f"{name}.json").write_text(f'{{"race-timestamp": "{day}", "message": "odd"}}')
    code, _, err = run("export", "here", "--to-store")
    assert code == 0
    assert [one["message"] for one in races.documents("rally-annotations")] == ["mine"]
    assert err.count("its name cannot be an id") == 2
    assert "annotation late is not in the metrics store: it has no valid time" in err
    assert "1 annotation added" in err
