"""`pacenote report`: the report of a stored race."""

import pytest

from pacenote.store.race_store import RaceStore
from support.records import record, task


@pytest.fixture
def races():
    store = RaceStore()
    for day, name in enumerate(("abc-1", "abc-2"), start=1):
        store.create(record(name, timestamp=record().timestamp.replace(day=day)))
    return store


def test_a_report_is_printed_again(run, races):
    for arguments in (("abc-2",), ("latest", "--quiet", "--offline")):
        code, out, err = run("report", *arguments)
        assert (code, err) == (0, "")
        assert "- Race ID: abc-2" in out
        assert "99.9th percentile service time" in out


def test_the_report_of_a_killed_race_has_its_finished_tasks(run):
    RaceStore().create(record("killed", tasks=(), complete=False)).append(task())
    code, out, _ = run("report", "killed")
    assert code == 0
    assert "Mean Throughput" in out
    assert "- Reason: the race has not finished" in out


def test_an_unknown_or_ambiguous_race_is_an_error(run, races):
    assert run("report", "nope")[0] == 64
    code, _, err = run("report", "abc")
    assert code == 64
    assert err.startswith("error: 'abc' matches 2 races: abc-1, abc-2\nhint: give more characters of the id")
