"""What no car and no option can change."""

import pytest

from pacenote.errors import UsageError
from pacenote.model.car_options import CarOverrides
from pacenote.model.engine_options import EngineOptions
from pacenote.provision.car_rules import (
    belongs_to_node,
    check_engine_name,
    check_jvm_option,
    check_setting,
    check_variable,
)
from pacenote.provision.car_selection import select_car


@pytest.mark.parametrize(
    "name",
    [
        *("network.host", "network.host.0", "http.bind_host", "transport.publish_host.12", "grpc.host"),
        *("remote_cluster.bind_host", "flight.host", "arrow.flight.bind_host", "transport.profiles.x.port"),
        *("path.data", "path.repo.0", "discovery.seed_hosts", "cluster.initial_master_nodes"),
    ],
)
def test_settings_that_isolate_a_node_cannot_be_changed(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} in --set cannot be changed"):
        check_setting(name, "--set")
    assert belongs_to_node(name)


@pytest.mark.parametrize(
    ("name", "reason", "hint"),
    [
        ("path.repo", "share a folder for snapshots", "relative location"),
        ("path.data", "folders that Pacenote makes", "--data-paths"),
        ("path.logs", "folders that Pacenote makes", "remove it"),
        ("discovery.seed_hosts", "only joins the nodes", "--nodes"),
        ("network.host", "only listens on loopback", "--pipeline=benchmark-only"),
    ],
)
def test_the_true_reason_is_given(name: str, reason: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"{name} in --set cannot be changed: .*{reason}") as caught:
        check_setting(name, "--set")
    assert hint in (caught.value.hint or "")


def test_names_and_ports_in_templates_are_those_of_pacenote() -> None:
    assert all(map(belongs_to_node, ("cluster.name", "node.name.0", "http.port", "transport.tcp.port")))
    assert not any(
        map(belongs_to_node, ("http.compression", "node.attr.name", "node.attr.host", "cluster.routing.name"))
    )


NAMES = (
    "rally-benchmark",
    "Nightly_9.5",
    "_local",
    "1",
    "a" * 100,
    "a..b",
    "My Bench (2)",
    "Größe",
    "é" * 99,
)


@pytest.mark.parametrize("name", NAMES)
def test_usual_names_of_clusters_and_nodes_are_accepted(name: str) -> None:
    check_engine_name(name, "--cluster-name")


@pytest.mark.parametrize(
    "name",
    [
        *("../../docs/precious", "a/b", "..", ".hidden", "-x", "", "a" * 101, "a:b", " a", "a\n", "a\x1b[2J"),
        *("\U0001f600" * 100, "a\ud800"),
        *("${env:HOME}", "%i", "a\\b"),
    ],
)
def test_names_with_which_an_engine_would_write_to_other_files_are_refused(name: object) -> None:
    with pytest.raises(
        UsageError, match=r"--cluster-name cannot be .*: engines write to files with this name"
    ):
        check_engine_name(name, "--cluster-name")
    nested = {"cluster": {"name": name}}
    for engine, where in (
        (EngineOptions(overrides=CarOverrides(settings={"node.name": str(name)})), r"node\.name in --set"),
        (
            EngineOptions(car_params={"additional_cluster_settings": nested}),
            r"cluster\.name in additional_cluster_settings",
        ),
        (
            EngineOptions(car_params={"additional_cluster_settings": {"node.name.0": name}}),
            r"node\.name\.0 in additional_cluster_settings",
        ),
    ):
        with pytest.raises(UsageError, match=f"{where} cannot be"):
            select_car(engine)


def test_a_list_is_not_a_name() -> None:
    with pytest.raises(UsageError, match=r"node\.name in --set cannot be"):
        check_engine_name(["a"], "node.name in --set")


@pytest.mark.parametrize(
    "option",
    [
        *("UseZGC", "-a -b", "-a\n-b", ""),
        *("-Xmx1g", "-Xms1g", "-mx1g", "-XX:MaxHeapSize=1g", "-XX:MaxRAMPercentage=50"),
    ],
)
def test_what_is_not_an_option_of_the_jvm_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match=r"in --jvm (is not an option|sets the heap)"):
        check_jvm_option(option, "--jvm")


def test_an_option_and_its_value_are_one_option() -> None:
    with pytest.raises(UsageError, match="are two arguments of a command") as caught:
        check_jvm_option("--add-opens java.base/java.io=ALL-UNNAMED", "--jvm")
    assert caught.value.hint == "write them as one: --add-opens=java.base/java.io=ALL-UNNAMED"


@pytest.mark.parametrize("name", ["JAVA_HOME", "ES_PATH_CONF", "A B", "1A", ""])
def test_variables_that_pacenote_sets_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="in --env"):
        check_variable(name)


def test_other_variables_are_accepted() -> None:
    check_variable("MALLOC_ARENA_MAX")
