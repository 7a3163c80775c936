"""Runs of experiments whose races are stored without an engine: failures, kills, budgets, machines."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from lab.experiment.experiments import MACHINE, KilledError, Lab, factors, pair
from pacenote.errors import StoreError
from pacenote.lab import disk_space
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment import run as run_module
from pacenote.lab.experiment.run import MAX_ATTEMPTS
from pacenote.model.experiment import Experiment, Variant
from pacenote.model.experiment import JournalEntry as Entry


def fails(*variants):
    """Returns a function that fails the races of these variants."""
    return lambda call: (
        ChildExit(64, "no such car") if call.options["user-tags"]["variant"] in variants else None
    )


def test_all_races_run_in_the_planned_order_with_their_tags_and_seeds(tmp_path):
    lab = Lab.of(tmp_path, pair(cool_down_s=30.0))
    end = lab.run()
    plan = lab.folder.plan()
    assert (end.paused, end.interrupted, end.progress.left()) == ("", False, ())
    tags = [call.options["user-tags"] for call in lab.runner.calls]
    assert tags == [
        {"experiment": "heap-1", "variant": race.variant, "block": str(race.block)} for race in plan.races
    ]
    assert [call.options["seed"] for call in lab.runner.calls] == [race.seed for race in plan.races]
    assert lab.runner.calls[0].options["race-id"] == "heap-1-001"
    assert lab.waits == [30.0] * 6
    assert [text for text in lab.events.told if text.startswith("block")] == ["block 1", "block 2", "block 3"]
    assert lab.run().progress.left() == ()
    assert len(lab.runner.calls) == 6


@pytest.mark.parametrize("after", [False, True])
def test_a_killed_experiment_goes_on_with_the_same_plan(tmp_path, after):
    lab = Lab.of(tmp_path, pair())
    plan = lab.folder.plan_json.read_bytes()

    def kill(call):
        if len(lab.runner.calls) == 3:
            if after:
                lab.runner.store(call)
            raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    lab.runner.before = lambda _call: None
    assert lab.run().progress.left() == ()
    repeated = "warning: race 3 (heap-1-003) was killed before it ended: it is repeated"
    assert (repeated in lab.events.told) is not after
    assert lab.folder.plan_json.read_bytes() == plan
    ids = [lab.progress().race_id(race) for race in lab.folder.plan().races]
    assert ids == [f"heap-1-{number:03}" for number in range(1, 7)]
    # A race that was stored completely is not repeated.
    assert len(lab.runner.calls) == (6 if after else 7)


def test_the_order_of_a_block_has_the_races_that_ran(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.run_until_killed(4)
    first, second = (tuple(race.variant for race in lab.folder.plan().block(block)) for block in (1, 2))
    assert lab.evaluation.result(lab.progress()).order == (first, second[:1])


def test_a_race_that_left_an_unfinished_folder_is_repeated_under_another_id(tmp_path):
    lab = Lab.of(tmp_path, pair())

    def kill(call):
        if len(lab.runner.calls) == 1:
            (lab.races.races / call.race_id).mkdir(parents=True)
            raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    lab.run()
    assert lab.progress().race_id(lab.folder.plan().races[0]) == "heap-1-001.2"


def test_a_cut_line_of_the_journal_is_ignored_and_the_next_one_is_read(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    lab.folder.append(Entry(event="machine", at="t", text="kernel 1 → 2"))
    with lab.folder.journal_file.open("ab") as file:
        file.write(b'{"event": "started", "at')
    assert lab.run().progress.left() == ()
    assert lab.progress().machine_changes == ["kernel 1 → 2"]
    assert len(lab.progress().ends) == 2


def test_two_processes_cannot_run_one_experiment(tmp_path):
    lab = Lab.of(tmp_path, pair())
    with lab.folder.locked():
        assert lab.folder.is_running()
        with pytest.raises(StoreError, match="experiment 'heap-1' is running"):
            lab.run()
    assert not lab.folder.is_running()


def test_a_variant_that_does_not_start_is_recorded_and_the_rest_goes_on(tmp_path):
    variants = (*pair().variants, Variant("c", {"car": "nonsense"}))
    lab = Lab.of(tmp_path, pair(blocks=4, variants=variants))
    lab.runner.before = fails("c")
    end = lab.run()
    assert (end.progress.left(), end.progress.left_out_variants()) == ((), ("c",))
    assert [race.variant for race in end.progress.failed] == ["c", "c"]
    assert len(end.progress.block_races(("a", "b")).blocks) == 4
    result = lab.evaluation.result(end.progress)
    assert [(one.name, one.failure, one.is_left_out) for one in result.variants if one.failure] == [
        ("c", "no such car", True)
    ]


def test_an_experiment_ends_if_only_one_variant_is_left(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=5))
    lab.runner.before = fails("b")
    end = lab.run()
    assert end.progress.stopped == "too few variants can be raced: b"
    assert len(lab.runner.calls) <= 4


def test_a_race_whose_process_is_killed_is_repeated_a_few_times(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    first = lab.folder.plan().races[0].variant
    killed = ChildExit(-9)
    lab.runner.before = lambda call: killed if call.options["user-tags"]["variant"] == first else None
    lab.run()
    assert sum(call.options["user-tags"]["variant"] == first for call in lab.runner.calls) == MAX_ATTEMPTS
    assert [race.variant for race in lab.progress().failed] == [first]


def test_a_user_stops_an_experiment_and_the_race_is_repeated_later(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.runner.before = lambda _call: ChildExit(130, stopped=True) if len(lab.runner.calls) == 2 else None
    end = lab.run()
    assert (end.paused, end.interrupted) == ("stopped by the user", True)
    assert len(end.progress.ends) == 1
    assert lab.run().progress.left() == ()
    assert len(lab.runner.calls) == 7


def test_no_block_begins_that_exceeds_the_budget(tmp_path, monkeypatch):
    lab = Lab.of(tmp_path, pair(budget_s=500.0))
    clock = iter(range(0, 100_000, 100))
    monkeypatch.setattr(run_module.time, "monotonic", lambda: next(clock))
    end = lab.run()
    assert len(end.progress.ends) == 4
    assert end.paused == (
        "the budget of 8 min 20 s does not suffice for another block of 3 min 20 s: 6 min 40 s are used"
    )
    lab.experiment = replace(lab.experiment, budget_s=None)
    assert lab.run().progress.left() == ()


@pytest.mark.parametrize("error", ["cannot create races/x: the disk is full", "x: No space left on device"])
def test_a_race_that_a_full_disk_kept_from_beginning_is_repeated(tmp_path, error):
    lab = Lab.of(tmp_path, pair())
    lab.runner.before = lambda _call: ChildExit(64, error) if len(lab.runner.calls) == 2 else None
    end = lab.run()
    assert (end.paused, end.interrupted) == (error, False)
    assert (len(end.progress.ends), end.progress.failed) == (1, ())
    end = lab.run()
    assert (end.paused, end.progress.left(), end.progress.failed) == ("", (), ())
    assert len(lab.runner.calls) == 7


def test_a_race_that_fills_the_disk_fails(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))

    def fill(call):
        if len(lab.runner.calls) > 1:
            return None
        lab.runner.store(call, complete=False)
        return ChildExit(64, "cannot write samples: the disk is full")

    lab.runner.before = fill
    assert len(lab.run().progress.failed) == 1


def test_no_race_begins_on_a_full_disk(tmp_path, monkeypatch):
    lab = Lab.of(tmp_path, pair())
    monkeypatch.setattr(disk_space, "MIN_FREE_BYTES", 1 << 62)
    assert lab.run().paused.startswith("the disk of ")
    assert lab.runner.calls == []


def test_the_disks_of_data_paths_are_checked_too(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(run_module, "missing_space", lambda folders: checked.extend(folders) or "")
    monkeypatch.setenv("HOME", "/me")
    lab = Lab.of(tmp_path, pair(blocks=1, race={"track": "t", "data-paths": "/one, two;~/three"}))
    lab.data_root = tmp_path / "data"
    lab.run()
    own = [str(tmp_path), str(tmp_path / "data")]
    assert list(map(str, checked[:5])) == [*own, "/one", str(tmp_path / "two"), "/me/three"]


def generated(lab, root):
    """Makes the folders of the data of each block, and one of another experiment."""
    seeds = dict.fromkeys(race.seed for race in lab.folder.plan().races)
    folders = [root / "logs" / f"generated-9-seed-{seed}-0a1b" for seed in (*seeds, 42)]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "generated.json").touch()
    return folders


def test_data_that_was_generated_for_races_that_warm_up_is_removed_after_them(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1, warm_up=2))
    # They differ, so that the second one is needed.
    lab.runner.rate = lambda _call: 10_000.0 * 2 ** len(lab.runner.calls)
    first, *_ = generated(lab, tmp_path / "corpora")
    kept = []
    lab.runner.before = lambda _call: kept.append(first.exists())
    lab.run()
    assert kept == [True, True, False, False]


def test_generated_data_is_removed_from_the_folder_that_is_configured(tmp_path):
    lab = Lab.of(tmp_path / "home", pair(blocks=1))
    lab.data_root = tmp_path / "data"
    folders = generated(lab, lab.data_root)
    lab.run()
    assert [folder.exists() for folder in folders] == [False, True]


@pytest.mark.parametrize("given", ["~/data", "data"])
def test_generated_data_is_removed_from_the_folder_that_is_given(tmp_path, monkeypatch, given):
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = Lab.of(tmp_path, pair(blocks=1, race={"track": "t", "dataset-cache": given}))
    folders = generated(lab, tmp_path / "data")
    lab.run()
    assert [folder.exists() for folder in folders] == [False, True]


def test_generated_data_is_removed_when_an_experiment_ends_within_a_block(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=4))
    lab.runner.before = lambda call: (
        ChildExit(64, "no heap") if call.options["user-tags"]["variant"] == "a" else None
    )
    folders = generated(lab, tmp_path / "corpora")
    assert lab.run().progress.stopped
    assert [folder.exists() for folder in folders] == [False] * 4 + [True]


def test_data_that_was_generated_for_a_block_is_removed_after_it(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=2))
    folders = generated(lab, tmp_path / "corpora")
    kept = []
    lab.runner.before = lambda _call: kept.append([folder.exists() for folder in folders])
    lab.run()
    assert kept == [[True, True, True]] * 2 + [[False, True, True]] * 2
    assert [folder.exists() for folder in folders] == [False, False, True]


def test_a_machine_that_changes_between_blocks_is_noted_once(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.machine = lambda: structs.replace(MACHINE, kernel="6.2") if len(lab.runner.calls) >= 2 else MACHINE
    end = lab.run()
    assert end.progress.machine_changes == ["kernel 6.1 → 6.2"]
    (warning,) = [text for text in lab.events.told if text.startswith("warning")]
    assert warning == "warning: the machine is not as it was: kernel 6.1 → 6.2"
    assert lab.evaluation.result(end.progress).machine_changes == ("kernel 6.1 → 6.2",)


def test_all_races_use_the_engine_that_is_kept(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1, engine="keep"))
    lab.run()
    assert {call.options["target-hosts"] for call in lab.runner.calls} == {"127.0.0.1:39200"}


@pytest.mark.process  # It stores and compares many races.
def test_steps_of_a_ladder_are_kept_if_they_were_shown_to_be_better(tmp_path):
    steps = tuple(Variant(name, {"car-params": {name: True}}) for name in ("base", "good", "bad", "better"))
    gain = {"base": 1.0, "good": 1.2, "bad": 0.8, "better": 1.1}
    lab = Lab.of(tmp_path, Experiment(name="l", design="ladder", blocks=5, variants=steps))

    def rate(call):
        product = 1.0
        for name in call.options["car-params"]:
            product *= gain[name]
        return 10_000 * product * (1 + 0.001 * (len(lab.runner.calls) % 3))

    lab.runner.rate = rate
    progress = lab.run().progress
    assert progress.adopted == {1: True, 2: False, 3: True}
    result = lab.evaluation.result(progress)
    assert [step.adopted for step in result.variants] == [True, True, False, True]
    assert result.variants[-1].cumulative == pytest.approx(1.32, rel=0.01)
    assert result.confirmation.answer == "better"
    assert result.confirmation.primary[0].change.value == pytest.approx(0.32, abs=0.01)


@pytest.mark.process  # It stores and compares many races.
def test_a_sweep_finds_its_best_region(tmp_path):
    sweep = Experiment(name="s", design="sweep", blocks=5, factors=factors(heap="1g 2g 4g"))
    lab = Lab.of(tmp_path, sweep)
    rates = {"1g": 8_000.0, "2g": 10_000.0, "4g": 10_010.0}
    noise = {"1g": 0.01, "2g": 0.004, "4g": -0.004}

    def rate(call):
        name = call.options["car-params"]["heap"]
        return rates[name] * (1 + noise[name] * (len(lab.runner.calls) % 2))

    lab.runner.rate = rate
    result = lab.evaluation.result(lab.run().progress)
    cells = {cell.name: cell for cell in result.cells}
    assert [cell.name for cell in result.cells] == ["1g", "2g", "4g"]
    assert [cells[name].in_best_region for name in ("1g", "2g", "4g")] == [False, True, True]
    assert result.main_metric.label == "throughput:index-append"


@pytest.mark.process  # It stores and compares many races.
def test_a_screening_finds_the_factors_that_matter(tmp_path):
    screening = Experiment(
        name="s", design="screening", blocks=3, factors=factors(heap="low high", gc="g1 z", codec="x y")
    )
    lab = Lab.of(tmp_path, screening)

    def rate(call):
        params = call.options["car-params"]
        factor = 1.3 if params["heap"] == "high" else 1.0
        factor *= 0.9 if params["gc"] == "z" else 1.0
        return 10_000 * factor * (1 + 0.002 * (len(lab.runner.calls) % 5))

    lab.runner.rate = rate
    result = lab.evaluation.result(lab.run().progress)
    words = [(one.factor, one.word) for one in result.effects]
    assert words == [("heap", "better"), ("gc", "worse"), ("codec", "same")]
    assert result.effects[0].change.value == pytest.approx(0.3, abs=0.02)


def test_races_that_warm_up_end_when_two_in_a_row_hardly_differ(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1, warm_up=6))
    speeds = iter((5_000.0, 9_000.0, 10_000.0, 10_010.0))
    lab.runner.rate = lambda _call: next(speeds, 10_000.0)
    progress = lab.run().progress
    outcomes = [progress.ends[race.number].outcome for race in progress.plan.races]
    assert outcomes == ["raced"] * 4 + ["skipped"] * 2 + ["raced"] * 2
    assert lab.evaluation.result(progress).variants[0].races == 1
    # They are part of no block, so that a comparison by tag leaves them out.
    blocks = [call.options["user-tags"].get("block") for call in lab.runner.calls]
    assert blocks == [None] * 4 + ["1"] * 2


@pytest.mark.parametrize(("void", "left_out"), [(1, 1), (2, 0)])
def test_a_block_with_a_void_race_is_left_out_unless_there_are_many(tmp_path, void, left_out):
    progress = Lab.of(tmp_path, pair(blocks=5)).progress()
    for race in progress.plan.races:
        is_void = race.variant == "b" and race.block <= void
        progress.apply(
            Entry(
                event="ended",
                at="t",
                race=race.number,
                race_id=f"r{race.number}",
                outcome="raced",
                verdict="void" if is_void else "valid",
            )
        )
    blocks = progress.block_races(("a", "b"))
    assert (len(blocks.counted), blocks.is_biased) == (5 - void, left_out == 0)
    assert all(progress.ends[int(race_id[1:])].verdict == "void" for race_id in blocks.void_races)
