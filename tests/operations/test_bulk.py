"""The files, parameters and problems of `bulk` operations."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from operations.compiling import LIBRARY, MIXED, STREAMS, compiled, context, refused, track
from pacenote.model.assertion import Assertion, AssertionOperator
from pacenote.model.work import (
    ActionInFile,
    ActionLine,
    ActionWithId,
    BulkFile,
    BulkWork,
    ConflictSettings,
    IdOrder,
    IngestDocuments,
    IngestShare,
    OnConflict,
)
from pacenote.operations.base import CompiledOperation

EVERYTHING = track(corpora=(LIBRARY, STREAMS, MIXED))


def bulk(**params: Any) -> BulkWork:
    work = compiled("bulk", EVERYTHING, **{"bulk_size": 100, **params}).work
    assert isinstance(work, BulkWork)
    return work


def test_a_bulk_indexes_all_corpora_by_default() -> None:
    work = bulk()
    assert work.files == (
        BulkFile("/d/library/one.json", 7, ActionLine('{"index":{"_index":"books"}}')),
        BulkFile("/d/library/two.json", 7, ActionLine('{"index":{"_index":"films"}}')),
        BulkFile("/d/streams/s.json", 7, ActionLine('{"create":{"_index":"events"}}'), corpus=1),
        BulkFile("/d/mixed/m.json", 7, ActionInFile(), corpus=2),
    )
    assert (work.path, work.bulk_size, work.limit, work.looped, work.timeout_ms) == (
        "/_bulk",
        100,
        IngestShare(1.0),
        False,
        None,
    )
    assert work.headers == (("content-type", "application/x-ndjson"),)


@pytest.mark.parametrize("fields", ["took", "items.*.error,took", "-errors", "*,-err*"])
def test_a_response_without_the_field_errors_is_refused(fields: str) -> None:
    (problem,) = refused("bulk", EVERYTHING, bulk_size=100, request_params={"filter_path": fields})
    text = f'"{fields}", but must include errors, which tells whether documents were rejected'
    assert problem == f"operations[0].request-params.filter_path is {text}"


@pytest.mark.parametrize("fields", ["errors", "took,errors", "e*,items.*.error", "-items.*.index._id", "*"])
def test_a_response_with_the_field_errors_is_accepted(fields: str) -> None:
    assert "filter_path=" in bulk(request_params={"filter_path": fields}).path


def test_work_is_counted_in_documents_and_the_source_is_finite() -> None:
    result = compiled("bulk", EVERYTHING, bulk_size=100)
    assert result == CompiledOperation(result.work, weight=100, unit="docs", until_exhausted=True)
    assert not compiled("bulk", EVERYTHING, bulk_size=100, looped=True).until_exhausted


@pytest.mark.parametrize(
    ("params", "files"),
    [
        ({"corpora": "streams"}, ["s"]),
        ({"corpora": ["library", "mixed"]}, ["one", "two", "m"]),
        ({"indices": ["films"]}, ["two"]),
        ({"indices": "books"}, ["one"]),
        ({"data-streams": ["events"]}, ["s"]),
    ],
)
def test_a_bulk_reads_only_the_selected_files(params: dict[str, Any], files: list[str]) -> None:
    assert [file.path.split("/")[-1].removesuffix(".json") for file in bulk(**params).files] == files


def test_parameters_become_the_query_and_headers() -> None:
    work = bulk(
        pipeline="p q", refresh="wait_for", timeout="30s", request_params={"require_alias": True},
        headers={"Content-Type": "application/json"}, opaque_id="x", request_timeout=2,
    )  # fmt: skip
    assert work.path == "/_bulk?require_alias=true&pipeline=p%20q&timeout=30s&refresh=wait_for"
    assert work.headers == (("content-type", "application/json"), ("x-opaque-id", "x"))
    assert work.timeout_ms == 2000


@pytest.mark.parametrize(("refresh", "text"), [(True, "true"), (False, "false"), ("true", "true")])
def test_refresh_may_be_a_boolean_or_text(refresh: object, text: str) -> None:
    assert bulk(refresh=refresh).path == f"/_bulk?refresh={text}"


@pytest.mark.parametrize(("percentage", "share"), [(100, 1.0), (50, 0.5), (0.01, 0.0001)])
def test_ingest_percentage_limits_the_documents_to_a_share(percentage: float, share: float) -> None:
    assert bulk(ingest_percentage=percentage).limit == IngestShare(pytest.approx(share))


def test_conflicts_are_generated_as_configured() -> None:
    assert bulk(corpora="library", conflicts="random").conflicts == ConflictSettings(
        IdOrder.RANDOM, 0.25, OnConflict.INDEX, 0.0
    )
    work = bulk(
        corpora="library", conflicts="sequential", conflict_probability=100, on_conflict="update", recency=0.5
    )
    assert work.conflicts == ConflictSettings(IdOrder.SEQUENTIAL, 1.0, OnConflict.UPDATE, 0.5)
    assert [file.action for file in work.files] == [ActionWithId("books"), ActionWithId("films")]
    assert bulk(conflicts="").conflicts is None


def test_ingest_doc_count_limits_the_documents_to_a_number() -> None:
    assert bulk(bulk_size=2, ingest_doc_count=6).limit == IngestDocuments(6)
    three = context(EVERYTHING, clients=3)
    assert compiled("bulk", three, bulk_size=2, ingest_doc_count=12).work.limit == IngestDocuments(12)
    assert refused("bulk", three, bulk_size=2, ingest_doc_count=10) == (
        "operations[0].ingest-doc-count is 10, but must be a multiple of 6, "
        "which is bulk-size times 3 clients",
    )


def test_rejected_documents_are_sent_again_if_configured() -> None:
    assert bulk(retries_on_429=3).retries_on_429 == 3
    assert bulk().retries_on_429 == 0


def test_parameters_without_effect_are_accepted() -> None:
    assert bulk(batch_size=200, **{"#COMMENT": "x"}) == bulk()


def test_detailed_results_are_kept() -> None:
    assert bulk(detailed_results="true") == replace(bulk(), detailed_results=True)


def test_numbers_may_be_text() -> None:
    """Templates often write numbers in quotes."""
    limited = bulk(bulk_size="100", batch_size="200", ingest_percentage="12.5")
    assert limited == bulk(bulk_size=100, batch_size=200, ingest_percentage=12.5)
    conflicts = {"conflicts": "random", "corpora": "library"}
    repeating = bulk(**conflicts, conflict_probability="40", recency="0.5")
    assert repeating == bulk(**conflicts, conflict_probability=40, recency=0.5)
    assert bulk(ingest_doc_count="20", bulk_size="10") == bulk(ingest_doc_count=20, bulk_size=10)


def test_assertions_about_a_bulk_are_compiled() -> None:
    assertions = [
        {"property": "error-count", "condition": "==", "value": 0},
        {"property": "ops.index.created", "condition": ">", "value": 1},
    ]
    work = compiled("bulk", context(EVERYTHING, assertions=True), bulk_size=100, assertions=assertions).work
    assert isinstance(work, BulkWork)
    assert work.assertions == (
        Assertion("error-count", ("error-count",), AssertionOperator.EQUAL, 0, in_details=True),
        Assertion("ops.index.created", ("ops.index.created",), AssertionOperator.GREATER, 1, in_details=True),
    )
    wrong = [{"property": "errors", "condition": "==", "value": 0}]
    (problem,) = refused("bulk", context(EVERYTHING, assertions=True), bulk_size=100, assertions=wrong)
    assert '"errors", which bulk does not report' in problem


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"bulk_size": None}, "operations[0].bulk-size is missing"),
        ({"bulk_size": 0}, "operations[0].bulk-size is 0, but must be at least 1"),
        ({"bulk_size": "5k"}, 'operations[0].bulk-size is "5k", but must be a whole number'),
        ({"ingest_percentage": "half"}, 'operations[0].ingest-percentage is "half", but must be a number'),
        ({"ingest_percentage": "nan"}, "operations[0].ingest-percentage is "),
        (
            {"batch_size": 150},
            "operations[0].batch-size is 150, but must be a multiple of bulk-size, which is 100",
        ),
        (
            {"corpora": "libary"},
            'operations[0].corpora names "libary", which is not a corpus of the track (did',
        ),
        ({"indices": ["x"]}, 'operations[0] has no documents to index; corpora of the track: "library"'),
        ({"ingest_percentage": 0}, "operations[0].ingest-percentage is 0, but must be more than 0"),
        ({"ingest_percentage": 101}, "operations[0].ingest-percentage is 101, but must be at most 100"),
        ({"refresh": "maybe"}, 'operations[0].refresh is "maybe", but must be one of true, wait_for, false'),
        ({"looped": "often"}, 'operations[0].looped is "often", but must be true or false'),
        (
            {"ingest_doc_count": 150},
            "operations[0].ingest-doc-count is 150, but must be a multiple of bulk-size, which is 100",
        ),
        (
            {"ingest_doc_count": 100},
            "operations[0].ingest-doc-count is 100, but there are only 28 documents",
        ),
        (
            {"ingest_doc_count": 100, "ingest_percentage": 5},
            "operations[0].ingest-doc-count cannot be used together with ingest-percentage",
        ),
        ({"conflicts": "often"}, 'operations[0].conflicts is "often", but must be one of sequential, random'),
        (
            {"conflicts": "random"},
            "operations[0].conflicts cannot be used with a data stream, which s.json is written to",
        ),
        (
            {"conflicts": "random"},
            "operations[0].conflicts cannot be used with m.json, whose action lines are in the file",
        ),
        (
            {"conflicts": "random", "corpora": "library", "on_conflict": "drop"},
            'operations[0].on-conflict is "drop", but must be one of index, update',
        ),
        (
            {"conflicts": "random", "corpora": "library", "conflict_probability": 101},
            "operations[0].conflict-probability is 101, but must be at most 100",
        ),
        (
            {"conflicts": "random", "corpora": "library", "recency": 2},
            "operations[0].recency is 2, but must be at most 1",
        ),
    ],
)
def test_invalid_parameters_are_reported(params: dict[str, Any], problem: str) -> None:
    assert any(
        found.startswith(problem) for found in refused("bulk", EVERYTHING, **{"bulk_size": 100, **params})
    )
