"""Records of other races under the ids of a search: they do not count as its races."""

import json

import pytest
from msgspec.structs import replace

from lab.tune.searches import BASE, RECORDS, Search, search_plan
from pacenote.lab.child_command import ChildExit
from pacenote.model.imported import ImportedResults

PLAN = search_plan(budget_s=400.0)

OTHERS = {
    "imported": {"imported": ImportedResults("rally", "race", "f", "0" * 64)},
    "seed": {"seed": 999},
    "tune": {"user_tags": {"tune": "other-1", "candidate": "0"}},
    "candidate": {"user_tags": {"tune": "tune-1", "candidate": "7"}},
    "untagged": {"user_tags": {}},
    "earlier": {"timestamp": BASE.timestamp},
}
"""What tells the record of another race from that of a planned one."""


class KilledError(BaseException):
    """Ends a search as a kill does."""


def put(search, call, **changes):
    search.runner.store(call)
    key = str(search.runner.races.races / call.race_id)
    RECORDS[key] = replace(RECORDS[key], **changes)


@pytest.mark.parametrize("other", OTHERS)
def test_a_record_that_was_copied_in_after_a_kill_is_not_the_race(tmp_path, other):
    search = Search.of(tmp_path, PLAN)

    def kill(_call):
        raise KilledError

    search.runner.before = kill
    with pytest.raises(KilledError):
        search.run()
    put(search, search.runner.calls[-1], **OTHERS[other])
    search.runner.before = lambda _call: None
    search.run()
    first, *_ = [event for event in search.told.events if event.event == "ended"]
    assert (first.race_id, first.outcome, first.objective) == ("tune-1-001", "interrupted", None)
    assert first.text.startswith("its record is that of another race: ")
    assert "tune-1-001" not in {end.race_id for end in search.state.ends}


@pytest.mark.parametrize("is_known_by_its_message", [True, False])
def test_a_race_whose_id_was_taken_is_repeated_under_another(tmp_path, is_known_by_its_message):
    search = Search.of(tmp_path, PLAN)

    def taken(call):
        if call.race_id != "tune-1-002":
            return None
        if is_known_by_its_message:
            put(search, call)
            return ChildExit(64, f"race '{call.race_id}' already exists")
        put(search, call, seed=999)
        return ChildExit(0)

    search.runner.before = taken
    search.run()
    (event,) = [event for event in search.told.events if event.outcome == "killed"]
    assert (event.race_id, event.objective) == ("tune-1-002", None)
    assert "another race" in event.text
    assert "tune-1-002" not in {end.race_id for end in search.state.ends}


def test_a_confirmation_that_this_home_has_not_begun_is_not_gone_on_with(tmp_path):
    search = Search.of(tmp_path, search_plan(), effect=lambda params: 1.2 if params else 1.0)
    search.confirm = stopped = lambda *_: (_ for _ in ()).throw(KilledError)
    with pytest.raises(KilledError):
        search.run()
    (tmp_path / "begun.json").write_text(json.dumps({"begun": {}}))
    confirmed = []

    def confirm(folder, _experiment):
        confirmed.append(folder.experiment_id)
        return stopped()

    search.confirm = confirm
    with pytest.raises(KilledError):
        search.run()
    with pytest.raises(KilledError):
        search.run()
    assert confirmed == ["tune-1-confirm-2", "tune-1-confirm-2"]
