"""Experiments on a real engine: killed in the middle of a race and resumed, with one that is kept, and with
an engine of each race.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.cpu_list import format_cpus
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.file_lock import is_file_shared
from pacenote.store.race_store import RaceStore

pytestmark = pytest.mark.engine

DEADLINE_S = 180.0

FILE = """
question = "Is b as fast as a?"
blocks = 3
engine = "{engine}"

[race]
track = "http_logs"
track-repository = "bundled"
challenge = "append-no-conflicts-index-only"
test-mode = true
car-params = {{heap_size = "512m"}}
set = ["engine.indices.memory.index_buffer_size=15%", "index.refresh_interval=7s"]

[variants.a]
track-params = {{bulk_size = 100}}

[variants.b]
track-params = {{bulk_size = 200}}
"""


class Pacenote:
    """The `pacenote` command with a home folder."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PACENOTE_HOME": str(self.home)}
        command = [sys.executable, "-m", "pacenote", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=environment, cwd=self.folder, text=True, stdout=pipe, stderr=pipe
        )

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode in codes, err
        return out

    def nodes(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.run("list", "nodes", "--format=json"))
        return listed


@pytest.fixture
def pacenote(home: Path, tmp_path: Path) -> Iterator[Pacenote]:
    command = Pacenote(home, tmp_path)
    store, races = ExperimentStore(home), RaceStore(home)
    yield command
    for folder in store.list():
        if folder.experiment_id.startswith("e2e-"):
            if (state := folder.path / "engine.json").exists():
                command.run("stop", json.loads(state.read_text()))
            races.delete(*(races.folder(path.name) for path in races.races.glob(f"{folder.experiment_id}-*")))
            store.delete(folder)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def started(home: Path, name: str) -> tuple[ExperimentFolder | None, int]:
    """Returns the newest experiment of a file, and how many of its races have begun."""
    experiments = [one for one in ExperimentStore(home).list() if one.experiment_id.startswith(f"{name}-")]
    count = sum(entry.event == "started" for entry in experiments[0].journal()) if experiments else 0
    return (experiments[0] if experiments else None), count


def own_nodes(pacenote: Pacenote, name: str, installation: str) -> list[bool]:
    """Returns for each node of an experiment that runs whether it needs no owner."""
    return [
        node["detached"]
        for node in pacenote.nodes()
        if node["race-id"].startswith(f"{name}-") or node["installation-id"] == installation != ""
    ]


def wait_until_released(experiment: ExperimentFolder) -> None:
    """Waits until no race of an experiment runs."""
    deadline = time.monotonic() + DEADLINE_S
    while is_file_shared(experiment.races_lock):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_experiment_that_is_killed_in_a_race_ends_with_its_answer(pacenote: Pacenote, home: Path) -> None:
    (pacenote.folder / "e2e-keep.toml").write_text(FILE.format(engine="keep"))
    process = pacenote.start("experiment", "run", "e2e-keep.toml")
    wait_for(lambda: started(home, "e2e-keep")[1] == 2, process)
    process.kill()
    process.communicate()
    experiment, _ = started(home, "e2e-keep")
    assert experiment is not None
    plan, name = experiment.plan_json.read_bytes(), experiment.experiment_id
    wait_until_released(experiment)
    # The engine that is kept goes on, until the experiment is resumed.
    installation = json.loads((experiment.path / "engine.json").read_text()).partition("=")[2]
    assert own_nodes(pacenote, name, installation) == [True]
    # Races in test mode are too short for an answer, which is void (3).
    resumed = ("experiment", "resume", name, "--report-format=json")
    result = json.loads(pacenote.run(*resumed, codes=(3,)))
    assert (result["state"], result["races_done"], result["blocks"]) == ("complete", 6, 3), result
    assert result["variants"][1]["comparison"]["design"] == "paired"
    assert experiment.plan_json.read_bytes() == plan
    assert own_nodes(pacenote, name, installation) == []
    assert not (experiment.path / "engine.json").exists()
    texts = [path.read_text() for path in (home / "races").glob(f"{name}-*/race.json")]
    # The block that was begun with an engine that was kept is raced again with the other one.
    assert len(texts) in (6, 7, 8)
    assert all("refresh_interval" in text for text in texts)
    assert {json.loads(text)["pipeline"] for text in texts} == {"benchmark-only"}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a duet needs 2 cores")
def test_a_duet_that_is_killed_races_each_engine_on_its_half_in_every_block(
    pacenote: Pacenote, home: Path
) -> None:
    text = FILE.format(engine="restart").replace("blocks = 3", 'blocks = 3\ndesign = "duet"')
    (pacenote.folder / "e2e-duet.toml").write_text(text)
    process = pacenote.start("experiment", "run", "e2e-duet.toml")
    wait_for(lambda: started(home, "e2e-duet")[1] == 2, process)
    process.kill()
    process.communicate()
    experiment, _ = started(home, "e2e-duet")
    assert experiment is not None
    wait_until_released(experiment)
    assert own_nodes(pacenote, experiment.experiment_id, "") == []
    resumed = ("experiment", "resume", experiment.experiment_id, "--report-format=json")
    result = json.loads(pacenote.run(*resumed, codes=(3,)))
    assert (result["state"], result["races_done"], result["blocks"]) == ("complete", 6, 3), result
    assert own_nodes(pacenote, experiment.experiment_id, "") == []
    halves = [half.node_cpus for half in experiment.plan().halves]
    ends = {entry.race: entry for entry in experiment.journal() if entry.outcome == "raced"}
    for race in experiment.plan().races:
        record = RaceStore(home).folder(ends[race.number].race_id).read()
        assert record.pipeline == "from-distribution"
        assert record.options.nodes is not None
        (cpus,) = record.options.nodes.cpus
        assert format_cpus(cpus) == halves[race.half - 1]
    # Both races of a block begin before either ends.
    events = [entry.event for entry in experiment.journal() if entry.event in ("started", "ended")]
    assert events[-12:] == ["started", "started", "ended", "ended"] * 3
