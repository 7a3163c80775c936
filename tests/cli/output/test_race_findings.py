from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.output.race_findings import race_evidence, show_findings
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.store.race_store import RaceStore
from support.records import bulk, record

SMALL = 128 << 20
LARGE = 1 << 30


def printed(race: RaceRecord, initial_heap: int) -> str:
    """Stores a race whose heap may grow to 1 GB, and returns what is printed about it."""
    flag = "node.n0.jvm.flag"
    facts = {
        "node.n0.jvm.vm_name": "OpenJDK VM",
        f"{flag}.InitialHeapSize": str(initial_heap),
        f"{flag}.MaxHeapSize": str(LARGE),
    }
    folder = RaceStore().create(race)
    folder.write_snapshot(RaceSnapshot(Snapshot(facts)))
    err = io.StringIO()
    console = Console(io.StringIO(), err)
    show_findings(race, race_evidence(race, folder.path, console).diagnosis, console)
    return err.getvalue()


@pytest.fixture(name="race")
def complete_race() -> RaceRecord:
    return record("race-a", tasks=(bulk(error_rate=0.0, errors=()),), complete=True)


def test_a_race_ends_with_its_findings_in_a_line_each(race: RaceRecord) -> None:
    lines = printed(race, SMALL).splitlines()
    assert len(lines) == 2
    assert "H2: the heap is resized while the engine runs: the heap begins with 128.0 MiB" in lines[0]
    assert lines[1].endswith("pacenote diagnose race-a")


def test_a_race_without_findings_and_one_that_has_not_ended_say_nothing(race: RaceRecord) -> None:
    assert printed(race, LARGE) == ""
    assert printed(replace(race, race_id="race-b", complete=False), SMALL) == ""
