"""No imported or copied race takes the place of another one that users name by the beginning of its id."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime

import pytest

from importers.samples import race_document
from pacenote.importers.documents import races_in_document
from pacenote.importers.records import ImportedFile, race_records
from pacenote.store.race_store import RaceStore, is_race_id
from support.records import record

STORED = "3f2a9c41-1111-4222-8333-123456789abc"
FILE = ImportedFile("races.txt", "ab" * 32, datetime(2026, 1, 2, tzinfo=UTC))


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
        (STORED, STORED[:9]),
        (STORED, STORED[:-1]),
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


ALIKE = (
    *(("run-1", "run-10"), ("ru", "run-1"), ("release-3.0", "release-3.0-baseline"), ("3", STORED)),
    # As long as a short form, but not of an id that Pacenote chose.
    *((STORED[:7], STORED), (STORED[:8], f"{STORED[:8]}-nightly"), (STORED, f"{STORED}-2")),
    *((STORED[:8].upper(), STORED), (STORED[:12], f"{STORED[:12]}g")),
)
"""Ids of which one begins with the other, but is not shown as that."""


@pytest.mark.parametrize("pair", ALIKE)
def test_ids_that_are_not_short_forms_are_kept_in_any_order(run, tmp_path, pair):
    for stored, given in (pair, pair[::-1]):
        stored_race(stored)
        (code, out, _), path = import_race(run, tmp_path, given)
        assert (code, "cannot be kept" in out) == (0, False)
        for race_id in pair:
            assert RaceStore().folder(race_id).path.name == race_id
        assert run("import", path)[1].startswith("already imported: ")
        for race_id in pair:
            RaceStore().delete(RaceStore().exact_folder(race_id))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("nightly-10", "nightly-1", "nightly"), {"nightly-10", "nightly-1", "nightly"}),
        ((STORED[:7], STORED), {STORED[:7], STORED}),
        ((STORED[:8], STORED), set()),
        ((STORED, STORED[:8]), set()),
    ],
)
def test_ids_of_one_file_are_kept_unless_one_is_shown_as_the_other(given, kept):
    documents = (race_document(**{"race-id": race_id}) for race_id in given)
    races = [race for document in documents for race in races_in_document(document)[0]]
    ids = [race.record.race_id for race in race_records(tuple(races), FILE, {}, is_race_id)]
    assert set(given).intersection(ids) == kept
    assert len(set(ids)) == len(given)


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
