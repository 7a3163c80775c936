"""Records of other races under the ids of an experiment: they do not count as its races."""

import json
import shutil
from datetime import timedelta

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import Lab, index, pair, search
from pacenote.lab.child_command import ChildExit
from pacenote.lab.planned_record import PlannedRecord
from pacenote.lab.race_child import RaceCall, race_end
from pacenote.model.imported import ImportedResults
from pacenote.store.race_folder import RaceFolder
from support.records import BEGAN

OTHERS = {
    "imported": {"imported": ImportedResults("rally", "race", "f", "0" * 64)},
    "seed": {"seed": 999},
    "experiment": {"user_tags": {"experiment": "other-1", "variant": "b", "block": "3"}},
    "variant": {"user_tags": {"experiment": "heap-1", "variant": "c", "block": "3"}},
    "block": {"user_tags": {"experiment": "heap-1", "variant": "b", "block": "9"}},
    "untagged": {"user_tags": {"anything": "x"}},
    "earlier": {"timestamp": BEGAN},
}
"""What tells the record of another race from that of a planned one."""


def put(lab, race_id, options, **changes):
    """Stores a complete race of others under an id: it is what was planned, apart from the changes."""
    lab.runner.store(RaceCall(race_id, options, lab.folder.path, lab.folder.path, lab.folder.path))
    folder = RaceFolder(lab.races.races / race_id)
    foreign = replace(folder.read(), tasks=(index(90_000.0), search()), **changes)
    folder.race_json.write_text(json.dumps(foreign.to_document()))


def rates(lab):
    read = [race.record for race in evaluated(lab)[0].read.values()]
    return [one.tasks[0].throughput.median for one in read]


def evaluated(lab):
    evaluation = lab.evaluation
    return evaluation, evaluation.result(lab.progress())


@pytest.mark.parametrize("other", OTHERS)
def test_a_record_that_was_copied_in_after_a_kill_is_not_the_race(tmp_path, other):
    lab = Lab.of(tmp_path, pair())
    lab.run_until_killed(6)
    put(lab, "heap-1-006", lab.runner.calls[-1].options, **OTHERS[other])
    lab.runner.before = lambda _call: None
    end = lab.run()
    assert [call.race_id for call in lab.runner.calls[6:]] == ["heap-1-006.2"]
    assert end.progress.ends[6].race_id == "heap-1-006.2"
    (line,) = [text for text in lab.events.told if text.startswith("warning")]
    assert line.startswith(
        "warning: race 6 (heap-1-006) does not count: its record is that of another race: "
    )
    assert line.endswith(": it is repeated")
    assert max(rates(lab)) < 20_000


def test_a_race_that_was_complete_when_it_was_killed_counts_also_after_a_small_step_of_the_clock(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.run_until_killed(6)
    started = lab.folder.journal()[-1].at
    put(lab, "heap-1-006", lab.runner.calls[-1].options)
    path = lab.races.races / "heap-1-006" / "race.json"
    stored = RaceFolder(path.parent).read()
    planned = lab.progress().planned_record("heap-1-006")
    began = stored.timestamp.fromisoformat(started)
    assert planned.problem(replace(stored, timestamp=began - timedelta(seconds=59))) == ""
    assert planned.problem(replace(stored, timestamp=began - timedelta(seconds=61))) != ""
    lab.runner.before = lambda _call: None
    assert lab.run().progress.ends[6].race_id == "heap-1-006"


def test_a_race_whose_id_was_taken_before_it_began_is_repeated_under_another(tmp_path):
    lab = Lab.of(tmp_path, pair())

    def taken(call):
        if call.race_id != "heap-1-006":
            return None
        # Nothing but the message tells that it is not the race.
        put(lab, call.race_id, call.options)
        return ChildExit(64, f"race '{call.race_id}' already exists")

    lab.runner.before = taken
    end = lab.run()
    assert end.progress.ends[6].race_id == "heap-1-006.2"
    (entry,) = [entry for entry in lab.folder.journal() if entry.outcome == "killed"]
    assert entry.text == "another race had its id before it began"
    assert max(rates(lab)) < 20_000


def test_a_race_that_is_never_the_planned_one_is_repeated_a_few_times(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))

    def other(call):
        put(lab, call.race_id, call.options, seed=999)
        return ChildExit(0)

    lab.runner.before = other
    end = lab.run()
    assert len(lab.runner.calls) == 6
    assert {each.outcome for each in end.progress.ends.values()} == {"failed"}
    assert "its seed is 999, not " in end.progress.ends[1].text


@pytest.mark.parametrize("other", sorted(set(OTHERS) - {"untagged"}))
def test_a_record_that_has_replaced_the_race_does_not_count_in_the_answer(tmp_path, other):
    lab = Lab.of(tmp_path, pair())
    lab.run()
    (raced,) = [call for call in lab.runner.calls if call.race_id == "heap-1-006"]
    shutil.rmtree(lab.races.races / raced.race_id)
    put(lab, raced.race_id, raced.options, **OTHERS[other])
    _, result = evaluated(lab)
    assert max(rates(lab)) < 20_000
    (note,) = result.notes
    assert note.startswith(
        "race heap-1-006 does not count, so that its block is lost: its record is that of another race: "
    )


def test_what_an_earlier_version_did_not_write_is_not_checked_in_the_answer(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.run()
    for call in lab.runner.calls:
        path = lab.races.races / call.race_id / "race.json"
        document = json.loads(path.read_text())
        path.write_text(json.dumps(document | {"user-tags": {}}))
    lines = [json.loads(line) for line in lab.folder.journal_file.read_text().splitlines()]
    kept = [line for line in lines if line["event"] != "started"]
    assert evaluated(lab)[1].notes == ()
    lab.folder.journal_file.write_text("".join(json.dumps(line) + "\n" for line in kept))
    assert evaluated(lab)[1].notes == ()


def test_a_race_is_known_by_the_tags_as_they_are_stored(tmp_path):
    lab = Lab.of(tmp_path, pair())
    call = RaceCall("r", {"user-tags": {"tune": "t-1", "block": 3}, "seed": 5}, tmp_path, tmp_path, tmp_path)
    lab.runner.store(call)
    assert race_end(lab.races, "r", PlannedRecord(5, {"tune": "t-1", "block": "3"})).outcome == "raced"
    assert race_end(lab.races, "r", PlannedRecord(5, {"tune": "t-1", "block": "4"})).problem
