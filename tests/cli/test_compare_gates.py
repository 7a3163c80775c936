"""Gates of `pacenote compare` that could not have seen everything that they are about."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from compare.races import many_bulks, race, search
from pacenote.model.result import DurationSummary, percentiles_for
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.records import times

SIDES = ("--baseline=tag:variant=b", "--contender=tag:variant=c")


def store_races(order: str, change: float, drift: float = 0.0, without_search: int = -1) -> None:
    """Stores races b and c in blocks of two, in this order: c is `change` times as fast as b, and each race
    faster than the one before it by `drift`. One of them does not have the task that searches.
    """
    draw = random.Random(1)
    for at, side in enumerate(order):
        rate = 10_000 * (1 + drift) ** at * draw.gauss(1, 0.003) * (change if side == "c" else 1)
        searches = (search(2 * draw.gauss(1, 0.003)),)
        RaceStore().create(
            race(
                f"{side}{at:02}",
                at,
                tasks=(many_bulks(rate), *(() if at == without_search else searches)),
                user_tags={"experiment": "loop", "block": at // 2, "variant": side},
                car_params={"heap": side},
            )
        )


@pytest.mark.parametrize("word", ["probably-worse", "regression"])
def test_a_gate_that_a_drift_may_blind_says_so(run, word):
    store_races("bc" * 6, 0.95, 0.05)
    code, out, err = run("compare", *SIDES, f"--fail-on={word}", "--report-format=junit")
    assert code == 0
    reason = "may overlook a change: the baseline ran first in every block, so that a drift of the machine is"
    assert f"warning: --fail-on={word}:primary {reason} not excluded" in err
    assert reason in out
    code, _, err = run("compare", *SIDES, "--require=no-worse:5%")
    assert (code, "unclear: the baseline ran first in every block" in err) == (3, True)


def test_a_drift_does_not_fail_a_gate_for_what_is_worse(run):
    store_races("bc" * 6, 1.0, -0.05)
    code, _, err = run("compare", *SIDES, "--fail-on=worse")
    assert (code, "cannot fail: the baseline ran first in every block" in err) == (0, True)
    assert "use probably-worse" in err
    assert run("compare", *SIDES, "--fail-on=probably-worse")[0] == 3


def test_gates_trust_blocks_with_both_orders(run):
    store_races("bccb" * 3, 1.0, 0.05)
    code, _, err = run("compare", *SIDES, "--fail-on=probably-worse", "--require=no-worse:5%")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    "gate",
    [
        *("--fail-on=probably-worse", "--fail-on=worse", "--fail-on=unclear", "--require=no-worse:5%"),
        *("--fail-on=worse:throughput", "--require=no-worse:5%:error-rate"),
    ],
)
def test_a_task_that_one_race_lacks_fails_the_gates(run, gate):
    """It may be what became worse."""
    store_races("bccb" * 3, 1.0, without_search=11)
    code, out, err = run("compare", *SIDES, gate, "--report-format=junit")
    assert (code, "p90-latency:term" in err) == (3, True)
    assert failures(out) == ["p90-latency"]
    assert run("compare", *SIDES, "--fail-on=worse:throughput:index-append")[0] == 0
    screen = " ".join(run("compare", *SIDES, "--report=short")[1].split())
    assert "not all races have p90-latency:term" in screen


def store_short_race() -> None:
    """Stores races in blocks of which the last one has too few searches for p99, and no throughput of what it
    indexes.
    """
    store_races("bccb" * 3, 1.0)
    draw = random.Random(2)
    store = RaceStore()
    for folder in store.races.glob("*/race.json"):
        record = RaceFolder(folder.parent).read()
        is_last = record.race_id == "b11"
        latency = times_of(95 if is_last else 50_000, 2 * draw.gauss(1, 0.003))
        few = search(name="few", latency=latency, service_time=latency)
        first, *rest = record.tasks
        own = replace(first, throughput=None if is_last else first.throughput)
        RaceFolder(folder.parent).write(replace(record, tasks=(own, *rest, few)))


def times_of(count: int, p50: float) -> DurationSummary:
    """Returns times with the percentiles that so many have."""
    summary, known = times(count, p50), percentiles_for(count)
    return replace(summary, percentiles=tuple(each for each in summary.percentiles if each.q in known))


@pytest.mark.parametrize(
    "gate",
    [
        *("--fail-on=worse:p99", "--fail-on=probably-worse:p99", "--fail-on=unclear:p99"),
        *("--require=no-worse:50%:p99", "--fail-on=worse:p99-latency"),
    ],
)
def test_a_percentile_of_a_task_that_one_race_lacks_fails_the_gates_that_name_it(run, gate):
    store_short_race()
    code, out, err = run("compare", *SIDES, gate, "--report-format=junit")
    assert (code, "p99-latency:few" in err) == (3, True)
    assert failures(out) == ["p99-latency"]
    assert "99.9" not in err
    # Another percentile of the task, and the same one of other tasks, are those of all races.
    assert run("compare", *SIDES, "--fail-on=worse:p50,worse:p99:term")[0] == 0


def test_the_document_names_what_only_some_races_have(run):
    store_short_race()
    labels = json.loads(run("compare", *SIDES, "--report-format=json")[1])["partial_metrics"]
    assert {"throughput:index-append", "p99-latency:few", "p99-service-time:few"} <= set(labels)
    assert not {"p90-latency:few", "p99-latency:term"} & set(labels)


def test_what_lacks_for_each_option_is_a_failed_test(run):
    store_short_race()
    options = ("--fail-on=worse:p99", "--require=no-worse:50%:throughput", "--report-format=junit")
    code, out, err = run("compare", *SIDES, *options)
    assert code == 3
    assert "p99-latency:few" in err
    assert "throughput:index-append (not all races have it)" in err
    assert set(failures(out)) == {"p99-latency", "throughput"}


@pytest.mark.parametrize("gate", ["worse", "probably-worse", "unclear"])
def test_a_gate_that_fires_for_a_new_task_is_not_said_to_be_unable_to(run, gate):
    store_races("bc", 1.0, without_search=0)
    code, _, err = run("compare", *SIDES, f"--fail-on={gate}")
    assert (code, "p90-latency:term, so that it may be worse" in err) == (3, True)
    assert "cannot fail" not in err


def failures(out: str) -> list[str | None]:
    """Returns the names of the test cases that failed."""
    cases = ElementTree.fromstring(out).iter("testcase")
    return [case.get("name") for case in cases if case.find("failure") is not None]
