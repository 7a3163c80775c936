"""Operation types are found by their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pacenote
from e2e.test_operations import LEFT_OUT, RUN_IN_PYTHON, tasks, types_in
from pacenote.errors import TrackError
from pacenote.operations.base import include_in_reporting
from pacenote.operations.registry import find_type, known_types, resolve_type

TYPES = (
    "bulk", "cluster-health", "create-index", "delete-index", "force-merge", "index-stats", "raw-request",
    "refresh", "search", "sleep",
)  # fmt: skip


def test_every_file_of_the_package_is_a_type() -> None:
    assert set(TYPES) <= set(known_types())
    files = (Path(pacenote.__path__[0]) / "operations" / "types").glob("[!_]*.py")
    assert list(known_types()) == sorted(file.stem.replace("_", "-") for file in files)


def test_every_type_is_raced_against_an_engine_or_left_out_with_a_reason() -> None:
    raced = {name for name in types_in(tasks()) if find_type(name)} | RUN_IN_PYTHON
    assert len(raced) > 30, "found too few types in tests/e2e/test_operations.py"
    assert sorted(set(known_types()) - raced - LEFT_OUT.keys()) == [], (
        "add an operation of this type to tests/e2e/test_operations.py; if the type has `run`, list it in "
        "RUN_IN_PYTHON there and execute it, or add a reason to LEFT_OUT: "
        + "; ".join(f"{name} {reason}" for name, reason in LEFT_OUT.items())
    )
    assert sorted(raced & LEFT_OUT.keys()) == []
    assert sorted(LEFT_OUT.keys() - set(known_types())) == []


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_found_by_its_name(name: str) -> None:
    assert resolve_type(name).name == name


@pytest.mark.parametrize("name", ["registry", "base", "request", "raw_request", "", "no such", "a.b", "../x"])
def test_modules_without_an_operation_are_not_types(name: str) -> None:
    assert find_type(name) is None


def test_an_unknown_type_suggests_types_and_operations() -> None:
    with pytest.raises(TrackError) as caught:
        resolve_type("serch", ["search-all"])
    assert caught.value.message.startswith(
        '"serch" is neither an operation of the track nor an operation type'
    )
    assert '"search"' in caught.value.message
    with pytest.raises(TrackError, match='did you mean "index-append"'):
        resolve_type("index-apend", ["index-append"])


@pytest.mark.process
def test_only_the_module_of_the_type_is_imported() -> None:
    code = (
        "import sys; from pacenote.operations.registry import resolve_type; resolve_type('sleep');"
        "assert 'pacenote.operations.types.bulk' not in sys.modules; assert 'jinja2' not in sys.modules"
    )
    python = str(Path(pacenote.__path__[0]).parent)
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": python})


def test_the_flags_of_each_type_are_consistent() -> None:
    types = [operation_type for name in known_types() if (operation_type := find_type(name)) is not None]
    composable = {found.name for found in types if found.composable}
    assert {"composite", "search", "sleep"} <= composable
    assert [found.name for found in types if found.composable and found.run is not None] == []
    assert [found.name for found in types if found.assertable and found.run is not None] == [], (
        "assertions are not checked if `run` sends the requests"
    )
    assert [found.name for found in types if found.completes_task and found.run is None] == []
    capturing = {found.name for found in types if found.captures}
    assert capturing == {"open-point-in-time", "submit-async-search"}
    assert capturing <= composable


def test_reports_include_operations_by_type_unless_the_track_overrides_it() -> None:
    assert include_in_reporting(find_type("search"), {})
    assert include_in_reporting(None, {})
    assert not include_in_reporting(find_type("refresh"), {})
    assert include_in_reporting(find_type("refresh"), {"include-in-reporting": True})
    assert not include_in_reporting(find_type("search"), {"include-in-reporting": False})
    assert not include_in_reporting(find_type("search"), {"include-in-reporting": "false"})
