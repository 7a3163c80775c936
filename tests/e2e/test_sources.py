"""An engine that a small Gradle wrapper builds from a checkout is raced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from pacenote.provision.distributions.registry import DISTRIBUTIONS
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import create_layout
from support.source_checkout import git, write_checkout, write_jdk

from .test_distributions import write_track
from .test_official_archives import build_archive

pytestmark = pytest.mark.engine


def test_an_engine_is_built_from_a_checkout_and_raced(home: Path, tmp_path: Path) -> None:
    name = "elasticsearch"
    program = install_engine(EngineRequest(home, tmp_path, distribution=name)).program
    assert isinstance(program, AssembledProgram)
    version = DISTRIBUTIONS[name].default_version
    checkout = write_checkout(tmp_path / "es", version)
    write_track(tmp_path / "notes")
    race_id, own = uuid.uuid4().hex, tmp_path / "home"
    command = [
        *(sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}", "--car-params=heap_size:512m"),
        *(f"--track-path={tmp_path / 'notes'}", f"--runtime-jdk={program.java.home}"),
        *(f"--source-path={checkout}", "--source-build-release"),
    ]
    environment = {
        **os.environ,
        "PACENOTE_HOME": str(own),
        "ENGINE_ARCHIVE": str(build_archive(DISTRIBUTIONS[name], program, tmp_path)),
        "JAVA21_HOME": str(write_jdk(tmp_path / "jdk")),
    }
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads((own / "races" / race_id / "race.json").read_text())
    assert record["pipeline"] == "from-sources"
    assert record["cluster"]["distribution-version"] == version
    assert record["sources"]["revision"] == git(checkout, "rev-parse", "HEAD")
    # For root, the engine may be outside the home folder, where pytest does not clean up.
    shutil.rmtree(create_layout(own).root, ignore_errors=True)
