"""Searches whose races are stored without an engine, to their confirmed ends."""

import itertools
import json
import math
import os
import re
import shutil
import time

import pytest
from msgspec.structs import replace

from compare.quality_races import with_values
from lab.tune.searches import MACHINE, RACE_S, RECORDS, Search, knob, limit, search_plan
from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.run import RunEnd
from pacenote.lab.tune import progress
from pacenote.lab.tune.progress import MAX_EVENTS, TuneProgress
from pacenote.lab.tune.steps import block_seed
from pacenote.model.finding import Finding
from pacenote.model.tune import DEFAULT, TuneEvent, TunePlan
from pacenote.report.tune import build_tune_report
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.tune_store import find_tune

pytestmark = pytest.mark.process

SMALL = search_plan(knobs=(knob("a", 3),), budget_s=40 * RACE_S)


class KilledError(BaseException):
    """Ends the process of a search."""


def good(params):
    """The second value of `a` is better by 8 %."""
    return 1.08 if params.get("a") == 2 else 1.0


def finished(home, plan=SMALL, **runner):
    search = Search.of(home, plan, **runner)
    search.run()
    return search


def test_a_planted_setting_is_found_and_confirmed_with_fresh_races(tmp_path):
    search = finished(tmp_path, effect=good)
    result = search.result()
    assert (result.answer, result.settings) == ("better", {"a": 2})
    assert result.options == ('--track-params={"a": 2}',)
    assert result.confirmation.experiment_id == "tune-1-confirm-1"
    calls = search.runner.calls
    confirming = [call for call in calls if "experiment" in call.options["user-tags"]]
    seeds = {call.options["seed"] for call in calls if call not in confirming}
    assert seeds.isdisjoint(call.options["seed"] for call in confirming)
    assert calls[0].options == {
        "track": "t",
        "seed": calls[0].options["seed"],
        "user-tags": {"tune": "tune-1", "candidate": "0"},
        "race-id": "tune-1-001",
    }
    assert search.runner.now <= SMALL.budget_s
    # What is stored is enough to go on: nothing is left.
    assert search.run().paused == ""
    assert len(search.runner.calls) == len(calls)


def test_the_confirmation_is_an_experiment_like_any_other(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    search.confirm = lambda _folder, _experiment: RunEnd(None, "later")
    assert search.run().paused == "later"
    folder = ExperimentStore(tmp_path).folder("tune-1-confirm-1")
    text = folder.text()
    assert 'primary = ["throughput:index-append", "error-rate:index-append"]' in text
    assert "looks = [5, 10]" in text
    assert text.endswith('[variants.default]\n\n[variants.winner]\n"track-params" = {"a" = 2}\n')
    assert {race.variant for race in folder.plan().races} == {"default", "winner"}


def confirmation_of(search, later=()):
    """Runs a search up to its confirmation, and returns its folder."""
    search.confirm = lambda _folder, _experiment: RunEnd(None, "later")
    search.run()
    return search.state.confirmation


def test_races_of_an_earlier_search_or_of_a_file_of_the_user_confirm_nothing(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    assert confirmation_of(search) == "tune-1-confirm-1"
    assert search.run().state.confirmation == "tune-1-confirm-1"
    # The search is deleted with its races; the next one has its id, but another seed or another time.
    shutil.rmtree(search.folder.path)
    shutil.rmtree(tmp_path / "races")
    for number, changes in enumerate(({"seed": 2}, {"created": "2999-01-01T00:00:00+00:00"}), 2):
        again = Search.of(tmp_path, replace(SMALL, **changes), effect=good)
        assert again.folder.tune_id == "tune-1"
        assert confirmation_of(again) == f"tune-1-confirm-{number}"
        shutil.rmtree(again.folder.path)
        shutil.rmtree(tmp_path / "races")


def confirmed(search, change):
    """Runs a search whose races of the confirmation are changed when they are stored."""
    whole = search.runner.store

    def store(call):
        whole(call)
        if "experiment" in call.options["user-tags"]:
            key = str(search.runner.races.races / call.race_id)
            RECORDS[key] = change(RECORDS[key], call.options["user-tags"])

    search.runner.store = store
    search.run()
    return search.result()


def test_a_confirmation_that_must_not_be_compared_says_why(tmp_path):
    reasons = (Finding("the disk was full", "host", "make room"),)

    def void(record, _tags):
        return replace(record, verdict=replace(record.verdict, state="void", findings=reasons))

    search = Search.of(tmp_path, SMALL, effect=good)
    result = confirmed(search, void)
    assert (result.answer, "one candidate" in result.reason) == ("void", False)
    assert "void" in result.reason
    # It stays so until the user resumes it; then another one begins, with seeds of its own.
    search.run()
    assert search.state.confirmation == "tune-1-confirm-1"
    search.runner.store = type(search.runner).store.__get__(search.runner)
    search.run(is_resumed=True)
    again = search.result()
    assert (again.answer, again.confirmation.experiment_id) == ("better", "tune-1-confirm-2")
    assert again.earlier_confirmations == (f"tune-1-confirm-1: {result.reason}",)
    assert {race.seed for race in confirmation_races(tmp_path, 1)}.isdisjoint(
        race.seed for race in confirmation_races(tmp_path, 2)
    )
    # An answer is no reason for another one.
    search.run(is_resumed=True)
    assert search.state.confirmation == "tune-1-confirm-2"


def confirmation_races(home, number):
    return ExperimentStore(home).folder(f"tune-1-confirm-{number}").plan().races


def test_a_winner_that_cannot_be_raced_again_says_why(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    search.runner.before = lambda call: (
        ChildExit(64, "no heap") if call.options["user-tags"].get("variant") == "winner" else None
    )
    search.run()
    assert search.result().answer == "void"
    assert "no heap" in search.result().reason


def test_a_faster_winner_with_more_errors_is_not_recommended(tmp_path):
    def failing(record, tags):
        indexing, *rest = record.tasks
        rate = 0.009 if tags.get("variant") == "winner" else 0.0
        return replace(record, tasks=(replace(indexing, error_rate=rate), *rest))

    result = confirmed(Search.of(tmp_path, SMALL, effect=good), failing)
    words = {each.metric.label: each.word for each in result.confirmation.variants[1].comparison.primary}
    assert words == {"throughput:index-append": "better", "error-rate:index-append": "worse"}
    assert result.answer == "not shown"


def test_a_faster_winner_that_finds_less_is_not_recommended(tmp_path):
    def finding_less(record, tags):
        recall = 0.56 if tags.get("variant") == "winner" else 0.93
        return replace(record, tasks=tuple(with_values(task, {"recall": recall}) for task in record.tasks))

    result = confirmed(Search.of(tmp_path, SMALL, effect=good), finding_less)
    comparison = result.confirmation.variants[1].comparison
    words = {each.metric.label: each.word for each in comparison.deciding if each.word != "no verdict"}
    assert words == {
        "throughput:index-append": "better",
        "recall:index-append": "worse",
        "recall:term": "worse",
    }
    assert (comparison.answer, result.answer) == ("mixed", "not shown")
    assert any("mean recall of index-append is worse" in line for line in build_tune_report(result).answers)


def test_a_winner_that_does_not_return_a_quality_is_not_recommended(tmp_path):
    def without_recall(record, tags):
        values = {} if tags.get("variant") == "winner" else {"recall": 0.93}
        return replace(record, tasks=tuple(with_values(task, values) for task in record.tasks))

    result = confirmed(Search.of(tmp_path, SMALL, effect=good), without_recall)
    assert result.answer == "not shown"
    assert any("not all races have recall" in note for note in build_tune_report(result).notes)


def test_options_to_copy_keep_what_the_races_had(tmp_path):
    given = {"track": "t", "track-params": {"docs": 5}, "set": ["index.a=1"]}
    plan = search_plan(knobs=(knob("a", 3),), budget_s=40 * RACE_S, race=given)
    assert finished(tmp_path, plan, effect=good).result().options == ('--track-params={"docs": 5, "a": 2}',)


def test_a_winner_that_is_not_confirmed_is_not_recommended(tmp_path):
    search = Search.of(tmp_path, SMALL)
    search.runner.effect = lambda _params: 1.08 if _params and len(search.runner.calls) < 15 else 1.0
    search.run()
    result = search.result()
    assert result.winner
    assert result.answer == "not shown"


def test_a_winner_that_is_probably_better_is_not_called_better(tmp_path):
    result = finished(tmp_path, SMALL, effect=lambda params: 1.03 if params else 1.0).result()
    words = {each.metric.label: each.word for each in result.confirmation.variants[1].comparison.primary}
    assert words["throughput:index-append"] == "probably better"
    assert result.answer == "probably better"


def test_a_winner_must_keep_its_limits(tmp_path):
    plan = search_plan(knobs=(knob("a", 3),), budget_s=40 * RACE_S, constraints=(limit("p99:term", 10.0),))
    search = finished(tmp_path, plan, effect=good, p99=lambda params: 20.0 if params.get("a") == 2 else 8.0)
    assert search.state.dropped[2 if search.state.candidates[2].levels == (1,) else 1].text.startswith(
        "it breaks the limit p99:term < 10 ms: "
    )
    assert search.result().answer in ("default", "not shown")
    kept = finished(tmp_path / "kept", plan, effect=good)
    result = kept.result()
    assert result.answer == "better"
    assert [(one.word, round(one.value)) for one in result.limits] == [("kept", 8)]


def test_an_engine_that_does_not_start_drops_only_its_candidate(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    search.runner.before = lambda call: (
        ChildExit(64, "no such value") if call.options.get("track-params") == {"a": 3} else None
    )
    search.run()
    result = search.result()
    assert result.answer == "better"
    assert [one.dropped for one in result.candidates if one.settings == {"a": 3}] == ["no such value"]


@pytest.mark.parametrize(("given", "root"), [({}, "corpora"), ({"dataset-cache": "~/data"}, "data")])
def test_generated_data_is_removed_when_the_search_is_over(tmp_path, monkeypatch, given, root):
    monkeypatch.setenv("HOME", str(tmp_path))
    search = Search.of(tmp_path, replace(SMALL, race=dict(SMALL.race) | given))
    kept = tmp_path / root / "t" / "generated-5-seed-77-aa"

    def store_data(call):
        folder = kept.with_name(f"generated-5-seed-{call.options['seed']}-aa")
        for path in (folder, kept):
            path.mkdir(parents=True, exist_ok=True)
            (path / "generated.json").touch()

    search.runner.before = store_data
    search.confirm = lambda _folder, _experiment: RunEnd(None, "later")
    search.run()
    assert list(kept.parent.iterdir()) == [kept]


def test_all_disks_that_a_race_writes_to_are_checked(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(
        "pacenote.lab.tune.run.missing_space", lambda folders: checked.extend(folders) or "full"
    )
    given = {"track": "t", "dataset-cache": "data", "data-paths": "/one"}
    assert Search.of(tmp_path, replace(SMALL, race=given)).run().paused == "full"
    assert list(map(str, checked)) == [str(tmp_path), str(tmp_path / "data"), "/one"]


def test_a_default_that_does_not_start_ends_the_search_with_its_error(tmp_path):
    search = finished(tmp_path, before=lambda _call: ChildExit(64, "port in use"))
    assert search.result().answer == "void"
    assert search.result().reason == "the default cannot be raced: port in use"
    assert build_tune_report(search.result()).next == (
        "correct that, and go on: pacenote tune resume tune-1",
    )
    assert len(search.runner.calls) == 2


def test_an_objective_that_no_race_has_is_told_after_the_first_races(tmp_path):
    plan = search_plan(objective=search_plan().objective.__class__("throughput:index"))
    result = finished(tmp_path, plan).result()
    assert result.reason.startswith("the races have no metric 'throughput:index'")


def test_a_race_whose_process_is_killed_again_and_again_is_a_failure(tmp_path):
    search = finished(tmp_path, before=lambda _call: ChildExit(-9))
    assert [event.outcome for event in search.told.events if event.event == "ended"] == [
        *["killed", "killed", "failed"] * 2,
    ]


def test_ctrl_c_keeps_what_was_raced(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    stop_at = 5
    search.runner.before = lambda _call: (
        ChildExit(130, stopped=True) if len(search.runner.calls) == stop_at else None
    )
    end = search.run()
    assert (end.paused, end.interrupted) == ("stopped by the user", True)
    assert search.result().answer == "none yet"
    assert search.run().interrupted is False
    assert search.result().answer == "better"


def facts(search):
    """Returns what must not depend on kills."""
    result = search.result()
    ends = [(end.candidate, end.block, end.objective, end.seconds) for end in search.state.ends]
    order = [
        [
            race.variant
            for race in ExperimentStore(search.runner.races.home).folder("tune-1-confirm-1").plan().races
        ]
    ]
    changes = [
        round(one.change.value, 9) for one in result.confirmation.variants[1].comparison.primary if one.change
    ]
    return result.answer, result.settings, search.state.candidates, ends, order, changes


def kill_at(search, line):
    """Runs a search that is killed after so many lines of its journals, and then to its end."""
    written = 0

    def note(_event, _state):
        nonlocal written
        written += 1
        if written == line:
            raise KilledError

    search.told.changed = note
    with pytest.raises(KilledError):
        search.run()
    search.told.changed = lambda _event, _state: None
    search.run()


@pytest.mark.parametrize("line", [12])
def test_a_killed_search_goes_on_as_if_it_had_not_been(tmp_path, line):
    whole = finished(tmp_path / "whole", effect=good)
    killed = Search.of(tmp_path / "killed", SMALL, effect=good)
    kill_at(killed, line)
    assert facts(killed) == facts(whole)


def test_a_search_may_be_killed_after_each_line_of_its_journal(tmp_path):
    whole = finished(tmp_path / "whole", effect=good)
    for line in range(1, len(whole.told.events) + 1):
        killed = Search.of(tmp_path / f"killed-{line}", SMALL, effect=good)
        kill_at(killed, line)
        assert facts(killed) == facts(whole), line


def test_a_race_that_was_complete_when_the_search_was_killed_is_not_repeated(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)

    def kill(call):
        if len(search.runner.calls) == 3:
            search.runner.store(call)
            written = time.time() + 7
            os.utime(search.runner.races.races / call.race_id / "race.json", (written, written))
            raise KilledError

    search.runner.before = kill
    with pytest.raises(KilledError):
        search.run()
    search.runner.before = lambda _call: None
    search.run()
    assert search.result().answer == "better"
    assert len({call.race_id for call in search.runner.calls}) == len(search.runner.calls)
    ends = search.state.ends
    assert len(ends) == search.state.started
    # It took the time until its record was written; the journal and the record have whole seconds.
    assert ends[2].seconds in (7.0, 8.0)


def test_a_line_whose_end_a_kill_has_cut_off_is_kept_if_it_is_whole(tmp_path):
    search = Search.of(tmp_path, SMALL)
    search.folder.append(TuneEvent(event="stopped", at="t", text="x"))
    journal = search.folder.path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().rstrip(b"\n"))
    with search.folder.locked(), pytest.raises(StoreError, match="search 'tune-1' is running"):
        search.run()
    assert search.run().state.stopped == "x"
    journal.write_bytes(journal.read_bytes() + b'{"event": "sta')
    assert search.run().state.stopped == "x"
    assert len(search.folder.journal()) == 1


def test_a_search_is_found_by_its_id_and_its_files_are_read_again(tmp_path):
    search = Search.of(tmp_path, SMALL)
    store = ExperimentStore(tmp_path)
    assert find_tune(store, "latest").plan() == search.folder.plan()
    assert find_tune(store, "tune-1").tune_id == "tune-1"
    with pytest.raises(StoreError, match="no search 'tune-2'"):
        find_tune(store, "tune-2")
    plan = search_plan(constraints=(limit("p99:s", math.pi),))
    assert TunePlan.from_document(json.loads(json.dumps(plan.to_document()))) == plan
    event = TuneEvent(event="ended", at="t", candidate=3, limits=(1.0,), outcome="raced")
    own = {"event": "ended", "at": "t", "candidate": 3, "limits": (1.0,), "outcome": "raced"}
    assert event.to_document() == own | {"block": 0, "race": 0, "seconds": 0.0}
    assert TuneEvent.from_document(json.loads(json.dumps(event.to_document()))) == event


def test_new_experiments_and_searches_keep_the_folders_of_older_searches(tmp_path):
    search = Search.of(tmp_path, SMALL)
    store = ExperimentStore(tmp_path)
    waiting, gone = store.create("waiting"), store.create("gone")
    for path in (search.folder.path, waiting.path, gone.path):
        os.utime(path, (time.time() - 7200,) * 2)
    with waiting.locked():
        os.utime(waiting.path, (time.time() - 7200,) * 2)
        store.create("x")
    assert search.folder.plan().tune_id == "tune-1"
    assert (waiting.path.exists(), gone.path.exists()) == (True, False)


def test_a_plan_of_a_newer_version_is_not_misread(tmp_path):
    search = Search.of(tmp_path, SMALL)
    path = search.folder.path / "tune.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(StoreError, match="a newer version of Pacenote wrote it"):
        search.folder.plan()


def stopped_at(search, number):
    """Runs a search that the user stops in a race."""
    search.runner.before = lambda _call: (
        ChildExit(130, stopped=True) if len(search.runner.calls) == number else None
    )
    search.run()
    search.runner.before = lambda _call: None


def test_a_block_that_was_left_on_another_machine_or_long_ago_is_raced_again(tmp_path):
    search = Search.of(tmp_path, SMALL)
    search.confirm = lambda _folder, _experiment: RunEnd(None, "later")
    # The default races twice, and then a block has three races.
    stopped_at(search, 5)
    assert [end.block for end in search.state.ends] == [0, 0, 1, 1]
    search.run(machine=lambda: replace(MACHINE, kernel="6.2"), others=lambda: ("race x runs",))
    events = [event.event for event in search.folder.journal()]
    assert events.count("repeated") == 1
    assert [end.block for end in search.state.ends].count(1) == 3
    assert search.state.machine_changes[1:] == ["race x runs"]
    assert "6.2" in search.result().machine_changes[0]
    old = Search.of(tmp_path / "old", SMALL)
    old.confirm = search.confirm
    stopped_at(old, 5)
    journal = old.folder.path / "journal.jsonl"
    journal.write_text(re.sub(r'"at": "[^"]*"', '"at": "2026-01-01T00:00:00+00:00"', journal.read_text()))
    old.run()
    assert [event.event for event in old.folder.journal()].count("repeated") == 1
    near = Search.of(tmp_path / "near", SMALL)
    near.confirm = search.confirm
    stopped_at(near, 5)
    near.run()
    assert [event.event for event in near.folder.journal()].count("repeated") == 0


def test_a_search_never_writes_what_it_cannot_read(tmp_path, monkeypatch):
    """However many other races there are, before each block others; the limits of writing are those of
    reading.
    """
    numbers = itertools.count()
    search = Search.of(tmp_path, SMALL)
    search.confirm = lambda _folder, _experiment: RunEnd(None, "later")
    search.run(others=lambda: tuple(f"race {next(numbers)} runs" for _ in range(MAX_EVENTS)))
    assert search.state.chosen is not None
    machine = [event for event in search.folder.journal() if event.event == "machine"]
    assert len(machine) == len(search.state.machine_changes)
    short = Search.of(tmp_path / "short", SMALL)
    monkeypatch.setattr(progress, "MAX_EVENTS", 5)
    with pytest.raises(StoreError, match="cannot go on"):
        short.run()
    assert len(short.folder.journal()) == short.state.events == 5


def test_a_kill_before_the_confirmation_has_a_plan_does_not_stop_the_search(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    ExperimentStore(tmp_path).create("tune-1-confirm")
    assert confirmation_of(search) == "tune-1-confirm-2"


def test_races_of_a_block_that_is_raced_again_are_not_forgiven():
    end = TuneEvent(event="ended", at="t", candidate=DEFAULT, block=1, outcome="failed")
    again = (TuneEvent(event="retried", at="t"), TuneEvent(event="repeated", at="t", block=1))
    state = TuneProgress.of(SMALL, (end, replace(end, candidate=1), *again, end, replace(end, block=2)))
    assert state.lost_races() == 2


def test_data_that_a_kill_left_is_removed_before_the_confirmation(tmp_path):
    search = Search.of(tmp_path, SMALL, effect=good)
    left = tmp_path / "corpora" / "t"

    def kill(event, state):
        if event.event == "chosen":
            folder = left / f"generated-5-seed-{block_seed(state, 0)}-aa"
            folder.mkdir(parents=True)
            (folder / "generated.json").touch()
            raise KilledError

    search.told.changed = kill
    with pytest.raises(KilledError):
        search.run()
    search.told.changed = lambda _event, _state: None
    assert len(list(left.iterdir())) == 1
    confirmation_of(search)
    assert list(left.iterdir()) == []


def test_a_budget_that_was_too_small_can_be_raised(tmp_path):
    search = finished(tmp_path, replace(SMALL, budget_s=60.0), effect=good)
    assert search.result().reason.startswith("the budget of 1 min is too small")
    search.run()
    assert search.result().answer == "void"
    (hint,) = build_tune_report(search.result()).next
    assert hint == "give it more time from now on: pacenote tune resume tune-1 --budget=8m"
    search.run(is_resumed=True, budget_s=480.0)
    assert (search.result().answer, search.result().budget_s) == ("better", 500.0)
    assert search.result().needed_s == 0.0


def test_a_confirmation_that_was_deleted_is_told_and_raced_again(tmp_path):
    search = finished(tmp_path, effect=good)
    seeds = {race.seed for race in confirmation_races(tmp_path, 1)}
    shutil.rmtree(tmp_path / "experiments" / "tune-1-confirm-1")
    result = search.result()
    assert (result.answer, result.reason) == ("none yet", "its confirmation tune-1-confirm-1 was deleted")
    search.run()
    assert search.state.confirmation == "tune-1-confirm-2"
    assert search.result().answer == "better"
    (again,) = search.result().earlier_confirmations
    assert again == "tune-1-confirm-1: its confirmation tune-1-confirm-1 was deleted"
    assert {race.seed for race in confirmation_races(tmp_path, 2)}.isdisjoint(seeds)
