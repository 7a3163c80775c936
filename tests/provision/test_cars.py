"""Cars are combined from left to right; unknown names and invalid values are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.provision.cars import CARS, compose_car
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import LOGS, gc_log_options


def test_the_default_car_has_a_heap_of_1g() -> None:
    car = compose_car([])
    assert (car.name, car.heap_size) == ("defaults", "1g")


def test_rallys_cars_exist() -> None:
    names = {"defaults", "1gheap", "2gheap", "4gheap", "8gheap", "16gheap", "24gheap"}
    names |= {"g1gc", "parallelgc", "zgc", "ea", "fp", "unpooled", "debug-non-safepoints"}
    names |= {"basic-license", "trial-license", "lean-watermarks"}
    assert names <= set(CARS)


def test_later_cars_override_earlier_ones_and_car_params_override_all() -> None:
    assert compose_car(["1gheap", "4gheap"]).heap_size == "4g"
    assert compose_car(["4gheap", "ea"]).heap_size == "4g"
    params = {
        "heap_size": "512m",
        "additional_cluster_settings": {"a.b": 1},
        "additional_java_settings": ["-XX:+UseZGC"],
    }
    car = compose_car(["4gheap", "fp"], params)
    assert (car.heap_size, car.settings) == ("512m", {"a.b": 1})
    assert car.jvm_options == ("-XX:+PreserveFramePointer", "-XX:+UseZGC")


def test_nested_settings_are_flattened_to_their_full_names() -> None:
    settings = {"http": {"port": 9201, "x": {"y": [1]}}, "cluster.routing.a": 1}
    car = compose_car([], {"additional_cluster_settings": settings})
    assert car.settings == {"http.port": 9201, "http.x.y": [1], "cluster.routing.a": 1}


def test_the_error_about_an_unknown_car_suggests_a_similar_name() -> None:
    with pytest.raises(UsageError, match="unknown car '4gheep'") as caught:
        compose_car(["4gheep"])
    assert "4gheap" in caught.value.hint


@pytest.mark.parametrize(
    ("cars", "params"), [(("x-pack-ml",), {}), (("own",), {}), ((), {"data_paths": "/data"})]
)
def test_the_error_about_what_is_not_built_in_names_team_repositories(
    cars: tuple[str, ...], params: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match=r"unknown (car|parameter)") as caught:
        compose_car(cars, params)
    assert "--team-repository=default has the cars of Rally" in caught.value.hint


def test_two_garbage_collectors_are_refused() -> None:
    with pytest.raises(UsageError, match=r"several garbage collectors: -XX:\+UseZGC, -XX:\+UseParallelGC"):
        compose_car(["zgc", "parallelgc"])


def test_a_car_can_set_the_settings_of_indices() -> None:
    assert compose_car(["best-compression"]).index_settings == {"index.codec": "best_compression"}


def test_every_car_is_composed_alone_and_has_a_description_of_one_line() -> None:
    for car in CARS.values():
        assert compose_car([car.name]).heap_size == (car.heap_size or "1g")
        assert 10 < len(car.description) < 80


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"heapsize": "1g"}, "unknown parameter 'heapsize'"),
        ({"heap_size": "lots"}, "heap_size 'lots'"),
        ({"heap_size": 1}, "heap_size"),
        ({"additional_cluster_settings": []}, "additional_cluster_settings"),
        ({"additional_cluster_settings": {"network.host": "0.0.0.0"}}, "loopback"),
        ({"additional_cluster_settings": {"http.bind_host": "0.0.0.0"}}, "loopback"),
        ({"additional_cluster_settings": {"path.data": "/"}}, "path.data"),
        ({"additional_cluster_settings": {"http": {"bind_host": "0.0.0.0"}}}, r"http\.bind_host .*loopback"),
        ({"additional_cluster_settings": {"http": {"a.b": {"c": 1}}, "path": {"data": "/"}}}, "path.data"),
        ({"additional_cluster_settings": {"transport.profiles": {"x": {"port": 1}}}}, "loopback"),
        ({"additional_cluster_settings": {"a: 1\nhttp.host": "0.0.0.0"}}, "not the name of a setting"),
        ({"additional_cluster_settings": {'"http.host"': "0.0.0.0"}}, "not the name of a setting"),
        ({"additional_cluster_settings": {"http.host ": "0.0.0.0"}}, "not the name of a setting"),
        ({"additional_java_settings": {"a": 1}}, "additional_java_settings"),
        ({"additional_java_settings": ["-Xmx4g"]}, "-Xmx4g"),
    ],
)
def test_invalid_car_params_are_named(params: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compose_car(["defaults"], params)


def test_the_verbose_log_of_the_garbage_collector_has_the_form_of_the_usual_one() -> None:
    java = JavaRuntime(Path("/java"), "21", "", frozenset(), "test")
    (usual,) = gc_log_options(java, Path(LOGS), ())
    (verbose,) = compose_car(["verbose-gc"]).jvm_options
    assert verbose.split(":")[2:] == usual.split(":")[2:]
