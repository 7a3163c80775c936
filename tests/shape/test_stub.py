"""The stub of the Rust core agrees with the built module."""

import ast
import os
import subprocess
import sys

import pytest

from pacenote import _core
from shape.sources import PACKAGE, parse

STUB = PACKAGE / "_core.pyi"


def test_the_stub_is_the_built_module(tmp_path):
    """The stub has one deliberate difference, which shows that the comparison works."""
    package = tmp_path / "pacenote"
    package.mkdir()
    (package / "__init__.pyi").touch()
    (package / "_core.pyi").write_text(STUB.read_text().replace("seconds: float", "patience: float"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "pacenote._core"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "patience" in done.stdout, done.stdout + done.stderr
    assert "Found 1 error " in done.stdout, done.stdout


def test_everything_in_the_stub_is_documented():
    tree = parse(STUB)
    items = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert {"Driver", "wait", "generate"} <= {item.name for item in items}
    assert [item.name for item in items if not ast.get_docstring(item)] == []


@pytest.mark.parametrize("name", sorted(_core.__all__))
def test_everything_built_is_in_the_stub(name):
    assert f'"{name}"' in STUB.read_text()
