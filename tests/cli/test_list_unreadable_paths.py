"""A path that cannot be looked at, in any folder of the home, hides nothing else and ends no command."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.model.engine_options import EngineOptions
from pacenote.model.experiment import ExperimentPlan
from pacenote.store.experiment_store import ExperimentStore, file_digest
from pacenote.store.installation_store import InstallationStore, InstalledEngine
from pacenote.store.race_store import RaceStore
from support.records import BEGAN, bulk, record
from support.unreadable_paths import UNREADABLE, bound_by_permissions, unlock

Run = Callable[..., tuple[int, str, str]]

RACES = ("good-0", "good-1")
_MEMORY = Path("/dev/shm")  # a file system that keeps times that no date can have
TEXT = 'question = "?"\n'


@pytest.fixture(autouse=True)
def _permissions(home: Path) -> Generator[None, None, None]:
    with bound_by_permissions():
        yield
    unlock(home)


@pytest.fixture(params=UNREADABLE)
def plant(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    """Returns what creates a path that cannot be looked at."""
    create: Callable[[Path], object] = UNREADABLE[request.param]

    def planted(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        create(path)

    return planted


@pytest.fixture
def races(home: Path) -> Path:
    """Returns the folder of two races."""
    store = RaceStore(home)
    for day, name in enumerate(RACES, 1):
        good = record(name, timestamp=BEGAN.replace(day=day), tasks=(bulk(),))
        store.create(good).finish(good)
    return store.races


@pytest.fixture
def experiments(home: Path) -> Path:
    """Returns the folder of an experiment."""
    store = ExperimentStore(home)
    folder = store.create("good")
    plan = ExperimentPlan(
        experiment_id=folder.experiment_id,
        created="2026-03-01T12:00:00+00:00",
        seed=1,
        folder="/",
        file_digest=file_digest(TEXT),
    )
    store.write(folder, TEXT, plan)
    return store.experiments


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Returns the folder of a race in another home."""
    race = record("other", tasks=(bulk(),))
    folder = RaceStore(tmp_path / "other").create(race)
    folder.finish(race)
    return folder.path


def checked(run: Run, *words: object) -> str:
    """Returns what a command prints that must succeed."""
    code, out, err = run(*words)
    assert "bug in Pacenote" not in err
    assert code == 0, err
    return out


@pytest.mark.parametrize("place", ["evil", "evil/tune.json", "evil/plan.json", ".evil"])
def test_experiments_beside_it_are_found(
    run: Run, experiments: Path, plant: Callable[[Path], object], place: str
) -> None:
    plant(experiments / place)
    assert "good-1" in checked(run, "experiment", "list")
    checked(run, "tune", "list")
    assert ExperimentStore().folder("latest").experiment_id == "good-1"
    assert ExperimentStore().folder("go").plan().seed == 1
    assert ExperimentStore().create("new").experiment_id == "new-1"
    checked(run, "delete", "experiment", "--id=good-1")
    assert "good-1" not in checked(run, "experiment", "list")


@pytest.mark.parametrize("place", ["evil", "evil/installation.json"])
def test_installations_beside_it_are_found(
    run: Run, home: Path, plant: Callable[[Path], object], place: str
) -> None:
    store = InstallationStore(home)
    store.save(InstalledEngine(id="good", created="2026-11-23T08:00:00+00:00", engine=EngineOptions()))
    plant(home / "installations" / place)
    os.utime(home / "installations" / "evil", (1, 1), follow_symlinks=False)
    assert [state.id for state in store.all()] == ["good"]
    store.remove_abandoned()
    assert [state.id for state in store.all()] == ["good"]
    checked(run, "list", "nodes")
    _, _, err = run("stop", "--installation-id=other")
    assert "good" in err


def test_races_beside_it_are_found(
    run: Run, races: Path, other: Path, plant: Callable[[Path], object]
) -> None:
    for place in ("evil", "evil-too/race.json"):
        plant(races / place)
    for command in (
        ["list", "races"],
        ["trend"],
        ["trend", races],
        ["export", races],
        ["compare", f"--baseline={races}", f"--contender={other}"],
        ["report", "latest"],
    ):
        out = checked(run, *command)
        assert command[0] not in ("list", "export") or all(name in out for name in RACES)


def test_races_elsewhere_with_its_name_are_compared(
    run: Run, races: Path, other: Path, plant: Callable[[Path], object]
) -> None:
    plant(races / other.name)
    checked(run, "compare", f"--baseline={other}", "--contender=good-1")


@pytest.mark.parametrize(
    "places",
    [
        ["artifacts/x.jfr", "artifacts/gc.log", "artifacts/node", "artifacts/other-node/gc.log", "probes/x"],
        ["samples.parquet", "series.parquet", "telemetry.parquet"],
        ["snapshot.json", "plan.json", "tasks.jsonl"],
    ],
    ids=" ".join,
)
def test_a_race_with_it_is_reported(
    run: Run, races: Path, plant: Callable[[Path], object], places: list[str]
) -> None:
    for place in places:
        plant(races / RACES[0] / place)
    for command in (["report", "--html"], ["diagnose"], ["export"]):
        checked(run, command[0], RACES[0], *command[1:])
    # Whatever a log is that cannot be looked at, the others are redacted.
    with contextlib.suppress(StoreError):
        RaceStore().folder(RACES[0]).redact_logs()


@pytest.mark.skipif(not _MEMORY.is_dir(), reason="there is no file system that keeps such times")
def test_a_damaged_race_from_the_far_future_is_one_odd_row(run: Run, home: Path, other: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_MEMORY) as memory:
        folder = Path(memory, "races")
        home.mkdir()
        RaceStore(home).races.symlink_to(folder)
        folder.mkdir()
        good = record("good", tasks=(bulk(),))
        RaceStore(home).create(good).finish(good)
        (folder / "evil").mkdir()
        damaged = folder / "evil" / "race.json"
        damaged.write_text("{")
        os.utime(damaged, (10**12, 10**12))
        if damaged.stat().st_mtime != 10**12:
            pytest.skip("there is no file system that keeps such times")
        for command in (
            ["trend"],
            ["trend", folder],
            ["compare", f"--baseline={folder}", f"--contender={other}"],
        ):
            checked(run, *command)
