"""`--quality` on the command line and in configuration files."""

from __future__ import annotations

import pytest

from compare.quality_races import quality_blocks
from pacenote.store.race_store import RaceStore

SIDES = ("--baseline=race-0", "--contender=race-1")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Two stored races of a search whose runner returns `recall`, and the home."""
    monkeypatch.chdir(tmp_path)
    (old,), (new,) = quality_blocks({"recall": 0.9}, {"recall": 0.9}, count=1)
    for number, race in enumerate((old, new)):
        document = race.to_document() | {"race-id": f"race-{number}"}
        RaceStore().create(type(race).from_document(document))
    return RaceStore().home


@pytest.mark.parametrize("command", [("trend",), ("compare", *SIDES)])
def test_only_a_direction_of_the_command_line_needs_its_metric(run, stored, command):
    code, _, err = run(*command, "--quality=recal=higher")
    assert code == 2
    assert "--quality=recal=higher: the races have no" in err
    (stored / "pacenote.toml").write_text(f'[{command[0]}]\nquality = "recal=higher,hits=neutral"\n')
    code, out, err = run(*command)
    assert code == 0, err
    assert "recall" in out
    code, _, err = run(*command, "--quality=recal=lower")
    assert code == 2
    assert "--quality=recal=lower: the races have no" in err
