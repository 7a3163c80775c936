"""The wheel, in an environment without a Rust compiler and without the sources, races a real engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

_ROOT = Path(__file__).parents[2]
_MATURIN = Path(sys.executable).with_name("maturin")
_SMALL = "docs:2000,warmup_iterations:1,iterations:5,expensive_warmup_iterations:1,expensive_iterations:5"


def _build(what: str, folder: Path) -> Path:
    """Runs maturin as `make wheel` and `make sdist` do; returns the only file that it made."""
    options = {"wheel": ["build", "--release", "--quiet"], "sdist": ["sdist"]}[what]
    subprocess.run([_MATURIN, *options, "--out", folder], cwd=_ROOT, check=True, timeout=900)
    (made,) = folder.iterdir()
    return made


def test_an_installed_wheel_races_without_compiler_and_sources(home: Path, tmp_path: Path):
    wheel = _build("wheel", tmp_path / "dist")
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith("/supplied/EntitlementAgent.java") for name in archive.namelist())
    assert re.fullmatch(r"pacenote-[\d.]+-cp311-abi3-manylinux_2_\d+_\w+\.whl", wheel.name)
    programs = tmp_path / "environment" / "bin"
    venv.create(programs.parent, with_pip=True)
    # Nothing but Python is found by its name.
    environment = {**os.environ, "PATH": str(programs), "PACENOTE_HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    assert shutil.which("cargo", path=environment["PATH"]) is None
    subprocess.run(
        [programs / "pip", "install", "--quiet", "--no-compile", wheel],
        env=environment,
        check=True,
        timeout=300,
    )

    race_id = f"wheel-{uuid.uuid4()}"
    command = [programs / "pacenote", "race", "--track=http_logs", f"--race-id={race_id}"]
    race = subprocess.run(
        [*command, f"--track-params={_SMALL}", "--car-params=heap_size:512m"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert race.returncode == 0, race.stderr
    record = json.loads((home / "races" / race_id / "race.json").read_text())
    assert record["tasks"]
    assert sum(task["accounting"]["failed"] for task in record["tasks"]) == 0


def test_a_source_distribution_contains_all_that_cargo_needs(tmp_path: Path):
    archive = _build("sdist", tmp_path / "dist")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, filter="data")
    (folder,) = (each for each in tmp_path.iterdir() if each.name.startswith("pacenote-"))

    # `--locked` fails if the lock file or a crate of the workspace is missing.
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version=1"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert metadata.returncode == 0, metadata.stderr
    assert not list(folder.rglob("*.so"))
    assert (folder / "python" / "pacenote" / "cli" / "main.py").is_file()
