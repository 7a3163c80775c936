"""A race of a real engine with a car of a team repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from teams.repositories import write_team

pytestmark = pytest.mark.engine

INFO = {"operation": {"operation-type": "raw-request", "path": "/"}, "iterations": 20}
SECURITY = "xpack.security.enabled: {{ security | default('false') }}\n"


def race(home: Path, folder: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Races with cars of the repository in `folder`; returns the command and the folder of the race."""
    track = folder / "track"
    track.mkdir(exist_ok=True)
    (track / "track.json").write_text(json.dumps({"version": 2, "schedule": [INFO]}))
    race_id = uuid.uuid4().hex
    command = [
        *(sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}", f"--track-path={track}"),
        *(f"--team-path={folder / 'team'}", *options),
    ]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=200, check=False)
    return done, home / "races" / race_id


def test_a_node_is_configured_by_templates_and_hooks(home: Path, tmp_path: Path) -> None:
    hook = (
        "import os\n"
        "def hook(config_names, variables, **kwargs):\n"
        '    print(config_names, os.listdir(os.path.join(variables["install_root_path"], "config")))\n'
        "def register(handler):\n"
        '    handler.register("post_install", hook)\n'
    )
    changes = {
        "cars/v1/plain/config.py": hook,
        "cars/v1/security/templates/config/elasticsearch.yml": SECURITY,
        "cars/v1/secured.ini": "[config]\nbase = security\n",
    }
    write_team(tmp_path / "team", changes)
    car = "--car=small,buffers,secured"
    done, folder = race(home, tmp_path, car, "--car-params=heap_size:400m")
    assert done.returncode == 0, done.stderr
    assert (
        f"cars from {tmp_path / 'team'}; their templates and hooks run with your permissions" in done.stderr
    )
    facts = json.loads((folder / "snapshot.json").read_text())["before"]["facts"]
    assert facts["setting.indices.memory.index_buffer_size"] == "30%"
    assert facts["node.rally-node-0.jvm.flag.MaxHeapSize"] == str(400 << 20)
    # As in the official archives.
    assert facts["node.rally-node-0.jvm.flag.G1ReservePercent"] == "25"
    assert "small+buffers+secured" in (folder / "artifacts" / "hooks.log").read_text()
    done, _ = race(home, tmp_path, car, "--car-params=heap_size:400m,security:'true'")
    assert done.returncode == 64
    assert "has no setting xpack.security.enabled, which the car sets to true" in done.stderr
