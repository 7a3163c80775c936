"""The options for the nodes to start: all forms, and one line for each mistake."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pacenote.cli.options.nodes import (
    NODE_OPTIONS,
    cpu_limit,
    data_paths,
    driver_cpus,
    memory_limit,
    node_cpus,
    node_groups,
    node_options,
)
from pacenote.errors import UsageError
from pacenote.model.node_options import NodeGroup, NodeLimits, NodeOptions


def given(**options: object) -> argparse.Namespace:
    return argparse.Namespace(**{**dict.fromkeys(NODE_OPTIONS), **options})


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("3", (NodeGroup(3),)),
        ("master:1,data:2", (NodeGroup(1, ("master",)), NodeGroup(2, ("data",)))),
        (
            "Cluster_Manager:3, data+ingest+data:2",
            (NodeGroup(3, ("cluster_manager",)), NodeGroup(2, ("data", "ingest"))),
        ),
        ("master+data:1,coordinating:1", (NodeGroup(1, ("master", "data")), NodeGroup(1, ()))),
    ],
)
def test_nodes_are_a_number_or_roles(text: str, groups: tuple[NodeGroup, ...]) -> None:
    assert node_groups(text) == groups


@pytest.mark.parametrize("text", ["0", "", "1000", "-1", "data", "data:0", ":1", "data:1,", "data+:1", "x:y"])
def test_nodes_in_another_form_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="is neither a number of nodes from 1 to 999 nor a list of roles"):
        node_groups(text)


def test_a_coordinating_node_has_no_role() -> None:
    with pytest.raises(UsageError, match="a node that is coordinating has no other role"):
        node_groups("data+coordinating:1")


def test_the_nodes_and_their_requests_are_counted() -> None:
    nodes = node_options(given(nodes=node_groups("master:1,data:2,coordinating:1,master+data:1")))
    assert nodes.count == 5
    assert nodes.roles == (("master",), ("data",), ("data",), (), ("master", "data"))
    assert nodes.request_targets == 4


def test_without_options_there_is_one_node() -> None:
    assert node_options(argparse.Namespace()) == NodeOptions()
    assert NodeOptions().count == NodeOptions().request_targets == 1


def test_a_list_is_for_all_nodes_or_for_each() -> None:
    nodes = node_options(given(nodes=node_groups("2"), node_cpus=node_cpus("0-1;2,3")))
    assert (nodes.cpus_of(0), nodes.cpus_of(1)) == ((0, 1), (2, 3))
    nodes = node_options(given(nodes=node_groups("2"), node_cpus=node_cpus("0-1")))
    assert (nodes.cpus_of(0), nodes.cpus_of(1)) == ((0, 1), (0, 1))
    assert NodeOptions().cpus_of(0) == NodeOptions().data_paths_of(0) == ()


def test_lists_that_do_not_fit_the_number_of_nodes_are_rejected() -> None:
    with pytest.raises(UsageError, match="--node-cpus has 2 lists for 3 nodes"):
        node_options(given(nodes=node_groups("3"), node_cpus=node_cpus("0;1")))
    with pytest.raises(UsageError, match="--data-paths has 2 lists for 1 node"):
        node_options(given(data_paths=data_paths("/a;/b")))


def test_data_paths_are_lists_for_each_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_paths("/a,/b;c") == ((Path("/a"), Path("/b")), (tmp_path / "c",))
    for text in ("", "/a,,/b", "/a;"):
        with pytest.raises(UsageError, match=r"--data-paths: .* names an empty path"):
            data_paths(text)


def test_limits_have_units() -> None:
    assert [memory_limit(text) for text in ("4g", "512M", "1gb", "1024")] == [
        4 << 30,
        512 << 20,
        1 << 30,
        1024,
    ]
    assert [cpu_limit(text) for text in ("2", "0.5")] == [2, 0.5]
    nodes = node_options(given(node_memory=1 << 30))
    assert nodes.limits == NodeLimits(memory=1 << 30)
    assert nodes.limits
    assert not NodeOptions().limits


@pytest.mark.parametrize("text", ["", "0", "-1g", "g", "1x", "1.5g"])
def test_a_memory_limit_in_another_form_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match=r"--node-memory: .* is not a size such as 4g or 512m"):
        memory_limit(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "two", "0.001"])
def test_a_cpu_limit_in_another_form_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match=r"--node-cpu-limit: .* is not a number of CPUs such as 2 or 0.5"):
        cpu_limit(text)


def test_mistakes_in_lists_of_cpus_name_the_option() -> None:
    with pytest.raises(UsageError, match="--node-cpus: 'x' is not a list of CPUs"):
        node_cpus("0-1;x")
    with pytest.raises(UsageError, match="--driver-cpus: '0;1' is not a list of CPUs"):
        driver_cpus("0;1")
