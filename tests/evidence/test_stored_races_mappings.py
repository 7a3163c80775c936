"""The fields that the plan of a stored race maps are not those that its documents bring."""

from __future__ import annotations

import json

import pytest

from pacenote.diagnose.facts import Window
from pacenote.evidence.stored_races import read_evidence
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.store.race_groups import find_group
from pacenote.store.race_store import RaceStore
from support.records import bulk, record

MAPPED = {"mappings": {"properties": {f"f{number}": {"type": "long"} for number in range(700)}}}
PLAN = {
    "tasks": [
        {
            "work": {
                "calls": [{"kind": "request", "method": "PUT", "path": "/books", "body": json.dumps(MAPPED)}]
            }
        }
    ]
}


@pytest.mark.parametrize(("plan", "added"), [(json.dumps(PLAN), 25), ("{", None), (None, None)])
def test_the_plan_of_the_race_is_read(plan: str | None, added: float | None) -> None:
    folder = RaceStore().create(record("race-a", tasks=(bulk(),), complete=True))
    before = {"reading.mapping.fields": "0", "reading.mapping.indices": "0"}
    after = {"reading.mapping.fields": "725", "reading.mapping.indices": "1", "index.books.uuid": "x"}
    folder.write_snapshot(RaceSnapshot(Snapshot(before), Snapshot(after)))
    if plan is not None:
        folder.write_plan(plan)
    (evidence,) = read_evidence(find_group(RaceStore(), ["race-a"]))
    assert evidence.number(Window(), "engine.fields_added") == added
