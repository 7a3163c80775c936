"""What limited a search: the engine, or too few connections."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.lab.limiting import limit_at
from pacenote.model.saturation import Objective, Probe, SaturationResult

CONNECTIONS = 8


def probe(rate: float, service_ms: float, *, outcome: str = "failed", capacity: float = 0.0) -> Probe:
    """Returns a probe of 10 s; beyond `capacity` operations per second, operations wait for a connection."""
    achieved = min(rate, capacity or rate)
    sent, unsent = round(achieved * 10), round((rate - achieved) * 10)
    waited = sent if 0 < capacity < rate else 0
    return Probe(
        number=1,
        rate=rate,
        achieved=achieved,
        work=achieved,
        error_rate=0.0,
        latency=(),
        waited=waited,
        unsent=unsent,
        outcome=outcome,  # type: ignore[arg-type]
        reasons=(),
        service_ms=service_ms,
        operations=sent,
        due=sent + unsent,
        late=waited + unsent,
    )


def search(*probes: Probe) -> SaturationResult:
    return SaturationResult(
        race_id="r",
        task="search",
        operation="search",
        unit="ops",
        work_per_operation=1.0,
        connections=CONNECTIONS,
        objective=Objective((), 0.01),
        precision=0.03,
        window_s=10.0,
        warmup_s=0.0,
        probes=probes,
    )


PASSED = probe(20.0, 200.0, outcome="passed")
"""Four of eight connections are in use."""

HELD = probe(50.0, 205.0, capacity=39.0)
"""All connections are in use, and replies as fast as with four."""


def test_an_engine_as_fast_with_all_connections_as_with_few_is_not_the_limit() -> None:
    assert limit_at(50.0, search(PASSED, HELD)) == "connections"
    # One of its probes shows that the engine became slower.
    slowed = probe(50.0, 300.0, capacity=27.0)
    assert limit_at(50.0, search(PASSED, HELD, slowed)) == "engine"


def test_an_engine_that_stops_as_a_whole_is_the_limit() -> None:
    """Without its pauses, it would do 39 / 0.7 = 56 of 50 operations per second, or 39 / 0.9 = 43."""
    for silent_share, limit in ((0.3, "engine"), (0.1, "connections"), (None, "connections")):
        stopped = replace(HELD, silent_share=silent_share)
        assert limit_at(50.0, search(PASSED, stopped)) == limit


def test_a_stop_that_chance_explains_is_not_one_of_the_engine() -> None:
    nearly = replace(HELD, achieved=49.9, silent_share=0.005)
    assert limit_at(50.0, search(PASSED, nearly)) == "connections"


@pytest.mark.parametrize("slots", [1, 4, 6])
def test_an_engine_that_serves_some_at_a_time_is_the_limit(slots: int) -> None:
    """Each takes 10 ms, and what the engine cannot serve waits in it."""
    most = slots * 100.0
    below = probe(most * 0.9, 10.0 if slots > 1 else 50.0, outcome="passed")
    above = probe(most * 1.1, CONNECTIONS / most * 1000.0, capacity=most)
    assert limit_at(above.rate, search(below, above)) == "engine"


@pytest.mark.parametrize(
    "probes",
    [
        # Nothing waited: latency itself was too long.
        (PASSED, replace(HELD, late=3)),
        # Only operations of the warm-up waited.
        (PASSED, replace(HELD, waited=300, unsent=0, late=0)),
        # The engine rejected operations.
        (PASSED, replace(HELD, error_rate=0.3)),
        # Nothing succeeded, or the probe is of an older version.
        (PASSED, replace(HELD, service_ms=None)),
        (PASSED, replace(HELD, due=None, late=None)),
        # Without a probe that used fewer connections, it is not known whether the engine became slower.
        (HELD,),
        (replace(HELD, rate=45.0), HELD),
    ],
)
def test_without_proof_a_failed_probe_is_that_of_the_engine(probes: tuple[Probe, ...]) -> None:
    assert limit_at(50.0, search(*probes)) == "engine"


def test_a_rate_of_which_no_probe_failed_was_not_decided() -> None:
    void, undecided = replace(HELD, outcome="void"), replace(HELD, outcome="undecided")
    assert limit_at(50.0, search(PASSED, void, undecided)) == "samples"
    assert limit_at(50.0, search(PASSED, void)) == "driver"
