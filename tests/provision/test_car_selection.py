"""The car of a race: built-in or of a team repository, with the user's overrides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import UsageError
from pacenote.model.car_options import CarOverrides
from pacenote.model.engine_options import EngineOptions
from pacenote.model.team_options import LocatedTeam, TeamOptions
from pacenote.provision.car_selection import select_car
from teams.repositories import write_team


def options(**changes: Any) -> EngineOptions:
    return EngineOptions(**changes)


def team(root: Path, **changes: Any) -> EngineOptions:
    return options(team=TeamOptions(located=LocatedTeam(write_team(root), "mine")), **changes)


OVERRIDES = CarOverrides(
    settings={"http.compression": "false"},
    jvm_options=("-XX:+UseParallelGC",),
    environment={"A": "1"},
)


def test_overrides_replace_settings_and_the_garbage_collector() -> None:
    car = select_car(options(car=("4gheap", "g1gc", "http-compression", "ea"), overrides=OVERRIDES))
    assert car.settings == {"http.compression": "false"}
    assert car.environment == {"A": "1"}
    assert "-XX:+UseG1GC" not in car.jvm_options
    assert car.jvm_options[-1] == "-XX:+UseParallelGC"
    assert "-ea" in car.jvm_options


def test_options_of_the_user_come_last_so_that_a_jvm_uses_their_values() -> None:
    added = ("-XX:G1ReservePercent=10", "-XX:CompileCommand=quiet")
    jvm_options = select_car(options(car=("g1gc",), overrides=CarOverrides(jvm_options=added))).jvm_options
    assert jvm_options[-2:] == added
    assert "-XX:+UseG1GC" in jvm_options


def test_a_car_of_a_team_repository_is_composed(tmp_path: Path) -> None:
    car = select_car(team(tmp_path, car=("small", "buffers"), overrides=OVERRIDES))
    assert (car.name, car.heap_size) == ("small,buffers", "300m")
    # Names, ports and folders are those of each node.
    assert car.settings == {
        "action.auto_create_index": "no",
        "script.max_size_in_bytes": "1000",
        "indices.memory.index_buffer_size": "30%",
        "logger.org.example.index": "debug",
        "http.compression": "false",
    }
    assert "-XX:+UseG1GC" not in car.jvm_options
    assert car.variables["runtime.jdk"] == "21,17"
    assert car.notes == ()


def test_plugins_of_a_team_repository_must_be_installed(tmp_path: Path) -> None:
    car = select_car(team(tmp_path, car=("small",), plugins=("my-plugin:fast",)))
    assert car.plugins == ("my-plugin",)
    assert car.settings["plugin.mandatory"] == ["my-plugin"]
    assert car.settings["my.mode"] == "fast"


def test_isolation_wins_over_a_template_and_is_noted(tmp_path: Path) -> None:
    path = "cars/v1/plain/templates/config/elasticsearch.yml"
    root = write_team(tmp_path, {path: "network.host: 0.0.0.0\nhttp.port: {{ http_port }}\n"})
    located = TeamOptions(located=LocatedTeam(root, "mine"))
    car = select_car(options(car=("small",), team=located))
    assert "network.host" not in car.settings
    assert car.notes == ("not used of the car, since Pacenote isolates its nodes: network.host=0.0.0.0",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plugins": ("a:b",)}, "the configuration of plugin a needs a team repository"),
        ({"plugin_params": {"a": 1}}, "--plugin-params needs a team repository"),
        ({"overrides": CarOverrides(settings={"path.data": "/"})}, r"path\.data in --set cannot be changed"),
        ({"overrides": CarOverrides(jvm_options=("x",))}, "'x' in --jvm is not an option"),
        ({"overrides": CarOverrides(environment={"HOME": "/"})}, "HOME in --env cannot be set"),
    ],
)
def test_what_cannot_be_selected_is_reported(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_car(options(**changes))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"data_paths": "/d"}, "data_paths in --car-params has no effect"),
        ({"additional_cluster_settings": {"network": {"host": "x"}}}, "cannot be changed"),
        ({"additional_java_settings": "-Xmx1g"}, "sets the heap"),
        ({"heap_size": "lots"}, "heap_size 'lots'"),
    ],
)
def test_parameters_of_a_team_car_are_checked(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_car(team(tmp_path, car=("small",), car_params=params))
