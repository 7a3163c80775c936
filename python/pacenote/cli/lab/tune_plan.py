"""The plan of a new search, from the command line, the knob file, the track and the machine."""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_check import RaceOptionCheck
from pacenote.cli.lab.experiment_plan_check import check_plans
from pacenote.errors import PacenoteError, StoreError, UsageError
from pacenote.lab.experiment.kept_engine import starts_engine
from pacenote.lab.experiment.machine import read_machine
from pacenote.lab.experiment.options import joined
from pacenote.lab.experiment.public_options import public_text
from pacenote.lab.experiment.read_file import parse_duration, read_experiment
from pacenote.lab.tune.candidates import combinations, knob_options
from pacenote.lab.tune.confirm import confirmation, experiment_text
from pacenote.lab.tune.fit import Surroundings, fitted
from pacenote.lab.tune.knob_file import BUNDLED, read_knobs
from pacenote.lab.tune.measure import parse_constraint, parse_objective, with_direction
from pacenote.model.experiment import Variant
from pacenote.model.shell_command import shell_command
from pacenote.model.tune import Knob, TunePlan
from pacenote.provision.jvm_options import selects_collector
from pacenote.race.planning import load_race_track
from pacenote.track.prepare import PreparedTrack
from pacenote.units import format_count, format_seconds

_SEED_BITS = 63
_CREATING = ("create-index", *(f"create-{kind}-template" for kind in ("index", "composable", "component")))
_RATES = ("throughput", "throughput-min", "throughput-median", "throughput-max")
_CLUSTER = ("target-hosts", "pipeline")


class NewPlan(Struct, frozen=True):
    """The plan of a search that has no folder yet."""

    _plan: TunePlan
    left_out: tuple[str, ...]
    """Knobs and values that are left out, each with its reason."""

    def plan(self, tune_id: str) -> TunePlan:
        """Returns the plan with the id of the search."""
        return structs.replace(self._plan, tune_id=tune_id)


def new_plan(options: argparse.Namespace, race: dict[str, object], console: Console) -> NewPlan:
    """Returns the plan of a new search. Raises PacenoteError."""
    if not options.objective:
        raise UsageError(
            "a search needs an objective", hint="for example --objective=throughput:index-append --budget=2h"
        )
    objective = with_direction(parse_objective(options.objective), options.quality)
    constraints = tuple(parse_constraint(text) for text in options.constraint)
    budget = given_budget(options.budget)
    check = RaceOptionCheck(console)
    for text in check.warnings():
        console.warning(text)
    if problem := check.conflict(race):
        raise UsageError(problem)
    name, text = _knob_file(options.knobs)
    machine = read_machine()
    prepared = load_race_track(check.request(race), None, console.step)
    around = Surroundings(
        race=race,
        parameters=prepared.track.parameters(),
        memory_bytes=machine.memory_bytes,
        has_engine=starts_engine(race),
        changes_durability=options.change_durability,
        needs_new_engine=check.needs_new_engine,
        selects_collector=selects_collector,
        is_read=lambda knob: _is_read(knob, race, prepared, check),
    )
    # What needs an engine of its own is left out later, and is no mistake of the file.
    without_cluster = {key: value for key, value in race.items() if key not in _CLUSTER}
    usable = fitted(read_knobs(text, name, without_cluster, check), around)
    if not usable.knobs:
        raise UsageError(f"{name} has no knob that can be used here: {'; '.join(usable.left_out)}")
    plan = TunePlan(
        tune_id="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=random.SystemRandom().getrandbits(_SEED_BITS) if options.seed is None else options.seed,
        folder=str(Path.cwd()),
        objective=objective,
        constraints=constraints,
        quality=options.quality,
        budget_s=budget,
        knobs=usable.knobs,
        machine=machine,
        race=race,
    )
    _check_confirmation(plan, check)
    _check_values(plan, name, check)
    _check_paced(plan, prepared)
    return NewPlan(plan, usable.left_out)


def given_budget(text: str) -> float:
    """Returns the seconds of `--budget`. Raises UsageError."""
    if not text:
        raise UsageError("a search needs a budget, the time of all races", hint="for example --budget=2h")
    seconds = parse_duration(text)
    if seconds is None:
        raise UsageError(f"--budget must be a time such as 30m or 2h, not '{text}'")
    return seconds


def _check_paced(plan: TunePlan, prepared: PreparedTrack) -> None:
    """Raises UsageError if the objective is the throughput of a task with a target: no setting changes it."""
    for task in prepared.challenge.tasks():
        is_paced = task.target_throughput is not None or task.target_interval is not None
        if is_paced and plan.objective.metric in (f"{key}:{task.name}" for key in _RATES):
            time = shell_command(f"--objective=p99:{task.name}")
            raise UsageError(
                f"--objective: task '{task.name}' has a target throughput, which it keeps with any setting",
                hint=f"choose a time, such as {time}, or a task without a target",
            )


def _is_read(knob: Knob, race: dict[str, object], prepared: PreparedTrack, check: RaceOptionCheck) -> bool:
    """Returns whether one of the values of a parameter of the track changes what the chosen challenge does:
    other challenges may read it, too; and whether it creates what settings of indices are for. All else
    is taken to be read, also all that a plug-in may read. `prepared` is the track without the values; its
    repository was updated for it.
    """
    if prepared.track.plugin is not None:
        return True
    if knob.option.startswith("set:index."):
        return any(task.operation.type in _CREATING for task in prepared.challenge.tasks())
    if not knob.option.startswith("track-params."):
        return True
    default = _without_other_challenges(prepared)
    updated = {**race, "offline": True}
    for value in knob.values:
        try:
            request = check.request(joined(updated, knob_options(knob, value)))
            changed = load_race_track(request, None, lambda _: None)
        except PacenoteError:
            return True
        if _without_other_challenges(changed) != default:
            return True
    return False


def _without_other_challenges(prepared: PreparedTrack) -> object:
    return dataclasses.replace(prepared.track, challenges=(), params={}), prepared.challenge


def _check_confirmation(plan: TunePlan, check: RaceOptionCheck) -> None:
    """Plans a race of the default, and reads the file of a confirmation, which comes after hours.

    Raises UsageError for options that the file cannot have, and for metrics that no race has.
    """
    last = [len(knob.levels) - 1 for knob in plan.knobs]
    experiment = confirmation(plan, last)
    try:
        read_experiment(experiment_text(experiment), experiment.name, "the file of the confirmation", check)
    except StoreError as error:
        raise UsageError(f"{error.message}, and a search ends with one, its confirmation") from error
    try:
        check_plans(replace(experiment, variants=experiment.variants[:1]), "the default", check)
    except UsageError as error:
        text = error.message.removeprefix("primary: ")
        text = text if text == error.message else f"--objective or --constraint: {text}"
        raise UsageError(text, hint=error.hint) from error


def _check_values(plan: TunePlan, file: str, check: RaceOptionCheck) -> None:
    """Plans a race with each value of what selects an engine, such as a car; the others were checked with
    the track, or only the engine knows them.

    Raises UsageError for values that cannot be raced.
    """
    variants = tuple(
        Variant(knob.name, knob_options(knob, value), line=knob.line)
        for knob in plan.knobs
        if not knob.option.startswith("track-params.") and ":" not in knob.option and knob.option != "jvm"
        for value in knob.values
    )
    default = confirmation(plan, [len(knob.levels) - 1 for knob in plan.knobs])
    # The repositories were updated for the default.
    race = {**plan.race, "offline": True}
    check_plans(
        replace(default, race=race, variants=(default.variants[0], *variants), primary=()), file, check
    )


def plan_lines(planned: NewPlan) -> Iterator[str]:
    """Yields the lines of `--dry-run`."""
    plan = planned.plan("")
    yield f"objective: {plan.objective.metric}"
    for limit in plan.constraints:
        yield f"limit: {limit}"
    if plan.quality:
        yield f"quality: {', '.join(map(str, plan.quality))}"
    yield (
        f"budget: {format_seconds(plan.budget_s)}; {plan.confirm_blocks} blocks of default and winner "
        "are reserved for the confirmation, and the first races show how many are left for the search"
    )
    yield f"every race: {public_text(plan.race)}"
    yield f"{format_count(len(plan.knobs), 'knob')}, {format_count(combinations(plan.knobs), 'combination')}:"
    for knob in plan.knobs:
        values = ", ".join(map(_value_text, knob.values))
        default = "not known" if knob.default is None else _value_text(knob.default)
        warning = "; changes the durability" if knob.durability else ""
        yield f"  {knob.name} ({knob.option}): {values}; default {default}{warning}"
        if knob.source:
            yield f"    {knob.source}"
    for text in planned.left_out:
        yield f"left out: {text}"


def _value_text(value: object) -> str:
    """Returns a value as knob files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _knob_file(name: str) -> tuple[str, str]:
    """Returns the name of a knob file in messages, and its text. Raises UsageError."""
    path = Path(name) if name else BUNDLED
    try:
        return name or "the bundled knob file", path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
