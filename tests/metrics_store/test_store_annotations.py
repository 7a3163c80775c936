"""Annotations in a store have Rally's keys."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.metrics_store.client import StoreUnavailable
from pacenote.metrics_store.store_annotations import StoreAnnotations
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.store.annotations import Annotation
from support.http_server import json_response
from support.metrics_store import fake_store

NOTE = Annotation(
    annotation_id="a1",
    race_timestamp="20260301T000000Z",
    message="new disks",
    track="nyc_taxis",
    chart_type="io",
)


def test_an_annotation_is_added_listed_and_deleted():
    with fake_store() as store:
        notes = StoreAnnotations(store.client())
        assert notes.list() == []
        notes.add(NOTE)
        later = Annotation(annotation_id="a2", race_timestamp="20260302T000000Z", message="m")
        notes.add(later)
        assert notes.list() == [later, NOTE]
        assert store.documents("rally-annotations")[0] == {
            "environment": "local",
            "race-timestamp": "20260301T000000Z",
            "track": "nyc_taxis",
            "chart": "io",
            "chart-name": None,
            "message": "new disks",
        }
        assert (notes.delete("a1"), notes.delete("a1")) == (True, False)


def test_an_accepted_regression_is_read_back():
    accepted = AcceptedRegression("n06", "throughput:index", -0.2, "the codec")
    missing = AcceptedRegression("n07", "p99:term", None, "removed")
    with fake_store() as store:
        notes = StoreAnnotations(store.client())
        for number, regression in enumerate((accepted, missing)):
            notes.add(replace(NOTE, annotation_id=f"a{number}", accepted=regression))
        assert {note.accepted for note in notes.list()} == {accepted, missing}


def test_ids_of_other_programs_are_one_part_of_the_path():
    with fake_store(answer=lambda request: json_response({})) as store:
        StoreAnnotations(store.client()).delete("../../rally-races-v1?x")
        assert store.requests[0].path == "/rally-annotations/_doc/..%2F..%2Frally-races-v1%3Fx"


@pytest.mark.parametrize("annotation_id", [".", ".."])
def test_an_id_that_would_lead_to_the_index_deletes_nothing(annotation_id: str) -> None:
    with fake_store(answer=lambda request: json_response({})) as store:
        with pytest.raises(UsageError, match="_delete_by_query"):
            StoreAnnotations(store.client()).delete(annotation_id)
        assert store.requests == []


def test_the_index_has_rallys_template():
    with fake_store() as store:
        StoreAnnotations(store.client()).add(NOTE)
        template = store.templates["/_index_template/rally-annotations"]
        assert template["index_patterns"] == ["rally-annotations"]
        properties = template["template"]["mappings"]["properties"]
        assert properties["race-timestamp"]["format"] == "basic_date_time_no_millis"
        assert properties["message"] == {"type": "keyword"}


def test_a_store_that_refuses_is_an_error():
    refusal = json_response({"error": {"reason": "read-only"}}, 400)
    with fake_store(answer=lambda request: refusal) as store:
        notes = StoreAnnotations(store.client())
        for call in (notes.list, lambda: notes.add(NOTE), lambda: notes.delete("a")):
            with pytest.raises(StoreUnavailable, match="read-only"):
                call()
