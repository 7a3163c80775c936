"""Which public GC logs are cloned for the comparison with GCViewer."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "gc_logs_beside_gcviewer.py"


def imported() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gc_logs_beside_gcviewer", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


beside = imported()


def repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "gc.log").write_text("[0.001s][info][gc] Using G1\n")
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--message=logs"],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def test_repositories_that_are_absent_are_cloned(tmp_path: Path) -> None:
    forge, logs = tmp_path / "forge", tmp_path / "logs"
    repository(forge / "chewiebug" / "GCViewer")
    repository(forge / "mgm3746" / "garbagecat")
    (logs / "gctoolkit-testdata").mkdir(parents=True)
    beside.clone(logs, f"file://{forge}")
    assert sorted(path.parent.name for path in logs.glob("*/gc.log")) == ["GCViewer", "garbagecat"]
    (logs / "gctoolkit-testdata").rmdir()
    with pytest.raises(subprocess.CalledProcessError):
        beside.clone(logs, f"file://{forge}")
