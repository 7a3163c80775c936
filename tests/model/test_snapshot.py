"""Snapshots: what changed while a race ran, and their document."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from msgspec.structs import replace

from pacenote.errors import PacenoteError
from pacenote.model.redaction import redact_snapshot
from pacenote.model.snapshot import RaceSnapshot, RecordedSnapshot, Snapshot, UnreadGroups
from pacenote.verdict.determine import determine_verdict
from support.records import record

BEFORE = Snapshot(
    {"sysctl.a": "1", "sysctl.b": "1", "reading.load": "1", "index.logs.codec": "x"}, {"cpu.*": "no"}
)


def test_what_changed_is_configuration_that_was_read_both_times() -> None:
    after = Snapshot({"sysctl.a": "2", "reading.load": "9", "index.logs.codec": "y", "sysctl.new": "1"})
    assert RaceSnapshot(BEFORE, after).changes() == {"sysctl.a": ("1", "2")}
    assert RaceSnapshot(BEFORE).changes() == {}


def test_an_entry_that_is_too_long_for_a_pattern_is_not_compiled() -> None:
    unread = {"node.*.process": "no", "*b" * 5_000_000: "takes gigabytes"}
    tracemalloc.start()
    try:
        assert list(UnreadGroups(unread).of("node.n0.process")) == ["node.*.process"]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("after", [None, Snapshot({"a": "b"})])
def test_a_snapshot_survives_a_round_trip_through_json(after: Snapshot | None) -> None:
    snapshot = RaceSnapshot(BEFORE, after)
    assert RaceSnapshot.from_document(json.loads(json.dumps(snapshot.to_document()))) == snapshot


@pytest.mark.parametrize("document", [None, [], {"format": 99}, {"format": 1, "before": {"facts": 3}}])
def test_documents_in_another_form_are_rejected(document: object) -> None:
    with pytest.raises(PacenoteError):
        RaceSnapshot.from_document(document)


def test_secrets_are_hidden_in_values_and_in_keys() -> None:
    snapshot = Snapshot({"a.-javaagent:x=hunter22": "set", "b": "x hunter22"}, {"c": "no hunter22"})
    hidden = redact_snapshot(RaceSnapshot(snapshot, snapshot), frozenset({"hunter22"}))
    assert "hunter22" not in str(hidden)
    assert len(hidden.before.facts) == 2


def test_keys_that_are_equal_without_secrets_are_numbered() -> None:
    snapshot = Snapshot({"node.hunter22.x": "1", "node.hunter33.x": "2"})
    hidden = redact_snapshot(RaceSnapshot(snapshot, None), frozenset({"hunter22", "hunter33"}))
    assert hidden.before.facts == {"node.<hidden>.x": "1", "node.<hidden>.x #2": "2"}


def test_a_machine_that_was_reconfigured_makes_a_race_suspect_and_an_engine_does_not() -> None:
    snapshot = RecordedSnapshot("snapshot.json", 9, 0, ("setting.x: 1 → 2",))
    assert determine_verdict(record(snapshot=snapshot)).state == "valid"
    snapshot = replace(
        snapshot, changed=("sysctl.vm.swappiness: 60 → 1", "cpu.online: 0-1 → 0", "setting.x: 1 → 2")
    )
    verdict = determine_verdict(record(snapshot=snapshot))
    assert verdict.state == "suspect"
    assert verdict.reasons == (
        "the machine was reconfigured while the race ran: sysctl.vm.swappiness: 60 → 1 and 1 more: "
        "repeat the race without changing the machine",
    )
