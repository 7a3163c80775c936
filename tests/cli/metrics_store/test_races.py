"""A race that has ended is written to the metrics store; it is never worse off for that."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from metrics_store.test_samples import SAMPLE, write
from pacenote.model.imported import ImportedResults
from pacenote.model.result import SampleCounts
from pacenote.store.race_store import RaceStore
from support.http_server import json_response
from support.metrics_store import FakeStore
from support.records import record, task

IMPORTED = ImportedResults("rally", "race", "race.json", "0" * 64)


@pytest.fixture
def race(run, fake_race):
    """Runs a race that leaves a folder with samples."""

    def races(request, listener):
        raced = replace(record(request.race_id), tasks=(task("t", samples=SampleCounts(kept=2)),), **changes)
        folder = RaceStore(request.home).create(raced)
        write(folder.samples, [SAMPLE, SAMPLE._replace(sample_type="warmup")])
        folder.finish(raced)
        return raced

    changes = {}
    fake_race(races)

    def race(*arguments, **given):
        changes.update(given)
        return run("race", "--track=x", "--race-id=r1", *arguments)

    return race


def lines(err: str) -> str:
    return "\n".join(line for line in err.splitlines() if "metrics store" in line)


def test_a_race_is_in_the_store_when_it_has_ended(race, metrics_store):
    code, _, err = race()
    assert code == 0
    counts = {name: len(documents) for name, documents in metrics_store.indices.items()}
    assert list(counts) == ["rally-metrics-v1", "rally-results-v1", "rally-races-v1"]
    assert lines(err).startswith(f"metrics store {metrics_store.url}: {sum(counts.values())} documents in ")
    (stored,) = metrics_store.documents("rally-races-v1")
    assert (stored["race-id"], stored["track"]) == ("r1", "http_logs")
    metrics = metrics_store.documents("rally-metrics-v1")
    latencies = [one["sample-type"] for one in metrics if one["name"] == "latency"]
    assert latencies == ["normal", "warmup"]


@pytest.mark.parametrize("changes", [{"complete": False, "aborted": "the engine died"}])
def test_a_race_that_did_not_end_is_not_written(race, metrics_store, changes):
    race(**changes)
    assert metrics_store.requests == []


def test_a_race_without_a_store_writes_nothing(race, metrics_store):
    code, _, err = race("--no-metrics-store")
    assert (code, metrics_store.requests, lines(err)) == (0, [], "")


def refusing(status: int, reason: str, path: str = ""):
    return lambda request: (
        json_response({"error": {"reason": reason}}, status) if path in request.path else None
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refusing(401, "no"), "refuses requests without credentials (status 401 for GET /)"),
        (refusing(400, "unknown setting [a]", "_component_template"), "with status 400: unknown setting [a]"),
        (lambda request: json_response({}), "is not Elasticsearch or OpenSearch"),
    ],
)
def test_a_store_that_refuses_is_one_warning_and_the_race_is_kept(
    race, run, metrics_store: FakeStore, answer, message
):
    metrics_store.answer = answer
    code, _, err = race()
    assert code == 0
    (warning,) = lines(err).splitlines()
    assert warning.startswith("warning: the race is not completely in the metrics store: ")
    assert message in warning
    assert warning.endswith("pacenote export r1 --to-store`")
    assert "r1" in run("list", "races", "--no-metrics-store")[1]


def test_refused_documents_are_counted_with_the_reason(race, metrics_store):
    def refuse(request):
        if "metrics" not in request.path or not request.path.endswith("_bulk"):
            return None
        error = {"type": "mapper_parsing_exception", "reason": "failed to parse [meta]"}
        count = request.body.count(b"\n") // 2
        return json_response({"errors": True, "items": [{"create": {"status": 400, "error": error}}] * count})

    metrics_store.answer = refuse
    code, _, err = race()
    assert code == 0
    assert "it refused 1" in lines(err)
    assert "documents: failed to parse [meta]; later: `" in lines(err)


def test_samples_that_cannot_be_read_do_not_prevent_the_rest(run, fake_race, metrics_store):
    def damaged(request, listener):
        folder = RaceStore(request.home).create(record(request.race_id))
        folder.samples.write_bytes(b"PAR1 damaged PAR1")
        folder.finish(record(request.race_id))
        return record(request.race_id)

    fake_race(damaged)
    code, _, err = run("race", "--track=x", "--race-id=r1")
    assert code == 0
    assert "warning: not in the metrics store: samples: " in err
    assert "samples.parquet is damaged: " in err
    assert len(metrics_store.documents("rally-races-v1")) == 1


def test_what_the_store_did_not_get_is_exported_later(race, run, metrics_store):
    metrics_store.answer = refusing(401, "no")
    race()
    run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=new disks")
    assert metrics_store.indices == {}
    metrics_store.answer = lambda request: None
    code, out, err = run("export", "r1", "--to-store")
    assert (code, out) == (0, "")
    assert err.startswith(f"metrics store {metrics_store.url}: ")
    assert err.endswith(f"metrics store {metrics_store.url}: 1 annotation added\n")
    before = {name: dict(documents) for name, documents in metrics_store.indices.items()}
    assert len(before["rally-races-v1"]) == len(before["rally-annotations"]) == 1
    assert run("export", "r1", "--to-store")[0] == 0
    assert metrics_store.indices == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ()}, "not exported: race odd has measured nothing"),
        ({"imported": IMPORTED}, "not exported: race odd was imported"),
    ],
)
def test_a_race_without_documents_is_not_exported(run, home, metrics_store, changes, message):
    odd = replace(record("odd"), **changes)
    RaceStore(home).create(odd).finish(odd)
    code, _, err = run("export", "odd", "--to-store")
    assert (code, metrics_store.requests) == (64, [])
    assert message in err
    assert "no race was written to the metrics store" in err


def test_refused_documents_of_an_export_change_the_exit_code(race, run, metrics_store):
    race("--no-metrics-store")
    error = {"type": "mapper_parsing_exception", "reason": "failed to parse [meta]"}
    items = [{"create": {"status": 400, "error": error}}]

    def refuse(request):
        count = request.body.count(b"\n") // 2
        reply = {"errors": True, "items": items * count}
        return json_response(reply) if request.path.endswith("_bulk") else None

    metrics_store.answer = refuse
    code, _, err = run("export", "r1", "--to-store")
    assert code == 64
    assert "race r1 is not completely in the metrics store: it refused " in err


def test_an_export_to_the_store_needs_one_and_has_no_format(run, home, race, metrics_store):
    code, _, err = run("export", "r1", "--to-store", "--no-metrics-store")
    assert (code, "--to-store needs a metrics store" in err) == (2, True)
    code, _, err = run("export", "r1", "--to-store", "--format=csv")
    assert (code, "omit --format and --output" in err) == (2, True)
