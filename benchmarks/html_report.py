"""Measures `pacenote report --html` of a race of an hour: twelve tasks with a schedule, a diagnosis, a
snapshot with 4,500 facts, a GC log with two collections per second, and 300 series of telemetry; and
`pacenote experiment report --html` of an experiment of 60 races with four tasks each.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import comparing
from diagnosing import store_race
from machine import PACENOTE, PYTHON, run, temporary_folder
from msgspec.structs import replace
from outcome import Figure, Options, Outcome, Target

from pacenote.cli.lab.stored_experiment import NoOptionCheck
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.model.experiment import ExperimentPlan, JournalEntry
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.race_store import RaceStore

_LIMIT_MS, _LIMIT_KB, _OPEN_LIMIT_MS = 2_000.0, 300.0, 500.0
_OPEN = Path(__file__).parents[1] / "scripts" / "browser.py"
_HAS_BROWSER = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
_FILE = """\
question = "Is a heap of 2 GB faster?"
blocks = 30

[race]
track = "http_logs"

[variants.1g]
car = "1gheap"

[variants.2g]
car = "2gheap"
"""


def measure(options: Options) -> Outcome:
    """Measures, after one run that is not counted, the wall and CPU time of the commands, the size of the
    pages, and how long Chromium takes to open them, until what is in the window is painted, and until all
    charts are drawn.
    """
    race = _measured("pacenote report --html, one hour", _race_page, options)
    experiment = _measured("pacenote experiment report --html, 60 races", _experiment_page, options)
    targets = tuple(target for each in (race, experiment) for target in each.targets)
    figures = tuple(figure for each in (race, experiment) for figure in each.figures)
    notes = (
        () if _HAS_BROWSER else ("Chromium is not installed: how long it takes to open a page is unknown",)
    )
    return Outcome(figures, targets, notes)


def _measured(name: str, page_of: Callable[[Path], tuple[list[str], Path]], options: Options) -> Outcome:
    """Returns what was measured of one command and its page."""
    times, cpu_times, sizes = list[float](), list[float](), list[float]()
    opened, drawn = list[float](), list[float]()
    with temporary_folder() as home:
        arguments, page = page_of(home)
        for turn in range(1 + options.choose(10, 3)):
            done = run([PACENOTE, *arguments, "--html"], {"PACENOTE_HOME": str(home)})
            shown = json.loads(run([PYTHON, str(_OPEN), str(page)]).output) if _HAS_BROWSER else None
            if turn:
                times.append(done.wall_s * 1e3)
                cpu_times.append(done.cpu_s * 1e3)
                sizes.append(page.stat().st_size / 1e3)
                opened += [shown["painted"]] if shown else []
                drawn += [shown["drawn"]] if shown else []
    limits = [(Figure(name, "ms", tuple(times)), _LIMIT_MS)]
    limits.append((Figure(f"{name}: size of the page", "kB", tuple(sizes)), _LIMIT_KB))
    if opened:
        limits.append((Figure(f"{name}: Chromium paints the page", "ms", tuple(opened)), _OPEN_LIMIT_MS))
    cpu = Figure(f"{name}: CPU time", "ms", tuple(cpu_times))
    targets = tuple(Target(figure, limit, at_most=True) for figure, limit in limits)
    others = [cpu, *([Figure(f"{name}: Chromium draws all charts", "ms", tuple(drawn))] if drawn else [])]
    return Outcome((*(figure for figure, _ in limits), *others), targets)


def _race_page(home: Path) -> tuple[list[str], Path]:
    folder = store_race(home)
    return ["report", "race"], folder.page


def _experiment_page(home: Path) -> tuple[list[str], Path]:
    """Stores a pair with races in thirty blocks."""
    store = ExperimentStore(home)
    folder = store.create("heap")
    experiment = read_experiment(_FILE, "heap", "heap.toml", NoOptionCheck())
    plan = ExperimentPlan(
        experiment_id=folder.experiment_id,
        created="2026-01-01T00:00:00+00:00",
        seed=1,
        folder=str(home),
        races=plan_races(experiment),
    )
    store.write(folder, _FILE, plan)
    races, draw = RaceStore(home), random.Random(1)
    for race in plan.races:
        race_id = f"{folder.experiment_id}-{race.number:03}"
        tags = {"experiment": folder.experiment_id, "block": str(race.block), "variant": race.variant}
        record = replace(comparing.example_race(race.number, race.variant, draw), race_id=race_id)
        races.create(replace(record, user_tags=tags))
        ended = JournalEntry(
            event="ended",
            at="2026-01-01T01:00:00+00:00",
            race=race.number,
            race_id=race_id,
            outcome="raced",
            verdict="valid",
            seconds=60.0,
        )
        folder.append(ended)
    return ["experiment", "report"], folder.page
