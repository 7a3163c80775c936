"""Options and ports become the specs and settings of the nodes of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.model.engine import EngineInfo
from pacenote.model.node_options import NodeGroup, NodeLimits, NodeOptions
from pacenote.provision.engine_program import NodePorts
from pacenote.provision.node_plan import membership, plan_nodes, role_warnings
from pacenote.provision.node_spec import NodeSpec

OPENSEARCH = EngineInfo("opensearch", "3.3.0")
ELASTICSEARCH = EngineInfo("elasticsearch", "9.5.3")
REPOSITORY = Path("/nodes/first, of two/repository")
SHARED = {"path.repo": [str(REPOSITORY)]}
TEMPLATE = NodeSpec("engine", "1.0")
THREE = NodeOptions((NodeGroup(3),))
SPLIT = NodeOptions((NodeGroup(1, ("master",)), NodeGroup(2, ("data",))))


def with_ports(specs: tuple[NodeSpec, ...]) -> list[tuple[NodeSpec, NodePorts]]:
    return [(spec, NodePorts(9200 + index, 9300 + index)) for index, spec in enumerate(specs)]


def test_one_node_keeps_its_name_and_forms_a_cluster_alone() -> None:
    template = NodeSpec("engine", "1.0", name="mine", settings={"http.port": 9200})
    (spec,) = plan_nodes(NodeOptions(), template, OPENSEARCH)
    assert (spec.name, spec.roles, spec.settings) == ("mine", None, {"http.port": 9200})
    assert membership(spec, with_ports((spec,)), REPOSITORY).settings == {
        **SHARED,
        "discovery.type": "single-node",
    }


def test_several_nodes_find_each_other() -> None:
    specs = plan_nodes(THREE, TEMPLATE, OPENSEARCH)
    assert [spec.name for spec in specs] == ["rally-node-0", "rally-node-1", "rally-node-2"]
    assert membership(specs[1], with_ports(specs), REPOSITORY).settings == {
        **SHARED,
        "discovery.seed_hosts": ["127.0.0.1:9300", "127.0.0.1:9301", "127.0.0.1:9302"],
        "cluster.initial_cluster_manager_nodes": ["rally-node-0", "rally-node-1", "rally-node-2"],
    }
    names = tuple(spec.name for spec in specs)
    assert membership(specs[1], with_ports(specs), REPOSITORY).all_node_names == names
    assert all(spec.takes_requests for spec in specs)


@pytest.mark.parametrize(
    ("engine", "role"),
    [
        (OPENSEARCH, "cluster_manager"),
        (EngineInfo("opensearch", "2.19.6"), "cluster_manager"),
        (EngineInfo("opensearch", "1.3.0"), "master"),
        (ELASTICSEARCH, "master"),
        (EngineInfo("elasticsearch", "7.17.28"), "master"),
    ],
)
def test_the_manager_has_the_name_that_the_engine_knows(engine: EngineInfo, role: str) -> None:
    for name in ("master", "cluster_manager"):
        options = NodeOptions((NodeGroup(1, (name,)), NodeGroup(1, ("data",))))
        specs = plan_nodes(options, TEMPLATE, engine)
        assert membership(specs[0], with_ports(specs), REPOSITORY).settings == {
            **SHARED,
            "node.roles": [role],
            "discovery.seed_hosts": ["127.0.0.1:9300"],
            f"cluster.initial_{role}_nodes": ["rally-node-0"],
        }
        assert membership(specs[1], with_ports(specs), REPOSITORY).settings["node.roles"] == ["data"]


def test_nodes_that_only_manage_the_cluster_take_no_requests() -> None:
    specs = plan_nodes(SPLIT, TEMPLATE, OPENSEARCH)
    assert [spec.takes_requests for spec in specs] == [False, True, True]
    assert [spec.can_manage for spec in specs] == [True, False, False]


def test_every_node_gets_its_cpus_limits_and_data_paths() -> None:
    a, b, c = Path("/a"), Path("/b"), Path("/c")
    limits = NodeLimits(1 << 30, 0.5)
    options = NodeOptions((NodeGroup(2),), ((0,), (1, 2)), limits, ((a, b), (c,)))
    first, second = plan_nodes(options, TEMPLATE, OPENSEARCH)
    assert (first.cpus, first.limits, first.data_paths) == ((0,), limits, (a, b))
    assert (second.cpus, second.limits, second.data_paths) == ((1, 2), limits, (c,))


@pytest.mark.parametrize(
    ("roles", "engine", "message"),
    [
        ([("data",)], OPENSEARCH, "no node has the role cluster_manager, so the cluster would not form"),
        ([("master",)], ELASTICSEARCH, "no node has the role data, so there can be no indices"),
        ([("master",), ("data_hot",)], OPENSEARCH, "no node has the role data"),
        ([("master",), ("dta",)], ELASTICSEARCH, "elasticsearch has no role 'dta'"),
        ([("master", "data")], EngineInfo("elasticsearch", "7.3.0"), "7.3.0 has no setting for roles"),
    ],
)
def test_roles_that_make_no_cluster_are_rejected(
    roles: list[tuple[str, ...]], engine: EngineInfo, message: str
) -> None:
    options = NodeOptions(tuple(NodeGroup(1, each) for each in roles))
    with pytest.raises(UsageError, match=message):
        plan_nodes(options, TEMPLATE, engine)


@pytest.mark.parametrize(
    ("roles", "hint"),
    [
        ([("master",), ("dat",)], "did you mean data in place of dat?"),
        ([("master",), ("ml",)], "add data:1"),
        ([("cluster_manger",), ("data",)], "did you mean cluster_manager in place of cluster_manger?"),
    ],
)
def test_a_misspelt_role_of_an_engine_with_roles_of_any_name_is_found(
    roles: list[tuple[str, ...]], hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan_nodes(NodeOptions(tuple(NodeGroup(1, each) for each in roles)), TEMPLATE, OPENSEARCH)
    assert caught.value.hint == hint


def test_tiers_and_roles_of_plugins_are_accepted() -> None:
    hot = NodeOptions((NodeGroup(1, ("master",)), NodeGroup(1, ("data_hot", "data_content"))))
    assert plan_nodes(hot, TEMPLATE, ELASTICSEARCH)[1].roles == ("data_hot", "data_content")
    dynamic = NodeOptions((NodeGroup(1, ("master", "data")), NodeGroup(1, ("ml",))))
    assert plan_nodes(dynamic, TEMPLATE, OPENSEARCH)[1].roles == ("ml",)


@pytest.mark.parametrize("name", ["http.port", "transport.port", "node.name"])
def test_settings_that_differ_between_nodes_are_rejected_for_several(name: str) -> None:
    template = NodeSpec("engine", "1.0", settings={name: "1"})
    with pytest.raises(UsageError, match=f"{name} cannot be the same for 3 nodes"):
        plan_nodes(THREE, template, OPENSEARCH)


def test_a_cluster_without_ingest_nodes_is_warned_about() -> None:
    assert role_warnings(THREE) == ()
    assert role_warnings(NodeOptions((NodeGroup(1, ("master", "data", "ingest")),))) == ()
    (warning,) = role_warnings(SPLIT)
    assert "no node has the role ingest" in warning
