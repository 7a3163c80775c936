"""Secrets are removed from records and from errors."""

from __future__ import annotations

import traceback

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError, StoreError, TrackError
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.race_record import RaceRecord
from pacenote.model.redaction import redact_error, redact_record, stored_secrets
from pacenote.model.result import ValueSummary
from support.records import record

SECRET = "hunter-1"


@pytest.mark.parametrize("secrets", [frozenset(), frozenset({"hunter-2"})])
def test_a_record_never_contains_user_information_of_urls(secrets: frozenset[str]) -> None:
    text = "cannot use http://me:hunter-1@h/x"
    race = record(
        aborted=text,
        telemetry_errors=(text,),
        telemetry={"a": [text]},
        documents=(DocumentCheck("i", 1, None, "", text),),
        user_tags={"repository": text},
    )
    document = str(redact_record(race, secrets).to_document())
    assert document.count("cannot use http://<hidden>@h/x") >= 6
    assert "hunter-1" not in document


@pytest.mark.parametrize("name", ["version", "flavor", "build_hash", "name"])
def test_what_an_engine_repeats_in_its_description_is_hidden(name: str) -> None:
    race = record()
    race = replace(race, cluster=replace(race.cluster, **{name: f"is {SECRET}"}))
    assert getattr(redact_record(race, {SECRET}).cluster, name) == "is <hidden>"
    assert redact_record(race, ()).cluster == race.cluster


def test_names_of_nodes_are_hidden_in_keys_of_telemetry() -> None:
    race = record(
        telemetry={
            f"node.{SECRET}.load": 1,
            f"node.{SECRET.upper()}.load": 2,
            "pools": {f"a{SECRET}": [SECRET]},
        }
    )
    race = replace(race, cluster=replace(race.cluster, nodes=({"name": SECRET, SECRET: {SECRET: 1}},)))
    redacted = redact_record(race, {SECRET, SECRET.upper()})
    assert redacted.telemetry == {
        "node.<hidden>.load": 1,
        "node.<hidden>.load #2": 2,
        "pools": {"a<hidden>": ["<hidden>"]},
    }
    assert redacted.cluster.nodes == ({"name": "<hidden>", "<hidden>": {"<hidden>": 1}},)


def fail() -> None:
    try:
        raise ValueError(f"no {SECRET}", 7)
    except ValueError as cause:
        raise EngineError(f"no {SECRET}", hint=f"not {SECRET}") from cause


def test_errors_and_their_causes_are_redacted() -> None:
    with pytest.raises(EngineError) as caught:
        fail()
    assert "".join(traceback.format_exception(caught.value)).count(SECRET) == 2
    redact_error(caught.value, {SECRET})
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert (caught.value.message, caught.value.hint) == ("no <hidden>", "not <hidden>")
    several = TrackError("two", problems=(f"a {SECRET}", "b"))
    redact_error(several, {SECRET})
    assert several.problems == ("a <hidden>", "b")


def test_units_and_names_of_numbers_contain_no_secrets() -> None:
    summary = ValueSummary(count=1, min=1.0, mean=1.0, max=1.0)
    race = record(
        tasks=(
            replace(
                record().tasks[0],
                unit=f"u{SECRET}",
                values={"recall": summary, f"{SECRET}.a": summary, "<hidden>.a": summary},
            ),
        )
    )
    (task,) = redact_record(race, {SECRET}).tasks
    assert task.unit == "u<hidden>"
    assert list(task.values) == ["recall", "<hidden>.a", "<hidden>.a #2"]


def test_names_that_are_longer_without_secrets_can_still_be_read() -> None:
    summary = ValueSummary(count=1, min=1.0, mean=1.0, max=1.0)
    secret = "s3cr"
    values = {f"{secret} " * 120 + end: summary for end in "ab"}
    race = record(tasks=(replace(record().tasks[0], unit=f"{secret} " * 120, values=values),))
    race = redact_record(race, {secret})
    assert len(race.tasks[0].values) == 2
    assert RaceRecord.from_document(race.to_document()).tasks == race.tasks


def test_numbers_that_are_secrets_are_left_out() -> None:
    secret, other = (ValueSummary(count=2, min=1.0, mean=mean, max=9e7) for mean in (87654321.0, 8765432.0))
    race = record(tasks=(replace(record().tasks[0], values={"a": secret, "b": other}),))
    (task,) = redact_record(race, {"87654321"}).tasks
    assert list(task.values) == ["b"]


def test_secrets_of_stored_parameters_are_found() -> None:
    document = {
        "track-params": {"token": "hunter-1", "pwd": "<hidden>"},
        "user-tags": {"at": "http://a:pass@h"},
    }
    assert stored_secrets(document) == {"hunter-1", "pass"}
    assert stored_secrets({"track-params": None, "car-params": []}) == frozenset()


@pytest.mark.parametrize(("count", "length"), [(100, 12), (1, 16 << 10)])
def test_more_secrets_than_a_race_has_are_refused(count: int, length: int) -> None:
    secrets = [f"{number:0{length}}" for number in range(count)]
    assert stored_secrets({"car-params": {"password": secrets}}) == set(secrets)
    more = {"track-params": {"password": "one more"}, "car-params": {"password": secrets}}
    with pytest.raises(StoreError, match=r"track-params, .*: more than 100 secrets, or 16,384 characters"):
        stored_secrets(more)
