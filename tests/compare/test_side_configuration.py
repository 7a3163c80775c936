"""The races of one side of a comparison are of one configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compare.races import compared, race
from pacenote.compare.side_configuration import mixed_configuration
from pacenote.model.node_options import NodeGroup, NodeOptions
from pacenote.model.recorded_options import RecordedOptions


def mixed(*options: RecordedOptions, **changes: object) -> str:
    """Returns in what races with these options differ."""
    return mixed_configuration(
        compared(*(race(f"r{at}", at, options=own, **changes) for at, own in enumerate(options)))
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"settings": {"index.refresh_interval": "30s"}},
            "setting index.refresh_interval: not set (1), 30s (1)",
        ),
        ({"plugins": ("analysis-icu", "x")}, "plugins: not set (1), analysis-icu x (1)"),
        ({"plugin_params": {"a": 1}}, "plugin parameter a: not set (1), 1 (1)"),
        ({"revision": "4f2a"}, "source revision: not set (1), 4f2a (1)"),
        ({"runtime_jdk": 21}, "runtime JDK: not set (1), 21 (1)"),
        ({"jvm_options": ("-Xss1m",)}, "JVM options: not set (1), -Xss1m (1)"),
        (
            {"engine_variables": {"MALLOC_ARENA_MAX": "1"}},
            "engine variable MALLOC_ARENA_MAX: not set (1), 1 (1)",
        ),
        ({"telemetry": ("jfr",)}, "telemetry: not set (1), jfr (1)"),
        ({"include_tasks": ("term",)}, "include tasks: not set (1), term (1)"),
        ({"caches": "cold"}, "caches: not set (1), cold (1)"),
        ({"cooldown_s": 10.0}, "cooldown in seconds: 0.0 (1), 10.0 (1)"),
    ],
)
def test_options_of_the_race_are_part_of_the_configuration(options, text):
    assert mixed(RecordedOptions(), RecordedOptions(**options)) == text
    assert mixed(RecordedOptions(**options), RecordedOptions(**options)) == ""


def test_nodes_and_their_data_paths_are_part_of_the_configuration():
    nodes = NodeOptions(data_paths=((Path("/a"),),))
    text = mixed(
        RecordedOptions(nodes=nodes), RecordedOptions(nodes=replace(nodes, data_paths=((Path("/b"),),)))
    )
    assert "nodes data paths: " in text
    assert "/a" in text
    text = mixed(RecordedOptions(nodes=nodes), RecordedOptions(nodes=replace(nodes, groups=(NodeGroup(3),))))
    assert text.startswith("nodes groups: ")


def test_what_is_told_otherwise_is_not_told_twice():
    told = RecordedOptions(
        track_path="/tracks/a",
        track_revision="main",
        distribution_version="9",
        driver_scheduling="normal",
        team_path="/cars",
    )
    assert mixed(RecordedOptions(), told) == ""


def test_halves_of_a_machine_have_cpus_of_their_own():
    own = [
        RecordedOptions(driver_cpus=str(cpu), nodes=NodeOptions(cpus=((cpu,),), data_paths=((Path("/a"),),)))
        for cpu in (0, 4)
    ]
    assert mixed(*own, user_tags={"half": 1}) == ""
    assert "driver CPUs: 0 (1), 4 (1)" in mixed(*own)


def test_builds_of_one_version_differ():
    races = [race(f"r{at}", at) for at in range(2)]
    races = [
        replace(own, cluster=replace(own.cluster, build_hash=name))
        for own, name in zip(races, "ab", strict=True)
    ]
    assert mixed_configuration(compared(*races)) == "build hash: a (1), b (1)"
