"""Races that were disturbed from outside are repeated at their place, once."""

import json
from itertools import count

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import HALVES, MACHINE, KilledError, Lab, factors, pair
from pacenote.compare.groups import compare_groups
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.progress import ExperimentProgress, max_repeats
from pacenote.model.comparison import ComparedRace
from pacenote.model.experiment import Experiment, ExperimentPlan, JournalEntry
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import Verdict
from pacenote.model.target_rate import TargetRate
from pacenote.model.task_observations import TaskObservation, with_observations
from pacenote.report.experiment import build_experiment_report
from pacenote.store.race_folder import RaceFolder
from pacenote.verdict.outside_disturbances import outside_disturbance
from support.records import paced, record, task

pytestmark = pytest.mark.process

TASK = "index-append"
WAITED = Finding("the driver waited for a core", "machine", "", (TASK,), EVERYTHING)
MISSED = Finding("the engine is saturated", "engine", "", (TASK,), EVERYTHING)
BUSY = TaskObservation(other_share=0.44)
USED = f"{TASK}: programs beside engine and driver used 44 % of the processor time"


def disturbed(race, findings=(WAITED,), observed=BUSY, state="suspect"):
    """A race with these reasons during which this was observed."""
    return with_observations(replace(race, verdict=Verdict(state, findings)), {TASK: observed})


def disturb(lab, is_disturbed, **changes):
    """Lets races be disturbed whose ids are chosen."""

    def store(call):
        lab.runner.store(call)
        folder = RaceFolder(lab.races.races / call.race_id)
        if is_disturbed(call.race_id):
            folder.race_json.write_text(json.dumps(disturbed(folder.read(), **changes).to_document()))
        return ChildExit(0)

    lab.runner.before = store


def ids(lab):
    return [call.race_id.removeprefix("heap-1-") for call in lab.runner.calls]


def test_a_disturbed_race_is_repeated_right_after_it_and_voids_nothing(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=4, primary=(f"throughput:{TASK}",)))
    disturb(lab, lambda race_id: race_id == "heap-1-003")
    lab.runner.rate = lambda call: 1e4 if call.options["user-tags"]["variant"] == "a" else 2e4
    progress = lab.run().progress
    assert ids(lab) == ["001", "002", "003", "003.2", *(f"{number:03}" for number in range(4, 9))]
    first, second = lab.runner.calls[2:4]
    tags = second.options["user-tags"]
    assert tags == {**first.options["user-tags"], "repeats": "heap-1-003"}
    assert first.options["seed"] == second.options["seed"]
    result = lab.evaluation.result(progress)
    (contender,) = (each for each in result.variants if each.comparison)
    assert (contender.comparison.answer, contender.void_races) == ("better", ())
    assert not contender.comparison.findings or all(
        not each.makes_doubtful for each in contender.comparison.findings
    )
    (repeated,) = result.repeated
    assert (repeated.race_id, repeated.block) == ("heap-1-003", 2)
    assert repeated.reason.startswith(USED)
    notes = build_experiment_report(result).notes
    assert any(note.startswith("heap-1-003 (") and f"was repeated: {USED}" in note for note in notes)
    assert result.to_document()["repeated"][0]["race_id"] == "heap-1-003"
    # The second race of the block ran two places after the disturbed one.
    places = progress.places()
    assert places["heap-1-004"] - places["heap-1-003.2"] == 1
    assert places["heap-1-003.2"] == 1


def test_without_the_repetition_one_of_four_blocks_voids_the_answer(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=4, primary=(f"throughput:{TASK}",)))
    disturb(lab, lambda race_id: "-003" in race_id)
    progress = lab.run().progress
    assert ids(lab)[2:5] == ["003", "003.2", "004"]  # At most once.
    result = lab.evaluation.result(progress)
    assert result.variants[1].comparison.answer == "void"


def test_only_some_races_of_an_experiment_are_repeated(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=10))
    disturb(lab, lambda _race_id: True)
    lab.run()
    assert max_repeats(lab.folder.plan().races) == 4
    assert sum(race_id.endswith(".2") for race_id in ids(lab)) == 4


@pytest.mark.parametrize(
    ("findings", "observed", "state"),
    [
        # The variant itself may make the driver wait.
        ((WAITED,), TaskObservation(), "suspect"),
        # It counts.
        ((replace(WAITED, doubtful_from=None),), BUSY, "suspect"),
        # Other reasons depend on what was raced.
        ((WAITED, MISSED), BUSY, "suspect"),
        ((Finding("5 % of the operations failed", "engine"),), BUSY, "void"),
    ],
)
def test_what_does_not_come_from_outside_is_not_repeated(tmp_path, findings, observed, state):
    lab = Lab.of(tmp_path, pair(blocks=3))
    disturb(lab, lambda _race_id: True, findings=findings, observed=observed, state=state)
    progress = lab.run().progress
    assert not progress.disturbed
    assert not any("." in race_id for race_id in ids(lab))


def test_a_doubt_about_what_does_not_decide_is_no_reason_to_repeat(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=3, primary=(f"throughput:{TASK}",)))
    disturb(lab, lambda _race_id: True, findings=(replace(WAITED, doubtful_from=99.0),))
    assert not lab.run().progress.disturbed


@pytest.mark.parametrize(
    "driver", [{"clock": {"suspended_s": 60.0}}, {"cpus": {"numbers": [0], "stolen_share": 0.5}}]
)
def test_a_suspension_and_stolen_time_come_from_outside(driver):
    race = replace(record(), driver=driver, verdict=Verdict("void", (WAITED,)))
    assert outside_disturbance(race)
    assert not outside_disturbance(replace(race, driver={}))
    assert not outside_disturbance(replace(race, options=replace(race.options, test_mode=True)))


def test_a_race_that_also_missed_its_target_is_not_repeated():
    """More of the races of a slower variant would be, whatever other programs did."""
    own = {"window_operations": 20, "ended_by": "time", "window_s": 10.0, "window_from_s": 0.0}
    counts = replace(task().accounting, operations=20, succeeded=20, warmup=0, normal=20, waited=20)
    slow = paced("term", accounting=counts, **own)
    race = replace(
        record(tasks=(slow,)),
        driver={"cpus": {"numbers": [0], "stolen_share": 0.5}},
        verdict=Verdict("suspect", (WAITED,)),
    )
    assert outside_disturbance(race)
    assert not outside_disturbance(replace(race, targets={"term": TargetRate(50.0, operations=50.0)}))
    unhealthy = Finding("the cluster was red", "engine", tasks=("term",))
    assert not outside_disturbance(replace(race, verdict=Verdict("suspect", (WAITED, unhealthy))))


def test_an_experiment_that_goes_on_knows_what_it_has_repeated(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=3))
    disturb(lab, lambda race_id: "-002" in race_id)
    store = lab.runner.before
    stops = count()
    lab.runner.before = lambda call: ChildExit(130, stopped=True) if next(stops) == 2 else store(call)
    lab.run()
    assert ids(lab) == ["001", "002", "002.2"]
    lab.runner.before = store
    progress = lab.run().progress
    assert ids(lab)[3:5] == ["002.2", "003"]
    assert [entry.race for entry in progress.disturbed] == [2]
    assert progress.left() == ()


def test_a_disturbed_race_that_ended_after_a_kill_is_repeated(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=3))
    disturb(lab, lambda race_id: race_id == "heap-1-001")
    store = lab.runner.before

    def kill(call):
        store(call)
        raise KilledError

    lab.runner.before = kill
    with pytest.raises(KilledError):
        lab.run()
    lab.runner.before = store
    progress = lab.run().progress
    assert ids(lab)[:3] == ["001", "001.2", "002"]
    assert [entry.race_id for entry in progress.disturbed] == ["heap-1-001"]


def test_both_races_of_a_duet_are_repeated(tmp_path):
    lab = Lab.of(tmp_path, pair(design="duet", blocks=3))
    disturb(lab, lambda race_id: race_id == "heap-1-002")
    progress = lab.run().progress
    assert len(HALVES) == 2
    assert ids(lab)[:5] == ["001", "002", "001.2", "002.2", "003"]
    # They ran at the same time, as those of the other blocks: only their halves differ.
    places = {race_id.removeprefix("heap-1-"): place for race_id, place in progress.places().items()}
    assert places == {"001.2": 0, "002.2": 1, "003": 0, "004": 1, "005": 0, "006": 1}


def test_the_places_of_a_block_that_is_raced_again_are_those_of_its_plan():
    """What was repeated in it before it was left is not between its races."""
    experiment = Experiment(name="s", design="sweep", blocks=3, factors=factors(heap="1g 2g"))
    races = plan_races(experiment)
    progress = ExperimentProgress(
        ExperimentPlan(experiment_id="s-1", created="", seed=1, folder="/", machine=MACHINE, races=races)
    )
    progress.apply(JournalEntry(event="ended", at="", race=2, race_id="s-1-002", outcome="disturbed"))
    assert [*progress.places_in_plan().values()] == [1, 3, 4, 5, 6, 7]
    progress.apply(JournalEntry(event="repeated", at="", block=1))
    assert [*progress.places_in_plan().values()] == [1, 2, 3, 4, 5, 6]


def test_disturbed_races_count_towards_the_time_that_is_left(tmp_path, monkeypatch):
    clock = count(step=100.0)
    monkeypatch.setattr("pacenote.lab.experiment.run.time.monotonic", lambda: next(clock))
    lab = Lab.of(tmp_path, pair(blocks=5, cool_down_s=10.0))
    disturb(lab, lambda race_id: race_id == "heap-1-002")
    progress = lab.run().progress
    # Ten races and one that is repeated, each of 100 s after a wait of 10 s.
    assert progress.seconds == 11 * 110.0
    assert progress.seconds_per_race == pytest.approx(11 * 110.0 / 10)


def test_a_comparison_of_the_races_leaves_the_disturbed_one_out(tmp_path):
    """Also if the disturbed race is nearer in time to its partner than the one that repeats it."""
    lab = Lab.of(tmp_path, pair(blocks=3))
    plan = lab.folder.plan().races
    disturb(lab, lambda race_id: race_id == f"heap-1-{plan[1].number:03}")
    lab.run()
    sides = {"a": [], "b": []}
    for call in lab.runner.calls:
        race = RaceFolder(lab.races.races / call.race_id).read()
        sides[race.user_tags["variant"]].append(ComparedRace(race))
    comparison = compare_groups(sides["a"], sides["b"])
    assert comparison.design == "paired"
    compared = {race.race_id for side in (comparison.baseline, comparison.contender) for race in side.races}
    assert compared == {f"heap-1-{number}" for number in ("001", "002.2", "003", "004", "005", "006")}
    assert (
        "not compared, because their experiment repeated them: heap-1-002 (by heap-1-002.2)"
        in comparison.notes
    )
