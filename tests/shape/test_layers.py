"""Which packages a package may import: the tables below, which ARCHITECTURE.md summarizes in groups."""

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from shape.imports import imported_modules
from shape.sources import CRATES, PACKAGE, ROOT, parse

OPEN_TO_ALL = {"errors", "system", "units", "version"}

MAY_IMPORT: Mapping[str, set[str]] = {
    "errors": set(),
    "system": {"errors", "units"},
    "units": set(),
    "version": set(),
    "model": OPEN_TO_ALL,
    "operations": OPEN_TO_ALL | {"model"},
    "repository": OPEN_TO_ALL | {"model"},
    "track": OPEN_TO_ALL | {"model", "operations", "repository"},
    "plan": OPEN_TO_ALL | {"model", "operations"},
    "figures": OPEN_TO_ALL | {"model"},
    "verdict": OPEN_TO_ALL | {"model"},
    "store": OPEN_TO_ALL | {"model", "figures", "verdict"},
    "metrics_store": OPEN_TO_ALL | {"model", "figures", "net", "store", "_core"},
    "importers": OPEN_TO_ALL | {"model", "figures", "verdict"},
    "serve": OPEN_TO_ALL | {"model", "figures", "store", "report"},
    "stats": OPEN_TO_ALL | {"model"},
    "compare": OPEN_TO_ALL | {"model", "figures", "stats", "verdict"},
    "diagnose": OPEN_TO_ALL | {"model", "figures"},
    "report": OPEN_TO_ALL | {"model", "figures", "verdict"},
    "host": OPEN_TO_ALL | {"model"},
    "net": OPEN_TO_ALL | {"model"},
    "fetch": OPEN_TO_ALL | {"model", "net"},
    "provision": OPEN_TO_ALL | {"model", "net", "fetch", "teams"},
    "sources": OPEN_TO_ALL | {"model", "repository", "fetch", "provision"},
    "cluster": OPEN_TO_ALL | {"model", "net", "provision"},
    "capture": OPEN_TO_ALL | {"model", "net", "cluster"},
    "plugins": OPEN_TO_ALL | {"model", "operations"},
    "teams": OPEN_TO_ALL | {"model", "repository", "plugins"},
    "python_tasks": OPEN_TO_ALL | {"model", "operations", "plugins", "_core"},
    "telemetry": OPEN_TO_ALL | {"model", "net"},
    "evidence": OPEN_TO_ALL | {"model", "store", "stats", "compare", "diagnose", "_core"},
    "export": OPEN_TO_ALL | {"model", "figures", "_core"},
    "race": OPEN_TO_ALL
    | {"model", "operations", "track", "plan", "host", "net", "fetch", "provision", "cluster", "plugins"}
    | {"sources", "teams", "verdict", "evidence"}
    | {"python_tasks", "telemetry", "store", "stats", "_core"},
    "lab": OPEN_TO_ALL
    | {"model", "track", "plan", "verdict", "evidence", "store", "stats", "race", "compare"},
    "cli": OPEN_TO_ALL
    | {
        "model",
        "figures",
        "repository",
        "teams",
        "track",
        "plan",
        "host",
        "provision",
        "sources",
        "cluster",
        "capture",
        "telemetry",
        "store",
        "report",
        "race",
        "lab",
        "compare",
        "diagnose",
        "evidence",
        "export",
        "importers",
        "metrics_store",
        "serve",
    },
    "__main__": {"cli"},
    "__init__": set(),
}
"""Package or module of Pacenote → the other packages of Pacenote that it may import."""

RUST_MAY_DEPEND: Mapping[str, set[str]] = {
    "plan": set(),
    "stats": set(),
    "record": {"stats"},
    "corpus": set(),
    "evidence": {"stats"},
    "driver": {"plan", "record", "corpus"},
    "host": {"record"},
    "python": {"plan", "record", "corpus", "driver", "host", "evidence"},
}
"""Crate → the crates of Pacenote that it may depend on."""

IMPURE = {"tokio", "socket2", "httparse", "hyper", "reqwest", "rustls", "futures", "async-std", "pyo3"}
"""Async, network and Python crates, which the pure crates must not use."""

PURE = ("plan", "record", "corpus", "host", "evidence", "stats")


def part_of(path: Path) -> str:
    """Returns the package or module of Pacenote to which a file belongs."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports() -> dict[str, set[str]]:
    """Maps each package or module of Pacenote to the packages and modules that it imports."""
    by_part: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
        ours = {
            name.split(".")[1]
            for name in imported_modules(parse(path), package)
            if name.startswith("pacenote.") and name != "pacenote"
        }
        by_part.setdefault(part_of(path), set()).update(ours - {part_of(path)})
    assert len(by_part) > 10, "the guard found hardly any packages: has the source moved?"
    assert sum(map(len, by_part.values())) > 30, "the guard found hardly any imports"
    return by_part


def dependencies() -> dict[str, set[str]]:
    """Maps each crate to its build dependencies; crates of Pacenote are named without their prefix."""
    by_crate = {}
    for manifest in CRATES.glob("*/Cargo.toml"):
        tables = tomllib.loads(manifest.read_text())
        assert "target" not in tables, "the guard does not read dependencies by platform"
        by_crate[manifest.parent.name] = {name.removeprefix("pacenote-") for name in tables["dependencies"]}
    assert set(by_crate) >= {"plan", "stats", "record", "corpus", "evidence", "driver", "python"}
    return by_crate


def test_every_package_imports_only_what_the_table_allows():
    by_part = imports()
    assert set(by_part) == set(MAY_IMPORT), "a new package needs a row in the table"
    forbidden = {part: names - MAY_IMPORT[part] for part, names in by_part.items()}
    assert {part: names for part, names in forbidden.items() if names} == {}


def test_every_import_that_the_table_allows_exists():
    unused = {part: names - OPEN_TO_ALL - imports()[part] for part, names in MAY_IMPORT.items()}
    assert {part: names for part, names in unused.items() if names} == {}
    unused = {crate: names - dependencies()[crate] for crate, names in RUST_MAY_DEPEND.items()}
    assert {crate: names for crate, names in unused.items() if names} == {}


def test_the_table_of_contents_of_a_race_fits_on_a_few_screens():
    path = PACKAGE / "race" / "run.py"
    modules = {name.rpartition(".")[0] for name in imported_modules(parse(path), "pacenote.race")}
    assert len({name for name in modules if name.startswith("pacenote.")}) <= 20
    assert path.read_text().count("\n") <= 250


def test_modules_of_operation_types_are_imported_by_types_only():
    types = PACKAGE / "operations" / "types"
    by_path = {}
    for path in PACKAGE.rglob("*.py"):
        package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
        names = [name for name in imported_modules(parse(path), package) if ".operations.types." in name]
        by_path[path] = names
    assert by_path[types / "esql_profile.py"] == ["pacenote.operations.types.esql.query_calls"]
    wrong = [path.name for path, names in by_path.items() if names and path.parent != types]
    assert wrong == [], "move what they share into pacenote.operations"


def test_only_few_packages_import_the_core():
    assert {part for part, names in imports().items() if "_core" in names} == {
        "evidence",
        "export",
        "metrics_store",
        "python_tasks",
        "race",
    }


@pytest.mark.parametrize("graph", [imports, dependencies, lambda: MAY_IMPORT, lambda: RUST_MAY_DEPEND])
def test_packages_and_crates_have_no_import_cycle(graph):
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as cycle:
        pytest.fail(" → ".join(cycle.args[1]))


def test_every_crate_depends_only_on_what_the_table_allows():
    by_crate = dependencies()
    assert set(by_crate) == set(RUST_MAY_DEPEND), "a new crate needs a row in the table"
    ours = {crate: names & set(by_crate) - RUST_MAY_DEPEND[crate] for crate, names in by_crate.items()}
    assert {crate: names for crate, names in ours.items() if names} == {}


@pytest.mark.parametrize("crate", PURE)
def test_pure_crates_use_neither_async_nor_network_nor_python(crate):
    assert dependencies()[crate] & IMPURE == set()
    assert dependencies()["driver"] & IMPURE, "the guard does not find impure dependencies"
    text = "".join(path.read_text() for path in (CRATES / crate / "src").rglob("*.rs"))
    assert len(text) > 1000
    assert re.findall(r"\bstd::net\b|\basync fn\b|\basync move\b|\.await\b", text) == []


def test_only_the_driver_and_the_bindings_are_impure():
    impure = {crate for crate, names in dependencies().items() if names & IMPURE}
    assert impure == {"driver", "python"}
    assert dependencies()["python"] & IMPURE == {"pyo3"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pacenote.cli.main", {"pacenote.cli.main"}),
        ("from pacenote import _core", {"pacenote._core"}),
        (
            "def f():\n    from pacenote.store.race_store import RaceStore",
            {"pacenote.store.race_store.RaceStore"},
        ),
        ("from ..race import run", {"pacenote.race.run"}),
        ("from . import base", {"pacenote.track.base"}),
        ("import_module('pacenote.race.run')", {"pacenote.race.run"}),
        ("'see pacenote.race'", set()),
    ],
)
def test_imports_are_detected_in_every_form(text, expected):
    assert set(imported_modules(ast.parse(text), "pacenote.track")) == expected


def test_the_architecture_page_has_the_groups_of_this_table():
    row = re.compile(r"^\| (\w+) \| ((?:`\w+`(?:, )?)+) \| (.+?) \|$", re.MULTILINE)
    page = (ROOT / "ARCHITECTURE.md").read_text().partition("## Allowed imports")[2].partition("\n## ")[0]
    rows = {group: (names, may) for group, names, may in row.findall(page)}
    assert 5 < len(rows) <= 12
    packages = {group: set(re.findall(r"\w+", names)) for group, (names, _) in rows.items()}
    group_of = {name: group for group, names in packages.items() for name in names}
    assert sum(map(len, packages.values())) == len(group_of), "a package is in two groups"
    assert set(group_of) == MAY_IMPORT.keys() - OPEN_TO_ALL - {"__main__", "__init__"}
    for group, (_, may) in rows.items():
        imported = set().union(*(MAY_IMPORT[name] - OPEN_TO_ALL - {"_core"} for name in packages[group]))
        others = {group_of[name] for name in imported} - {group}
        assert set(re.findall(r"\w+", may)) - {"nothing"} == others, group
    above = list(rows)
    for position, (_, may) in enumerate(rows.values()):
        assert set(re.findall(r"\w+", may)) <= {"nothing", *above[:position]}, above[position]
