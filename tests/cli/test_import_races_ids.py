"""No imported or copied race takes the place of another one that users name by the beginning of its id."""

from __future__ import annotations

import json
import shutil

import pytest

from importers.samples import race_document
from pacenote.store.race_store import RaceStore
from support.records import record

STORED = "3f2a9c41-1111-4222-8333-123456789abc"


def import_race(run, tmp_path, race_id, **more):
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps(race_document(**{"race-id": race_id, **more})))
    return run("import", path), path


def stored_race(race_id):
    race = record(race_id)
    RaceStore().create(race).finish(race)


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        (STORED, STORED[:8]),
        (STORED, STORED[:4]),
        (STORED, STORED[:-1]),
        ("release-3.0-baseline", "release-3.0"),
        # An id that Pacenote chose is shown as the other one.
        (STORED[:8], STORED),
        (STORED[:12], STORED),
    ],
)
def test_an_imported_id_that_is_taken_for_a_stored_one_is_replaced(run, tmp_path, stored, given):
    stored_race(stored)
    (code, out, _), path = import_race(run, tmp_path, given)
    assert (code, f"the id '{given}' cannot be kept" in out) == (0, True)
    _, out, _ = run("report", stored[:8], "--report-format=csv-full")
    assert out.splitlines()[1].endswith(f",{stored}")
    _, out, _ = run("delete", "race", f"--id={stored[:8]}", "--dry-run")
    assert out.strip() == f"would delete race {stored}"
    # The same file gives the same id, also when nothing looks like it any more.
    run("delete", "race", f"--id={stored}")
    code, out, _ = run("import", path)
    assert (code, out[:16]) == (0, "already imported")


@pytest.mark.parametrize(("stored", "given"), [("run-1", "run-10"), ("3", STORED), ("ru", "run-1")])
def test_an_imported_id_that_is_only_longer_is_kept(run, tmp_path, stored, given):
    stored_race(stored)
    (code, out, _), _ = import_race(run, tmp_path, given)
    assert (code, "cannot be kept" in out) == (0, False)
    # It stays the same when races are stored later that begin with it.
    (code, out, _), path = import_race(run, tmp_path, "nightly")
    stored_race("nightly-2")
    assert run("import", path)[1].startswith("already imported: nightly")


def test_a_copied_race_with_the_short_form_of_an_id_is_ambiguous(run):
    stored_race(STORED)
    races = RaceStore().races
    shutil.copytree(races / STORED, races / STORED[:8])
    text = (races / STORED[:8] / "race.json").read_text()
    (races / STORED[:8] / "race.json").write_text(text.replace(STORED, STORED[:8]))
    for command in (
        ("report", STORED[:8]),
        ("delete", "race", f"--id={STORED[:8]}"),
        ("export", STORED[:8], "--format=csv"),
        ("compare", f"--baseline={STORED[:8]}", f"--contender={STORED}"),
        ("diagnose", STORED[:8]),
    ):
        code, out, err = run(*command)
        assert (code, out) == (64, "")
        assert f"'{STORED[:8]}' is the id of a race, and the beginning of that of race {STORED}" in err
    assert run("report", STORED[:9])[0] == 0
    assert len(json.loads(run("list", "races", "--format=json")[1])["races"]) == 2


def test_ids_that_look_alike_are_longer_in_comparisons(run):
    other = STORED[:12] + "f" + STORED[13:]
    stored_race(STORED)
    stored_race(other)
    _, out, _ = run("compare", f"--baseline={STORED}", f"--contender={other}", "--report-format=markdown")
    assert f"race {STORED[:13]}, " in out
    assert f"race {other[:13]}, " in out
