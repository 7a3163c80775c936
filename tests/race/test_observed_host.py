"""What is sampled of the host of a race."""

from __future__ import annotations

import os

import pytest

from pacenote.race.observed_host import all_node_cpus, observed_host, sampler_cpus


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


@pytest.mark.parametrize(
    ("nodes", "cpus"),
    [([], ()), ([()], ()), ([(2, 3), (0,)], (0, 2, 3)), ([(2, 3), ()], ())],
)
def test_nodes_may_use_the_cpus_that_were_selected_or_all(
    nodes: list[tuple[int, ...]], cpus: tuple[int, ...]
) -> None:
    assert all_node_cpus(nodes) == cpus


def test_a_host_without_nodes_has_the_driver_only() -> None:
    host = observed_host((), ())
    assert host.processes == (("driver", os.getpid()),)
    document = host.to_document()
    assert (document["nodes"], document["data_devices"], document["cpus"]) == ([], [], [])
