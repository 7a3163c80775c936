"""`pacenote delete`: races and annotations."""

from __future__ import annotations

import pytest

from pacenote.store.race_store import RaceStore
from support.records import record


@pytest.fixture
def races(home):
    store = RaceStore(home)
    for name in ("abc-1", "abc-2", "xyz"):
        store.create(record(name)).finish(record(name))
    return home / "races"


def folders(races):
    return sorted(path.name for path in races.iterdir() if path.is_dir())


def test_races_are_deleted_by_id_or_unique_prefix(run, races):
    assert run("delete", "race", "--id=abc-1,x,xyz") == (0, "deleted race abc-1\ndeleted race xyz\n", "")
    assert folders(races) == ["abc-2"]
    assert "xyz" not in run("list", "races")[1]


def test_a_dry_run_deletes_nothing(run, races):
    assert run("delete", "race", "--id=xyz", "--dry-run") == (0, "would delete race xyz\n", "")
    assert folders(races) == ["abc-1", "abc-2", "xyz"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["race", "--id=xyz,nope"], 64, "no race 'nope'"),
        (["race", "--id=xyz,abc"], 64, "'abc' matches 2 races"),
        (["race", "--id="], 2, "--id is empty"),
        (["race"], 2, "the following arguments are required: --id"),
        (["races", "--id=xyz"], 2, "cannot delete 'races'\nhint: did you mean race?"),
        (["annotation", "--id=nope"], 64, "there is no annotation 'nope'"),
    ],
)
def test_nothing_is_deleted_if_something_is_wrong(run, races, arguments, code, message):
    exit_code, out, err = run("delete", *arguments)
    assert (exit_code, out) == (code, "")
    assert err.startswith(f"error: {message}")
    assert folders(races) == ["abc-1", "abc-2", "xyz"]
