"""The cars of a team repository."""

import os
from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.teams.definitions import list_cars, read_car
from pacenote.teams.plugins import list_plugins
from teams.repositories import write_team


def test_cars_come_before_mixins(tmp_path: Path) -> None:
    cars = list_cars(write_team(tmp_path))
    assert [(car.name, car.kind, car.description) for car in cars] == [
        ("large", "car", "A large heap"),
        ("small", "car", "A small heap"),
        ("buffers", "mixin", "Larger buffers"),
        ("serial", "mixin", "The serial collector"),
    ]


def test_variables_of_a_car_are_kept_apart_from_those_of_its_bases(tmp_path: Path) -> None:
    car = read_car(write_team(tmp_path), "buffers")
    assert [base.name for base in car.bases] == ["buffers", "plain"]
    # `${share}` is replaced, and the case and the dots of names are kept.
    assert car.variables == {"share": "30", "buffer": "30%"}
    assert car.base_variables == {"collector": "G1", "heap_size": "1g", "runtime.jdk": "21,17"}


def test_a_misspelt_car_is_reported_with_similar_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'has no car "smal" \(did you mean "small"\?\)') as caught:
        read_car(write_team(tmp_path), "smal")
    assert caught.value.hint == "cars: buffers, large, serial, small"


@pytest.mark.parametrize("name", ["../v1/small", "plain/config", "", "."])
def test_a_car_is_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="has no car"):
        read_car(write_team(tmp_path), name)


def test_a_missing_base_is_reported(tmp_path: Path) -> None:
    root = write_team(tmp_path, {"cars/v1/bad.ini": "[config]\nbase = plian\n"})
    with pytest.raises(EngineError, match=r'bad\.ini: there is no base "plian" \(did you mean "plain"\?\)'):
        read_car(root, "bad")


def test_a_base_outside_of_the_repository_is_refused(tmp_path: Path) -> None:
    root = write_team(tmp_path / "team", {"cars/v1/bad.ini": "[config]\nbase = ../../..\n"})
    with pytest.raises(EngineError, match=r'the base "../../.." is outside of'):
        read_car(root, "bad")


def test_other_formats_and_other_folders_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "cars" / "v2").mkdir(parents=True)
    with pytest.raises(EngineError, match="have the format v2; Pacenote reads v1"):
        list_cars(tmp_path)
    with pytest.raises(EngineError, match="is not a team repository: it has no folder cars/v1"):
        list_cars(tmp_path / "cars")


@pytest.mark.parametrize(
    "text", ["heap_size = 1g\n", "[variables]\nx = ${y}\n", "[variables]\nx = $\n", "[a]\nx=1\nx=2\n"]
)
def test_a_malformed_file_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    root = write_team(tmp_path, {"cars/v1/bad.ini": text})
    with pytest.raises(EngineError, match=r"bad\.ini is not a valid \.ini file: ") as caught:
        read_car(root, "bad")
    assert "\n" not in caught.value.message


def test_links_in_a_repository_do_no_harm(tmp_path: Path) -> None:
    root = write_team(tmp_path, {"cars/v1/other.ini": "[config]\nbase = bare\n"})
    (root / "cars" / "v1" / "bare").mkdir()
    (root / "cars" / "v1" / "bare" / "config.ini").symlink_to("a" * 300)
    (root / "cars" / "v9").symlink_to("v9")
    assert read_car(root, "other").base_variables == {}
    (root / "cars" / "v1" / "long.ini").symlink_to("a" * 300)
    with pytest.raises(EngineError, match=r"long\.ini cannot be read"):
        read_car(root, "long")


def test_a_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    root = write_team(tmp_path, {"cars/v1/large.ini": "", "plugins/v1/core-plugins.txt": ""})
    for name in ("cars/v1/large.ini", "plugins/v1/core-plugins.txt"):
        os.truncate(root / name, 2 << 20)
    with pytest.raises(EngineError, match=r"large\.ini cannot be read: it is larger than 1.0 MiB"):
        read_car(root, "large")
    with pytest.raises(EngineError, match=r"core-plugins\.txt cannot be read: .*larger than 1.0 MiB"):
        list_plugins(root)
