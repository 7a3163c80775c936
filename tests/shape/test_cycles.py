"""No file imports itself through others, in either language."""

import textwrap
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from shape.imports import Graph, python_imports, rust_imports
from shape.sources import CRATES, PACKAGE, label

CRATE_NAMES = sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


def cycle(graph: Graph) -> list[Path]:
    """Returns the files of one import cycle, ending with the first again, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def graph_of(crate: str) -> Graph:
    """Returns the imports between the files of a crate."""
    return rust_imports(CRATES / crate)


@pytest.mark.parametrize("crate", CRATE_NAMES)
def test_no_rust_file_imports_itself_through_others(crate):
    assert [label(path) for path in cycle(graph_of(crate))] == []


def test_the_guard_sees_the_rust_files_and_their_imports():
    assert {"corpus", "driver", "plan", "python", "record"} <= set(CRATE_NAMES)
    graph = {path: others for crate in CRATE_NAMES for path, others in graph_of(crate).items()}
    assert len(graph) > 120, "the guard found hardly any files: has the source moved?"
    assert sum(map(len, graph.values())) > 300, "the guard found hardly any imports"
    race = {path.name for path in graph[CRATES / "driver" / "src" / "race.rs"]}
    assert {"error.rs", "plan_to_record.rs"} <= race


def test_no_python_file_imports_itself_through_others():
    graph = python_imports(PACKAGE)
    assert len(graph) > 150, "the guard found hardly any files: has the source moved?"
    assert sum(map(len, graph.values())) > 400, "the guard found hardly any imports"
    assert [label(path) for path in cycle(graph)] == []


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from pacenote.b import second", "import pacenote.a"),
        ("from . import b", "def f():\n    from pacenote.a import first"),
        ("from pacenote import b", "import_module('pacenote.a')"),
        ("if TYPE_CHECKING:\n    from .b import second", "from .a import first"),
    ],
)
def test_a_cycle_in_python_is_detected(tmp_path, first, second):
    package = write(tmp_path / "pacenote", {"__init__.py": "", "a.py": first, "b.py": second})
    assert {path.name for path in cycle(python_imports(package))} == {"a.py", "b.py"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("use crate::b::Second;", "use crate::a::First;"),
        ("use crate::{b::{Second, Third}};", "fn f() { use super::a::First; }"),
        ("fn f() -> crate::b::Second {}", "use crate::a;\nfn f() { a::first() }"),
        ("use super::b as other;", "fn f() { super::a::first() }"),
        ("use crate::b::*;", "use crate::a::*;"),
    ],
)
def test_a_cycle_in_rust_is_detected(tmp_path, first, second):
    files = {"lib.rs": "mod a;\nmod b;", "a.rs": first, "b.rs": second}
    crate = write(tmp_path, {f"src/{name}": text for name, text in files.items()})
    assert {path.name for path in cycle(rust_imports(crate))} == {"a.rs", "b.rs"}


def test_a_reexport_leads_to_the_file_that_defines_the_name(tmp_path):
    files = {
        "lib.rs": "mod room;\nmod user;\npub use room::Inner;",
        "room/mod.rs": "mod inner;\nmod other;\npub use inner::Inner;\npub use other::*;",
        "room/inner.rs": "use super::Other;\npub struct Inner;",
        "room/other.rs": "pub struct Other;\n#[cfg(test)]\nmod tests { use super::super::Inner; }",
        "user.rs": 'use crate::room::{Inner, Other};\n// use crate::lib;\nconst TEXT: &str = "crate::user";',
    }
    graph = rust_imports(write(tmp_path, {f"src/{name}": text for name, text in files.items()}))
    names = {path.name: {other.name for other in others} for path, others in graph.items()}
    assert names["user.rs"] == {"inner.rs", "other.rs"}
    assert names["inner.rs"] == {"other.rs"}
    assert names["other.rs"] == set()
    assert cycle(graph) == []


def test_modules_for_tests_are_not_part_of_the_graph(tmp_path):
    files = {
        "lib.rs": "mod a;\n#[cfg(test)]\nmod fake;",
        "a.rs": "#[cfg(test)]\nmod cases;",
        "a/cases.rs": "use crate::fake::Fake;",
        "fake/mod.rs": "use crate::a::cases::Case;",
    }
    graph = rust_imports(write(tmp_path, {f"src/{name}": text for name, text in files.items()}))
    assert {path.name for path in graph} == {"lib.rs", "a.rs"}
