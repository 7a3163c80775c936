"""Guards on the names that the package exports and on the time that importing it takes.

The interfaces are the command line, the race folder and the plan document; the package exports nothing.
tests/cli/test_main.py lists the modules that must not be imported at startup.
"""

import ast
import subprocess
import sys

import pytest

from shape.sources import PACKAGE, label, parse

EXPORTED: list[str] = []

START_UP_MS = 150


def names_of(tree: ast.Module) -> list[str]:
    """Returns the names without a leading underscore that a module defines or imports at top level."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [(name.asname or name.name).split(".")[0] for name in node.names]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_") and name != "annotations"]


def test_the_package_exports_these_names():
    tree = parse(PACKAGE / "__init__.py")
    assert ast.get_docstring(tree), "the guard did not find the package"
    assert names_of(tree) == EXPORTED
    assert sorted(EXPORTED) == EXPORTED


def test_packages_have_a_docstring_and_no_code():
    paths = list(PACKAGE.glob("*/__init__.py"))
    assert len(paths) > 8
    for path in paths:
        assert ast.get_docstring(parse(path)), label(path)
        assert names_of(parse(path)) == [], label(path)


def test_names_are_found_in_every_form():
    text = "import a.b\nfrom c import d as e, _f\ng = 1\nh: int = 2\ndef i(): ...\nclass J: ...\n_k = 3"
    assert names_of(ast.parse(text)) == ["a", "e", "g", "h", "i", "J"]


@pytest.mark.parametrize("module", ["pacenote", "pacenote.cli.main"])
def test_imports_are_quick(module):
    assert min(import_ms(module) for _ in range(3)) < START_UP_MS


def import_ms(module: str) -> float:
    """Measures the CPU time of an import in a new process, in milliseconds, without Python's startup.

    Tests use CPU time, and the smallest of several values, because the load on the host must not matter.
    """
    code = f"import time; t = time.process_time(); import {module}; print((time.process_time() - t) * 1000)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20
    )
    return float(done.stdout)
