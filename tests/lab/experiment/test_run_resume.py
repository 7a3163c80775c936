"""Experiments that go on after a kill, a pause, a failure or a change: nothing is lost, nothing is mixed."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import MACHINE, KilledError, Lab, pair
from pacenote.compare.groups import compare_groups
from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.lab.race_child import RaceCall
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.experiment import Experiment, Variant
from pacenote.model.experiment import JournalEntry as Entry
from pacenote.report.experiment import build_experiment_report
from pacenote.store.experiment_store import ExperimentFolder
from pacenote.store.race_groups import find_group

pytestmark = pytest.mark.process

THREE = (*pair().variants, Variant("c", {"car": "nonsense"}))


def killed_at(lab, line, monkeypatch, *, after):
    """Runs an experiment whose process is killed before or after it has written a line of its journal."""
    write, written = ExperimentFolder.append, []

    def append(folder, entry):
        written.append(entry)
        if len(written) > line and not after:
            raise KilledError
        write(folder, entry)
        if len(written) > line:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(ExperimentFolder, "append", append)
        try:
            lab.run()
        except KilledError:
            return True
    return False


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("design", ["pair", "ladder"])
@pytest.mark.process  # It stores many races.
def test_a_kill_at_any_line_of_the_journal_loses_and_repeats_nothing(tmp_path, monkeypatch, after, design):
    line, killed = 0, True
    while killed:
        lab = Lab.of(tmp_path / str(line), pair(blocks=2, design=design))
        plan = lab.folder.plan_json.read_bytes()
        killed = killed_at(lab, line, monkeypatch, after=after)
        progress = lab.run().progress
        assert progress.left() == ()
        assert {end.outcome for end in progress.ends.values()} == {"raced"}
        assert lab.folder.plan_json.read_bytes() == plan
        assert sorted(call.race_id for call in lab.runner.calls) == [
            f"{lab.folder.experiment_id}-{number:03}" for number in range(1, 5)
        ]
        assert progress.adopted.keys() == ({1} if design == "ladder" else set())
        line += 1
    assert line == (10 if design == "ladder" else 9)


def test_a_disk_that_is_full_when_a_race_has_ended_loses_nothing(tmp_path, monkeypatch):
    lab = Lab.of(tmp_path, pair(blocks=1))
    append = ExperimentFolder.append

    def full(folder, entry):
        if entry.event == "ended":
            raise StoreError("cannot write the journal: the disk is full")
        append(folder, entry)

    with monkeypatch.context() as patch:
        patch.setattr(ExperimentFolder, "append", full)
        with pytest.raises(StoreError, match="the disk is full"):
            lab.run()
    assert lab.run().progress.left() == ()
    assert len(lab.runner.calls) == 2


def ends_long_ago(lab, races, **changes):
    """Writes a journal in which these races ended an hour ago."""
    at = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    for race in races:
        race_id = f"heap-1-{race.number:03}"
        lab.folder.append(Entry(event="started", at=at, race=race.number, race_id=race_id))
        outcome = changes.get(race.variant, "raced")
        lab.folder.append(
            Entry(event="ended", at=at, race=race.number, race_id=race_id, outcome=outcome, seconds=60.0)
        )


def test_a_block_that_was_left_long_ago_is_raced_again_as_a_whole(tmp_path):
    lab = Lab.of(tmp_path, pair())
    ends_long_ago(lab, lab.folder.plan().races[:3])
    progress = lab.run().progress
    assert [call.race_id for call in lab.runner.calls] == [f"heap-1-{n:03}" for n in (3, 4, 5, 6)]
    assert progress.race_seconds >= 180.0


def test_a_block_whose_race_ended_by_itself_long_ago_is_raced_again(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    long_ago = time.time() - 3600

    def kill(call):
        lab.runner.store(call)
        os.utime(lab.races.races / call.race_id / "race.json", (long_ago, long_ago))
        raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    lab.runner.before = lambda _call: None
    lab.run()
    assert [call.race_id for call in lab.runner.calls] == ["heap-1-001", "heap-1-001.2", "heap-1-002"]


@pytest.mark.parametrize(("kernel", "repeated"), [("6.1", 0), ("6.2", 1)])
def test_a_block_that_was_left_just_now_is_completed_unless_the_machine_has_changed(
    tmp_path, kernel, repeated
):
    lab = Lab.of(tmp_path, pair(blocks=1))
    lab.runner.before = lambda _call: ChildExit(130, stopped=True) if len(lab.runner.calls) == 2 else None
    lab.run()
    lab.machine = lambda: replace(MACHINE, kernel=kernel)
    lab.run()
    # One race was stopped, and is begun again.
    assert len(lab.runner.calls) == 3 + repeated


@pytest.mark.parametrize(("options", "raced"), [({}, 4), ({"target-hosts": "127.0.0.1:9200"}, 3)])
def test_a_block_has_no_races_on_two_engines(tmp_path, options, raced):
    lab = Lab.of(tmp_path, pair(blocks=1, engine="keep", race={"track": "t", **options}))
    lab.runner.before = lambda _call: ChildExit(130, stopped=True) if len(lab.runner.calls) == 2 else None
    lab.run()
    lab.runner.before = lambda _call: None
    lab.run()
    # One race was stopped, and is begun again.
    assert len(lab.runner.calls) == raced


def test_an_engine_that_a_kill_has_left_is_stopped_although_no_race_is_left(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1, engine="keep"))
    lab.run()
    lab.runner.stopped_engines = 0
    lab.run()
    assert lab.runner.stopped_engines == 1


def test_resuming_races_variants_again_that_were_left_out_from_the_next_block_on(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=4, variants=THREE))
    broken = lambda call: call.options["user-tags"]["variant"] == "c"  # noqa: E731
    stop_at = 9

    def before(call):
        if broken(call):
            return ChildExit(64, "no disk")
        return ChildExit(130, stopped=True) if len(lab.runner.calls) == stop_at else None

    lab.runner.before = before
    assert lab.run().progress.left_out_variants() == ("c",)
    done = len(lab.progress().blocks_done())
    lab.runner.before = lambda _call: None
    progress = lab.run().progress
    raced = [race.block for race in progress.raced if race.variant == "c"]
    assert raced == list(range(raced[0], 5))
    assert raced[0] in (done + 1, done + 2)
    assert len(progress.block_races(("a", "b")).blocks) == 4
    assert lab.evaluation.result(progress).variants[2].failure == "no disk"
    assert lab.run().progress.left() == ()


def test_an_experiment_that_ended_without_variants_is_opened_again(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=5))
    lab.runner.before = lambda call: (
        ChildExit(64, "port in use") if call.options["user-tags"]["variant"] == "b" else None
    )
    assert lab.run().progress.stopped == "too few variants can be raced: b"
    assert lab.evaluation.result(lab.progress()).retryable == ("b",)
    lab.runner.before = lambda _call: None
    progress = lab.run().progress
    assert (progress.stopped, progress.left()) == ("", ())
    assert len(progress.block_races(("a", "b")).blocks) == 3


@pytest.mark.parametrize(("design", "name"), [("pair", "a"), ("ladder", "best (no heap)")])
def test_without_its_baseline_an_experiment_ends(tmp_path, design, name):
    variants = (Variant("a"), Variant("b"), Variant("c"))
    lab = Lab.of(tmp_path, Experiment(name="heap", design=design, blocks=4, variants=variants))
    lab.runner.before = lambda call: (
        ChildExit(64, "no heap") if call.options["user-tags"]["variant"] == name.split()[0] else None
    )
    assert lab.run().progress.stopped == f"the baseline cannot be raced: {name}"
    assert len(lab.runner.calls) <= 6


def test_stops_by_the_user_do_not_count_as_kills(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    for _ in range(4):
        lab.runner.before = lambda _call: ChildExit(-2, stopped=True)
        assert lab.run().interrupted
    ends = iter((ChildExit(-9), ChildExit(-9)))
    lab.runner.before = lambda _call: next(ends, None)
    progress = lab.run().progress
    assert progress.failed == ()
    texts = [entry.text for entry in lab.folder.journal() if entry.outcome == "killed"]
    assert texts == [f"its process was killed by SIGKILL, for the {n}. time" for n in (1, 2)]


def test_an_engine_that_has_ended_pauses_the_experiment_and_fails_no_race(tmp_path):
    lab = Lab.of(tmp_path, pair(engine="keep"))
    lab.runner.engine_state = lambda _options: "" if len(lab.runner.calls) < 2 else "the engine has ended"
    end = lab.run()
    assert (end.paused, len(end.progress.raced), end.progress.failed) == ("the engine has ended", 2, ())


def test_a_race_that_ended_after_the_kill_has_its_own_time(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    at = (datetime.now(UTC) - timedelta(seconds=90)).isoformat(timespec="seconds")

    def kill(call):
        lab.runner.store(call)
        raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    text = lab.folder.journal_file.read_text()
    (started,) = lab.folder.journal()
    lab.folder.journal_file.write_text(text.replace(started.at, at))
    lab.runner.before = lambda _call: None
    first = next(iter(lab.run().progress.ends.values()))
    assert 85.0 <= first.seconds <= 120.0


def test_waits_between_races_count_towards_the_budget_and_the_time_left(tmp_path):
    plan = Lab.of(tmp_path, pair(cool_down_s=300.0)).folder.plan()
    progress = ExperimentProgress(plan)
    for number in (1, 2):
        progress.apply(Entry(event="started", at="t", race=number, race_id="x"))
        progress.apply(Entry(event="ended", at="t", race=number, outcome="raced", seconds=60.0))
    assert (progress.seconds, progress.seconds_per_race) == (720.0, 360.0)
    progress.apply(Entry(event="started", at="t", race=3, race_id="x"))
    progress.apply(Entry(event="ended", at="t", race=3, outcome="interrupted", seconds=10.0))
    assert (progress.seconds, progress.seconds_per_race) == (1030.0, 360.0)


def test_what_else_races_on_the_machine_is_noted(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=2))
    lab.others = lambda: ("race night runs at the same time",) if lab.runner.calls else ()
    assert lab.run().progress.machine_changes == ["race night runs at the same time"]
    assert "warning: the machine is not as it was: race night runs at the same time" in lab.events.told


def test_races_that_warm_up_have_no_tags_of_a_comparison(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1, warm_up=1))
    lab.run()
    tags = [call.options["user-tags"] for call in lab.runner.calls]
    assert tags[0] == {"experiment": "heap-1", "warm-up": "a"}
    assert all(one.keys() == {"experiment", "variant", "block"} for one in tags[1:])


def test_races_of_a_tag_can_be_compared_although_one_was_killed_and_others_warmed_up(tmp_path):
    lab = Lab.of(tmp_path, pair(warm_up=1))

    def kill(call):
        if len(lab.runner.calls) == 3:
            lab.runner.store(call, complete=False)
            raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    lab.runner.before = lambda _call: None
    assert lab.run().progress.left() == ()
    groups = [find_group(lab.races, [f"tag:variant={name}"]).races for name in ("a", "b")]
    assert sorted(map(len, groups)) == [3, 4]
    outcome = compare_groups(*groups, ComparisonOptions())
    assert (outcome.design, len(outcome.baseline.races), len(outcome.contender.races)) == ("paired", 3, 3)
    assert outcome.answer != "void"
    assert "no partner" not in str(outcome.findings)


def test_a_race_that_was_deleted_does_not_keep_an_experiment_from_going_on(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.runner.before = lambda _call: ChildExit(130, stopped=True) if len(lab.runner.calls) == 4 else None
    lab.run()
    lab.races.delete(lab.races.folder("heap-1-001"))
    lab.runner.before = lambda _call: None
    assert lab.run().progress.left() == ()


def ended_with_failures(home, lost, **changes):
    """Returns a pair of which a race has failed in some blocks, and its result."""
    lab = Lab.of(home, pair(blocks=5, **changes))
    lab.runner.before = lambda call: (
        ChildExit(64, "no disk")
        if (call.options["user-tags"]["variant"], int(call.options["user-tags"]["block"])) in lost
        else None
    )
    progress = lab.run().progress
    lab.runner.before = lambda _call: None
    return lab, lab.evaluation.result(progress)


def test_resuming_does_not_change_the_answer_of_an_experiment_that_has_ended(tmp_path):
    lab, before = ended_with_failures(tmp_path, {("b", 2), ("a", 4)})
    assert before.variants[1].comparison.answer == "void"
    assert "remove what limits the answer, and run a new experiment" in build_experiment_report(before).next
    count = len(lab.runner.calls)
    assert lab.run().paused == ""
    assert len(lab.runner.calls) == count
    assert lab.evaluation.result(lab.progress()) == before


def test_what_has_ended_early_is_not_extended_because_of_a_lost_block(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=10, looks=(5, 10)))
    lab.runner.rate = lambda call: 12_000.0 if call.options["car"] == "2gheap" else 10_000.0
    lab.runner.before = lambda call: ChildExit(64, "no disk") if call.race_id == "heap-1-004" else None
    end = lab.run()
    assert end.progress.stopped == "the answer is clear after 5 blocks"
    lab.runner.rate = lambda _call: 10_000.0
    assert lab.run().progress.stopped == end.progress.stopped
    assert len(lab.runner.calls) == 10


@pytest.mark.parametrize("deleted", [1, 2])
def test_a_race_that_was_deleted_costs_its_block_for_good(tmp_path, deleted):
    lab = Lab.of(tmp_path, pair(blocks=5))
    lab.run()
    for number in range(1, deleted + 1):
        # One of each block.
        lab.races.delete(lab.races.folder(f"heap-1-{2 * number:03}"))
    lab.run()
    assert len(lab.runner.calls) == 10
    (comparison,) = (one.comparison for one in lab.evaluation.result(lab.progress()).variants[1:])
    assert comparison.answer == ("same" if deleted == 1 else "void")


def test_a_failure_of_one_contender_does_not_repeat_the_races_of_another_one(tmp_path):
    lab, before = ended_with_failures(tmp_path, {("c", 4)}, variants=THREE)
    count = len(lab.runner.calls)
    lab.run()
    assert len(lab.runner.calls) == count
    assert lab.evaluation.result(lab.progress()).variants == before.variants


def test_what_an_earlier_version_raced_after_the_end_does_not_count(tmp_path):
    lab, before = ended_with_failures(tmp_path, {("b", 2), ("a", 4)})
    lab.folder.append(Entry(event="repeated", at="t", block=2, text="b failed"))
    for race in lab.folder.plan().block(2):
        race_id = f"heap-1-{race.number:03}.2"
        lab.runner.store(
            RaceCall(race_id, {"user-tags": {}, "seed": race.seed}, tmp_path, tmp_path, tmp_path)
        )
        entry = Entry(event="started", at="t", race=race.number, race_id=race_id)
        lab.folder.append(entry)
        lab.folder.append(replace(entry, event="ended", outcome="raced", verdict="valid", seconds=1.0))
    assert lab.evaluation.result(lab.progress()) == before
    count = len(lab.runner.calls)
    lab.run()
    assert len(lab.runner.calls) == count


def test_a_variant_that_fails_in_a_repeated_block_is_left_out_again(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=5, variants=THREE))
    first = lab.folder.plan().races[:6]
    missing = next(race for race in first if race.block == 2 and race.variant != "c")
    ends_long_ago(lab, [race for race in first if race is not missing], c="failed")
    assert lab.progress().left_out_variants() == ("c",)
    lab.runner.before = lambda call: (
        ChildExit(64, "no disk") if call.options["user-tags"]["variant"] == "c" else None
    )
    progress = lab.run().progress
    raced = [call.options["user-tags"]["block"] for call in lab.runner.calls]
    assert raced.count("2") == 3
    assert [race.block for race in progress.failed] == [1, 2, 3]


def test_no_engine_is_started_for_an_experiment_that_pauses_at_once(tmp_path, monkeypatch):
    lab = Lab.of(tmp_path, pair(engine="keep"))
    monkeypatch.setattr("pacenote.lab.experiment.run.missing_space", lambda _disks: "no space")
    monkeypatch.setattr(type(lab.runner), "kept_engine", lambda *_: pytest.fail("an engine was started"))
    assert lab.run().paused == "no space"


def test_memory_that_hardly_differs_is_no_other_machine():
    boot = replace(MACHINE, memory_bytes=MACHINE.memory_bytes - 8192)
    assert MACHINE.changes(boot) == ()
    assert MACHINE.changes(replace(MACHINE, memory_bytes=4 << 30)) == ("memory 8.0 GiB → 4.0 GiB",)
    assert MACHINE.changes(replace(MACHINE, memory_bytes=None)) == ("memory 8.0 GiB → unknown",)
