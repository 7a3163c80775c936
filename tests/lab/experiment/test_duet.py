"""Duets: both variants race at the same time, each on a half of the machine."""

from collections import Counter
from itertools import count

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import HALVES, Lab, pair
from pacenote.errors import UsageError
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.duet import duet_problems
from pacenote.lab.experiment.halves import machine_halves
from pacenote.model.experiment import Half, Variant


def duet(**changes):
    return pair(**{"design": "duet", "blocks": 4} | changes)


def lab_of(home, **changes):
    return Lab.of(home, duet(**changes))


def outcomes(lab):
    entries = [entry for entry in lab.folder.journal() if entry.event == "ended"]
    return [(entry.race, entry.outcome) for entry in entries]


def test_each_variant_is_on_either_half_equally_often():
    races = plan_races(duet(blocks=20))
    assert Counter((race.variant, race.half) for race in races) == {
        (name, half): 10 for name in "ab" for half in (1, 2)
    }
    assert all(race.half == 2 - race.number % 2 for race in races)
    assert {race.half for race in plan_races(pair())} == {0}


def test_both_races_of_a_block_run_at_the_same_time_each_on_its_half(tmp_path):
    lab = lab_of(tmp_path)
    assert lab.run().progress.left() == ()
    assert [len(calls) for calls in lab.runner.rounds] == [2, 2, 2, 2]
    for calls in lab.runner.rounds:
        own = [(call.options["node-cpus"], call.options["driver-cpus"]) for call in calls]
        assert own == [(half.node_cpus, half.driver_cpus) for half in HALVES]
        assert len({call.options["seed"] for call in calls}) == 1
        assert {call.gate for call in calls} == {lab.folder.start_gate}
        assert {call.options["user-tags"]["variant"] for call in calls} == {"a", "b"}
        assert [call.options["user-tags"]["half"] for call in calls] == ["1", "2"]


def test_both_races_of_a_block_share_the_wait_before_them(tmp_path, monkeypatch):
    clock = count(step=100.0)
    monkeypatch.setattr("pacenote.lab.experiment.run.time.monotonic", lambda: next(clock))
    lab = lab_of(tmp_path, cool_down_s=60.0)
    progress = lab.run().progress
    assert lab.waits.count(60.0) == 4
    assert progress.seconds == 4 * 160.0
    assert progress.seconds_per_race == 80.0


def test_a_faster_half_does_not_change_the_result(tmp_path):
    lab = lab_of(tmp_path, blocks=6)

    def rate(call):
        own = 10_000 * (1 + 0.001 * (len(lab.runner.calls) % 3))
        own *= 1.3 if call.options["node-cpus"] == HALVES[1].node_cpus else 1.0
        return own * (1.1 if call.options["user-tags"]["variant"] == "b" else 1.0)

    lab.runner.rate = rate
    result = lab.evaluation.result(lab.run().progress)
    (throughput,) = (one for one in result.variants[1].comparison.primary if one.metric.key == "throughput")
    assert throughput.word == "better"
    assert throughput.change.value == pytest.approx(0.1, abs=0.003)
    assert throughput.change.high - throughput.change.low < 0.02


def test_if_one_race_is_killed_both_are_repeated(tmp_path):
    lab = lab_of(tmp_path, blocks=3)
    lab.runner.before = lambda _call: ChildExit(-9) if len(lab.runner.calls) == 2 else None
    assert lab.run().progress.left() == ()
    assert outcomes(lab)[:4] == [(1, "raced"), (2, "killed"), (1, "raced"), (2, "raced")]
    assert len(lab.runner.calls) == 8


def test_a_variant_that_fails_leaves_no_pair(tmp_path):
    lab = lab_of(tmp_path)
    failed = ChildExit(1, "no such car")
    lab.runner.before = lambda call: failed if call.options["user-tags"]["variant"] == "b" else None
    end = lab.run()
    assert end.progress.block_races(("a", "b")).blocks == ()
    assert end.progress.stopped == "too few variants can be raced: b"
    assert len(lab.runner.rounds) == 2


def test_both_races_are_repeated_after_a_kill_in_the_middle(tmp_path):
    lab = lab_of(tmp_path, blocks=3)
    lab.run_until_killed(4)
    assert len(lab.progress().open_races) == 2
    lab.runner.before = lambda _call: None
    assert lab.run().progress.left() == ()
    # The first race of the block was complete, but the other one was not.
    assert outcomes(lab)[2:6] == [(3, "raced"), (4, "interrupted"), (3, "raced"), (4, "raced")]
    assert [len(calls) for calls in lab.runner.rounds[2:]] == [2, 2]


def test_no_race_runs_alone_after_a_kill_between_the_ends_of_both(tmp_path):
    lab = lab_of(tmp_path, blocks=3)
    lab.runner.before = lambda _call: ChildExit(1, "out of memory") if len(lab.runner.calls) == 2 else None
    lab.run()
    lines = lab.folder.journal_file.read_bytes().splitlines(keepends=True)
    lab.folder.journal_file.write_bytes(b"".join(lines[:3]))
    assert lab.progress().open_races.keys() == {2}
    lab.runner.rounds.clear()
    lab.run()
    assert outcomes(lab)[:4] == [(1, "raced"), (2, "interrupted"), (1, "raced"), (2, "raced")]
    assert all(len(calls) == 2 for calls in lab.runner.rounds)


def machine(folder, *cores, packages=1):
    """Files of a machine with these cores, each a list of hardware threads."""
    for at, threads in enumerate(cores):
        for cpu in threads:
            topology = folder / f"devices/system/cpu/cpu{cpu}/topology"
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(",".join(map(str, threads)) + "\n")
            (topology / "physical_package_id").write_text(f"{at * packages // len(cores)}\n")
    return folder


@pytest.mark.parametrize(
    ("cores", "usable", "halves"),
    [
        ([[0], [1]], range(2), (Half("0", "0"), Half("1", "1"))),
        ([[0, 2], [1, 3]], range(4), (Half("0,2", "0,2"), Half("1,3", "1,3"))),
        ([[0], [1], [2], [3]], range(4), (Half("0", "1"), Half("2", "3"))),
        ([[0], [1], [2]], range(3), (Half("0", "0"), Half("2", "2"))),
        ([[cpu] for cpu in range(16)], range(16), (Half("0-5", "6-7"), Half("8-13", "14-15"))),
        ([[cpu] for cpu in range(8)], range(2, 6), (Half("2", "3"), Half("4", "5"))),
    ],
)
def test_the_halves_share_no_core(tmp_path, cores, usable, halves):
    assert machine_halves(usable, machine(tmp_path, *cores)) == halves


def test_two_packages_are_two_halves(tmp_path):
    cores = [[0], [2], [4], [6], [1], [3], [5], [7]]
    halves = machine_halves(range(8), machine(tmp_path, *cores, packages=2))
    assert halves == (Half("0,2,4", "6"), Half("1,3,5", "7"))


def test_a_machine_without_topology_is_divided_by_numbers(tmp_path):
    assert machine_halves((0, 1), tmp_path) == (Half("0", "0"), Half("1", "1"))


def test_two_threads_of_one_core_are_too_few(tmp_path):
    with pytest.raises(UsageError, match="a duet needs 2 cores, one for each engine with its driver, but"):
        machine_halves((0, 1), machine(tmp_path, [0, 1]))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"race": {"target-hosts": "h:9200"}}, "[race]: target-hosts cannot be given: a duet starts both"),
        ({"race": {"pipeline": "docker"}}, "[race]: pipeline docker cannot be used"),
        ({"race": {"node-cpus": "0"}}, "[race]: node-cpus cannot be given"),
        ({"race": {"data": "keep:logs"}}, "[race]: data keep cannot be used"),
        ({"race": {"set": ["engine.http.port=39200"]}}, "[race]: engine.http.port=39200 cannot be used"),
        ({"engine": "keep"}, 'engine = "keep" cannot be used by a duet'),
        ({"warm_up": 1}, "warm-up cannot be used by a duet"),
        ({"variants": (Variant("a"), Variant("b", {"driver-cpus": "1"}))}, '"b": driver-cpus cannot be'),
    ],
)
def test_what_two_engines_at_once_cannot_have_is_refused(changes, expected):
    ((_, problem),) = duet_problems(duet(**changes))
    assert problem.startswith(expected)
    assert list(duet_problems(replace(duet(), race={"set": ["index.codec=default"]}))) == []
