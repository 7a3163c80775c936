"""What is sampled of the host of a race."""

from __future__ import annotations

import os

import pytest

from pacenote.race.observed_host import observed_host, sampler_cpus


@pytest.mark.parametrize(
    ("driver", "nodes", "cpus"),
    [
        ((), [], ()),
        ((), [()], ()),
        ((0,), [()], (1, 2, 3)),
        ((0,), [(1,), (2,)], (3,)),
        # The nodes have all others: the sampler must not run beside the driver.
        ((0,), [(1, 2), (3,)], (1, 2, 3)),
        ((), [(0, 1)], (2, 3)),
        ((0, 1, 2, 3), [(0,)], ()),
    ],
)
def test_the_sampler_runs_away_from_what_is_measured(
    driver: tuple[int, ...], nodes: list[tuple[int, ...]], cpus: tuple[int, ...]
) -> None:
    assert sampler_cpus(driver, nodes, frozenset(range(4))) == cpus


def test_a_host_without_nodes_has_the_driver_only() -> None:
    host = observed_host((), ())
    assert host.processes == (("driver", os.getpid()),)
    document = host.to_document()
    assert (document["nodes"], document["data_devices"], document["cpus"]) == ([], [], [])
