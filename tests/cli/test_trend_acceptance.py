"""`pacenote trend accept`: a regression is accepted with a reason, and taken back like any annotation."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace

from compare.test_trend import nights, step
from pacenote.model.finding import Finding
from pacenote.model.race_record import RecordedCorpus, Verdict
from pacenote.store.race_store import RaceStore
from support.http_server import json_response

GATE = "--fail-on=regression"


@pytest.fixture
def store(home):
    """Indexing is 20 % slower from the seventh race on."""
    store = RaceStore(home)
    for race in nights(12, rate=step(6, 0.8)):
        store.create(race)
    return store


def test_an_accepted_regression_does_not_fail_until_the_annotation_is_deleted(run, store, home):
    assert run("trend", GATE)[0] == 3
    code, out, err = run("trend", "accept", "--reason=the new codec")
    assert (code, err) == (0, "")
    assert out.startswith("accepted throughput:index-append -")
    assert "since 2026-03-07 12:30 (n06) (annotation " in out
    (file,) = (home / "annotations").iterdir()
    stored = json.loads(file.read_text())
    assert stored["message"].startswith("accepted: throughput:index-append -")
    assert stored["message"].endswith(": the new codec")
    assert (stored["race-timestamp"], stored["track"]) == ("20260307T000000Z", "http_logs")
    assert (stored["accepted"]["race_id"], stored["accepted"]["reason"]) == ("n06", "the new codec")
    code, out, err = run("trend", GATE)
    assert (code, err) == (0, "")
    assert "1 accepted regression: the new codec" in " ".join(out.split())
    assert "the new codec" in run("list", "annotations")[1]
    assert run("delete", "annotation", f"--id={file.stem}")[0] == 0
    assert run("trend", GATE)[0] == 3


def test_what_a_colleague_accepted_is_accepted(run, store, home, metrics_store):
    assert run("trend", GATE)[0] == 3
    code, out, err = run("trend", "accept", "--reason=the new codec")
    assert (code, err) == (0, "")
    (file,) = (home / "annotations").iterdir()
    (document,) = metrics_store.documents("rally-annotations")
    assert document["accepted"] == json.loads(file.read_text())["accepted"]
    # A colleague has the races, but not the annotation.
    file.unlink()
    code, out, err = run("trend", GATE)
    assert (code, err) == (0, "")
    assert "1 accepted regression: the new codec" in " ".join(out.split())
    assert run("trend", GATE, "--no-metrics-store")[0] == 3
    (listed,) = json.loads(run("list", "annotations", "--format=json")[1])
    assert listed["stored_in"] == ["store"]
    assert run("delete", "annotation", f"--id={file.stem}")[0] == 0
    assert run("trend", GATE)[0] == 3


def test_what_was_accepted_in_another_environment_is_not_accepted(run, store, home, metrics_store):
    assert run("trend", "accept", "--reason=x")[0] == 0
    (file,) = (home / "annotations").iterdir()
    file.unlink()
    (document,) = metrics_store.indices["rally-annotations"].values()
    document["environment"] = "ci"
    assert run("trend", GATE)[0] == 3


@pytest.mark.parametrize("accepted", ["n06", {}, {"race_id": "n06", "metric": 1}, [], 5])
def test_what_the_store_has_in_another_form_accepts_nothing_and_is_named(run, store, metrics_store, accepted):
    note = {
        "environment": "local",
        "race-timestamp": "20260307T000000Z",
        "message": "m",
        "accepted": accepted,
    }
    metrics_store.indices["rally-annotations"] = {"odd": note}
    code, _, err = run("trend", GATE)
    assert code == 3
    assert "annotation odd of the metrics store accepts nothing: " in err
    assert "`pacenote delete annotation --id=odd` deletes it" in err


def test_a_store_that_does_not_answer_accepts_nothing(run, store, home, metrics_store):
    metrics_store.answer = lambda request: json_response({"error": {"reason": "read-only"}}, 400)
    code, _, err = run("trend", GATE)
    assert code == 3
    assert "warning: only what was accepted on this machine is known: " in err
    code, _, err = run("trend", "accept", "--reason=x")
    assert code == 0
    assert "warning: the annotation is only on this machine: " in err
    assert run("trend", GATE)[0] == 0


def test_what_is_worse_later_fails_again(run, store):
    run("trend", "accept", "--reason=meant to be")
    for race in nights(20, rate=lambda night: 1.0 if night < 6 else 0.8 if night < 12 else 0.7)[12:]:
        store.create(race)
    code, _, err = run("trend", GATE)
    assert (code, err) == (3, "warning: --fail-on: throughput:index-append is worse\n")


def test_only_what_is_selected_is_accepted(run, store):
    code, out, err = run("trend", "accept", "--reason=x", "--metrics=p50")
    assert (code, out) == (2, "")
    assert "there is no regression to accept" in err
    assert run("trend", GATE)[0] == 3


@pytest.mark.parametrize("arguments", [("accept",), ("--reason=why",), ("n01", "--reason=why")])
def test_a_reason_and_the_word_belong_together(run, store, arguments):
    code, _, err = run("trend", *arguments)
    assert code == 2
    assert "--reason and the word accept belong together" in err


def test_an_annotation_that_cannot_be_read_accepts_nothing_and_is_named(run, store, home):
    run("trend", "accept", "--reason=x")
    (file,) = (home / "annotations").iterdir()
    document = json.loads(file.read_text())
    document["accepted"]["change"] = "much"
    file.write_text(json.dumps(document))
    code, _, err = run("trend", GATE)
    assert code == 3
    assert f"{file} is not an annotation" in err


def test_a_metric_that_is_missing_can_be_accepted(run, home):
    store = RaceStore(home)
    records = nights(9)
    for race in records[:-1]:
        store.create(race)
    store.create(replace(records[-1], tasks=records[-1].tasks[:1]))
    code, _, err = run("trend", GATE)
    assert code == 3
    assert "p90-latency:term does not count in the newest race" in err
    assert run("trend", "accept", "--reason=the search was removed")[0] == 0
    assert run("trend", GATE)[::2] == (0, "")


def test_a_void_newest_race_can_not_be_accepted(run, store):
    run("trend", "accept", "--reason=x")
    last = nights(12)[-1]
    void = Verdict("void", (Finding("30 % of the searches failed"),))
    store.create(replace(last, race_id="bad", timestamp=last.timestamp + timedelta(days=1), verdict=void))
    assert run("trend", "accept", "--reason=y")[0] == 2
    code, out, err = run("trend", GATE)
    assert (code, err) == (3, "warning: --fail-on: the newest race is void: bad\n")
    assert out.startswith(" NEWEST RACES CANNOT BE USED")
    assert run("trend")[0] == 0


def test_a_regression_before_the_data_became_other_data_is_accepted_like_any(run, home):
    store = RaceStore(home)
    for night, race in enumerate(nights(12, rate=step(6, 0.8))):
        corpus = RecordedCorpus("logs", "generated", documents=1_000 + (night == 11), bytes=1_000)
        store.create(replace(race, corpora=(corpus,)))
    code, out, err = run("trend", GATE)
    assert (code, err) == (
        3,
        "warning: --fail-on: throughput:index-append is worse in the races before\n",
    )
    assert "pacenote trend accept --reason=WHY" in " ".join(out.split())
    code, out, _ = run("trend", "accept", "--reason=the new codec")
    assert code == 0
    assert "since 2026-03-07 12:30 (n06) (annotation " in out
    assert run("trend", GATE)[0] == 0
