"""Parses challenges, their schedules, tasks and parallel elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.problems import preview
from pacenote.model.track import ANY_TASK, Challenge, Operation, Parallel, Task
from pacenote.track.params import MAX_CLIENTS
from pacenote.track.parse_operations import parse_task_operation
from pacenote.track.parse_target_rate import parse_target_interval, parse_target_throughput

_SINGLE_KEYS = ("challenge", "test_procedure", "test-procedure")
_LIST_KEYS = ("challenges", "test_procedures", "test-procedures")

Operations = Mapping[str, Operation]
"""The named operations of a track by name."""


def parse_challenges(root: FieldReader, operations: Operations) -> tuple[Challenge, ...]:
    """Returns the challenges of a track, exactly one of them the default.

    OpenSearch Benchmark calls them test procedures; a track may also have a schedule without a challenge.
    """
    keys = [key for key in (*_LIST_KEYS, *_SINGLE_KEYS, "schedule") if key in root.data]
    if len(keys) != 1:
        present = " and ".join(keys) or "none"
        root.problem(None, f"needs exactly one of challenges, challenge and schedule, but has {present}")
        return ()
    key = keys[0]
    base = root.mapping("parameters")
    if key == "schedule":
        schedule = _schedule(root, operations)
        only = Challenge("default", schedule, default=True, auto_generated=True, parameters=base)
        return (only,)
    items = root.children(key) if key in _LIST_KEYS else (root.child(key),)
    challenges = tuple(_challenge(item, operations, base) for item in items)
    _check_challenges(root, key, items, challenges)
    return challenges


def _check_challenges(
    root: FieldReader, key: str, items: tuple[FieldReader, ...], challenges: tuple[Challenge, ...]
) -> None:
    names: set[str] = set()
    for item, challenge in zip(items, challenges, strict=True):
        if challenge.name in names:
            item.problem("name", f"is {quoted(challenge.name)}, which is not unique among the challenges")
        names.add(challenge.name)
    defaults = [challenge.name for challenge in challenges if challenge.default]
    if len(challenges) > 1 and len(defaults) != 1:
        marked = f"{quoted_list(defaults)} are" if defaults else "none is"
        text = f'has {len(challenges)} challenges of which {marked} marked as "default"'
        root.problem(key, f"{text}, but exactly one must be")


def _challenge(item: FieldReader, operations: Operations, base: Mapping[str, Any]) -> Challenge:
    item.required("schedule")
    return Challenge(
        name=item.required_text("name"),
        schedule=_schedule(item, operations),
        description=item.text("description"),
        user_info=item.text("user-info"),
        default=item.flag("default", False),
        meta=item.mapping("meta"),
        parameters={**base, **item.mapping("parameters")},
    )


def _schedule(challenge: FieldReader, operations: Operations) -> tuple[Task | Parallel, ...]:
    elements = tuple(_element(item, operations) for item in challenge.children("schedule"))
    names: set[str] = set()
    for element in elements:
        for task in element.tasks if isinstance(element, Parallel) else (element,):
            if task.name and task.name in names:
                text = f"is the second task {quoted(task.name)} of the challenge; give it a unique name"
                challenge.problems.add(task.key_path, text)
            names.add(task.name)
    return elements


def _element(item: FieldReader, operations: Operations) -> Task | Parallel:
    if "parallel" in item.data:
        return _parallel(item, operations)
    return _task(item, operations, _Bounds())


class _Bounds(Struct, frozen=True):
    """Bounds of a task, which tasks inherit from their parallel element."""

    warmup_iterations: int | None = None
    iterations: int | None = None
    warmup_time_period: float | None = None
    time_period: float | None = None
    ramp_up_time_period: float | None = None


def _bounds(item: FieldReader, parent: _Bounds) -> _Bounds:
    """Returns the bounds of an element; those that it does not set are inherited from its parent."""
    element = _Bounds(
        warmup_iterations=item.integer("warmup-iterations", 0),
        iterations=item.integer("iterations", 1),
        warmup_time_period=item.number("warmup-time-period"),
        time_period=item.number("time-period", above=True),
        ramp_up_time_period=item.number("ramp-up-time-period"),
    )
    stated = {name: getattr(element, name) for name in _Bounds.__struct_fields__}
    inherited = {name: getattr(parent, name) for name in _Bounds.__struct_fields__}
    return _Bounds(**{name: inherited[name] if stated[name] is None else stated[name] for name in stated})


def _parallel(outer: FieldReader, operations: Operations) -> Parallel:
    item = outer.child("parallel")
    item.required("tasks")
    parent = _bounds(item, _Bounds())
    tasks = tuple(_parallel_task(task, operations, parent) for task in item.children("tasks"))
    completed_by = item.text("completed-by") or None
    names = [task.name for task in tasks]
    if completed_by and completed_by != ANY_TASK and completed_by not in names:
        hint = did_you_mean(completed_by, names)
        item.problem("completed-by", f"names {quoted(completed_by)}, which is not one of its tasks{hint}")
    return Parallel(
        tasks=tasks,
        clients=item.integer("clients", 1, MAX_CLIENTS),
        completed_by=completed_by,
        name=outer.name("name") or item.name("name"),
        key_path=item.path,
    )


def _parallel_task(item: FieldReader, operations: Operations, parent: _Bounds) -> Task:
    if "parallel" in item.data:
        item.problem("parallel", "cannot be inside another parallel element")
        return Task(name="", operation=Operation("", ""), key_path=item.path)
    own_ramp_up = item.data.get("ramp-up-time-period")
    if own_ramp_up is not None and own_ramp_up != parent.ramp_up_time_period:
        item.problem("ramp-up-time-period", "is only allowed on the parallel element itself")
    return _task(item, operations, parent)


def _task(item: FieldReader, operations: Operations, parent: _Bounds) -> Task:
    operation = parse_task_operation(item, operations)
    bounds = _bounds(item, parent)
    _check_bounds(item, bounds)
    if item.has("target-throughput") and item.has("target-interval"):
        item.problem("target-interval", "cannot be used together with target-throughput")
    level = item.choice("ignore-response-error-level", ["non-fatal"], "")
    return Task(
        name=item.name("name") or operation.name,
        operation=operation,
        clients=item.integer("clients", 1, MAX_CLIENTS) or 1,
        warmup_iterations=bounds.warmup_iterations,
        iterations=bounds.iterations,
        warmup_time_period=bounds.warmup_time_period,
        time_period=bounds.time_period,
        ramp_up_time_period=bounds.ramp_up_time_period,
        target_throughput=parse_target_throughput(item),
        target_interval=parse_target_interval(item),
        schedule=item.text("schedule") or "deterministic",
        tags=item.names("tags"),
        tolerates_errors=bool(level),
        run_on_serverless=_run_on_serverless(item, operation),
        meta=item.mapping("meta"),
        params=item.data,
        key_path=item.path,
    )


def _run_on_serverless(item: FieldReader, operation: Operation) -> bool | None:
    """Returns the setting of the task, otherwise that of its operation."""
    if item.has("run-on-serverless"):
        return item.flag("run-on-serverless", False)
    setting = operation.params.get("run-on-serverless")
    return None if setting is None else str(setting).lower() == "true"


def _check_bounds(item: FieldReader, bounds: _Bounds) -> None:
    if bounds.warmup_iterations is not None and bounds.time_period is not None:
        item.problem(None, "mixes warmup-iterations with time-period; choose iterations or periods")
    if bounds.warmup_time_period is not None and bounds.iterations is not None:
        item.problem(None, "mixes warmup-time-period with iterations; choose periods or iterations")
    if bounds.ramp_up_time_period is None:
        return
    ramp_up, warmup = bounds.ramp_up_time_period, bounds.warmup_time_period
    if bounds.warmup_iterations is not None or bounds.iterations is not None:
        item.problem(None, "mixes ramp-up-time-period with iterations; choose periods")
    elif warmup is None:
        item.problem(None, "has a ramp-up-time-period, which needs a warmup-time-period at least as long")
    elif warmup < ramp_up:
        text = f"is {preview(warmup)} s, shorter than ramp-up-time-period, which is {preview(ramp_up)} s"
        item.problem("warmup-time-period", text)
