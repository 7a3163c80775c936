"""Files, functions, parameter lists and indentation stay small; CONTRIBUTING.md has the same limits."""

import re
import textwrap
import tomllib
from functools import cache

import pytest

from shape import sources
from shape.sources import ROOT, Function

LIMITS = {"length of a file": 600, "lines": 60, "parameters": 5, "nesting": 5}

ALLOWED: dict[str, dict[str, tuple[int, str]]] = {measure: {} for measure in LIMITS}
"""Exceptions by measure: name of a file or function → its value and the reason. Add no new ones."""


def assert_fits(measure: str, measures: dict[str, int]) -> None:
    """Checks that only the exceptions exceed the limit, each with exactly the listed value."""
    over = {name: n for name, n in measures.items() if n > LIMITS[measure]}
    assert over == {name: n for name, (n, _) in ALLOWED[measure].items()}
    assert all(reason for _, reason in ALLOWED[measure].values())


def test_files_fit_the_budget():
    by_ending = {ending: sources.files(ending) for ending in (".py", ".rs")}
    assert len(by_ending[".py"]) > 150
    assert len(by_ending[".rs"]) > 50
    paths = [path for each in by_ending.values() for path in each]
    assert_fits("length of a file", {sources.label(path): path.read_text().count("\n") for path in paths})


@cache
def functions() -> tuple[Function, ...]:
    """Returns every function in both languages."""
    python = [one for path in sources.files(".py") for one in sources.python_functions(path)]
    rust = [one for path in sources.files(".rs") for one in sources.rust_functions(path)]
    assert min(len(python), len(rust)) > 400, "the guard found hardly any functions: has the source moved?"
    return (*python, *rust)


@pytest.mark.parametrize("measure", ["lines", "parameters", "nesting"])
def test_functions_fit_the_budget(measure):
    assert_fits(measure, {one.name: getattr(one, measure) for one in functions()})


def test_the_linters_keep_the_same_numbers():
    clippy = dict(re.findall(r"^(\S+) = (\d+)$", (ROOT / "clippy.toml").read_text(), re.MULTILINE))
    assert clippy["too-many-lines-threshold"] == str(LIMITS["lines"])
    assert clippy["too-many-arguments-threshold"] == str(LIMITS["parameters"])
    assert clippy["excessive-nesting-threshold"] == str(LIMITS["nesting"])
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["pylint"]
    assert ruff == {"max-args": LIMITS["parameters"], "max-nested-blocks": LIMITS["nesting"]}


def test_python_functions_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    path = tmp_path / "one.py"
    path.write_text(
        textwrap.dedent("""\
            class Some:
                def method(self, a, *b, c, **d):
                    if a:
                        pass
                    elif b:
                        for _ in b:
                            with c:
                                pass
                    try:
                        pass
                    except ValueError:
                        pass
            """)
    )
    assert list(sources.python_functions(path)) == [Function("one.py:method", 11, 4, 3)]


def test_rust_functions_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    path = tmp_path / "one.rs"
    path.write_text(
        textwrap.dedent("""\
            trait Some { fn declared(&self) -> [u8; 2]; }
            /// No fn comment() {}
            fn first<'a>(text: &'a str) -> [u8; 2] {
                let closing = ('}', b'}', "}\\"", r#"}"}"#); // }
                fn inner() { { } }
                [0; 2]
            }
            """)
    )
    assert list(sources.rust_functions(path)) == [Function("one.rs:first", 5), Function("one.rs:inner", 1)]
