"""Every car and every plugin of a public team repository is composed.

The repository is cloned from GitHub. Without access to GitHub, set PACENOTE_PUBLIC_TEAMS to a clone of
rally-teams.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.process

ORIGIN = "https://github.com/elastic/rally-teams"
FETCH_S = 60
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "team_compatibility.py"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    if given := os.environ.get("PACENOTE_PUBLIC_TEAMS"):
        return given
    folder = tmp_path_factory.mktemp("public") / "rally-teams"
    try:
        subprocess.run(
            ["git", "clone", "--quiet", "--mirror", ORIGIN, str(folder)],
            check=True,
            capture_output=True,
            text=True,
            timeout=FETCH_S,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{ORIGIN} cannot be cloned: {' '.join(error.stderr.split())}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"{ORIGIN} cannot be cloned within {FETCH_S} s")
    return str(folder)


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("team_compatibility", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_public_car_and_plugin_is_composed(repository: str, script: ModuleType, tmp_path: Path) -> None:
    report = script.check_team(repository, tmp_path)
    assert report.problems == ()
    assert len(report.cars) > 15
    assert len(report.plugins) > 15
    assert report.composed > 150
    cells = {entry.name: entry.result for entry in report.cars}
    assert cells["4gheap"].startswith("4g | ")
