"""Gates of `pacenote compare` that could not have seen everything that they are about."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest

from compare.races import index, race, search
from pacenote.store.race_store import RaceStore

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
                tasks=(index(rate), *(() if at == without_search else searches)),
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
    suite = ElementTree.fromstring(out)
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["p90-latency"]
    assert run("compare", *SIDES, "--fail-on=worse:throughput:index-append")[0] == 0
    screen = " ".join(run("compare", *SIDES, "--report=short")[1].split())
    assert "not all races have p90-latency:term" in screen
