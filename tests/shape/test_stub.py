"""The typed door and the built module say the same."""

import ast
import os
import subprocess
import sys

import pytest

from pacenote import _core
from shape.sources import PACKAGE, parse

STUB = PACKAGE / "_core.pyi"


def stubtest(folder, path=None):
    environment = os.environ | ({"MYPYPATH": str(path)} if path else {})
    command = [sys.executable, "-m", "mypy.stubtest", "pacenote._core"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_stub_is_the_built_module(tmp_path):
    done = stubtest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success" in done.stdout


def test_a_difference_would_be_seen(tmp_path):
    package = tmp_path / "pacenote"
    package.mkdir()
    (package / "__init__.pyi").touch()
    (package / "_core.pyi").write_text(STUB.read_text().replace("seconds: float", "patience: float"))
    done = stubtest(tmp_path, tmp_path)
    assert done.returncode != 0
    assert "patience" in done.stdout


def test_everything_in_the_stub_is_documented():
    tree = parse(STUB)
    items = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert {"Driver", "wait", "generate"} <= {item.name for item in items}
    assert [item.name for item in items if not ast.get_docstring(item)] == []


@pytest.mark.parametrize("name", sorted(_core.__all__))
def test_everything_built_is_in_the_stub(name):
    assert f'"{name}"' in STUB.read_text()
