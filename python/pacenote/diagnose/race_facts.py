"""The figures that the record of a race has: results of tasks, the driver's checks, the engine's totals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pacenote.diagnose.facts import MOST_BESIDE, EvidenceBuilder, TaskFacts, Window
from pacenote.figures.of_race import Figure, engine_figures, task_figures
from pacenote.model.driver_facts import listed, number, part, threads_of
from pacenote.model.engine_time import SHORT_MS, EngineTime
from pacenote.model.finding import Cause
from pacenote.model.imported import ImportedTask, imported_tasks
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import achieved_rate
from pacenote.model.task_kinds import WorkKind, diagnosed_tasks, indexes, work_kind
from pacenote.model.warmup_backlog import share_of_schedule

_MS = 1000.0
_REJECTED = 429
"""Status of a request, or of a document of a bulk, that the engine rejects because it is overloaded."""

_BULK = "bulk"
"""The type of operations of which only the rejected documents are sent again: the time that the engine
reports is that of all replies.
"""

_REASONS: Mapping[str, tuple[Cause, ...]] = {
    "driver": ("driver", "code", "pacenote"),
    "machine": ("machine",),
}
"""The causes of the reasons of a verdict that figures are about; rules explain those of the engine."""


def race_builder(record: RaceRecord) -> EvidenceBuilder:
    """Returns the evidence that the record of a race has."""
    if record.imported is not None:
        return _imported(record)
    tasks = diagnosed_tasks(record)
    beside = _tasks_by_step(tasks, record)
    facts = [_task_facts(task, beside.get(task.task, ())) for task in tasks]
    builder = EvidenceBuilder(record.race_id, facts, record.verdict)
    for task in tasks:
        for name, value in _task_figures(task, record):
            builder.set(Window(task.task), name, value)
        if task.task not in record.targets:
            for name in ("task.target_share", "task.latency_p99_ms", "driver.lateness_p99_ms"):
                builder.miss(name, "the task has no target rate", Window(task.task))
    for node in record.cluster.nodes:
        node_name, host = node.get("name"), node.get("host")
        if isinstance(node_name, str) and isinstance(host, str) and host:
            builder.set_host(node_name, host)
    _add_driver(builder, record, tasks)
    _add_reasons(builder, record.verdict, tasks)
    builder.set(Window(), "race.test_mode", record.options.test_mode)
    builder.set(Window(), "task.tolerated_error_rate", record.max_error_rate)
    for name, value in _named_figures(engine_figures(record.system)):
        builder.set(Window(), name, value)
    indexing_s = sum(task.window_s for task in tasks if indexes(task))
    builder.set(Window(), "total.indexing_tasks_s", indexing_s or None)
    builder.miss("task.took_share", "no sample that was read has a time of the engine (took)")
    builder.set(Window(), "task.compressed", record.client.compress)
    builder.set(Window(), "task.tls", record.client.tls)
    return builder


def add_engine_times(
    builder: EvidenceBuilder, times: Mapping[str, EngineTime], tasks: Iterable[TaskResult]
) -> None:
    """Adds the part of the service time of the tasks of a race that the engine reports as its own."""
    resends = {
        task.task: task.accounting.retried / task.accounting.operations
        for task in tasks
        if task.operation_type == _BULK and task.accounting.operations
    }
    for task, of_samples in times.items():
        time = of_samples.with_resends(resends.get(task, 0.0))
        builder.set(Window(task), "task.took_share", time.took_share)
        if time.took_share is None:
            reason = f"service times below {SHORT_MS:.0f} ms are too short for whole milliseconds"
            builder.miss("task.took_share", reason, Window(task))


def _tasks_by_step(tasks: Iterable[TaskResult], record: RaceRecord) -> Mapping[str, tuple[str, ...]]:
    """Returns the diagnosed tasks of the step of each task."""
    step_of: dict[str, str] = {}
    for step, names in record.steps.items():
        for name in names:
            step_of.setdefault(name, step)
    together: dict[str, list[str]] = {}
    for task in tasks:
        if task.task in step_of:
            together.setdefault(step_of[task.task], []).append(task.task)
    named = {step: tuple(names) for step, names in together.items()}
    return {name: named[step] for name, step in step_of.items() if step in named}


def _task_facts(task: TaskResult, together: tuple[str, ...]) -> TaskFacts:
    beside = [name for name in together[: MOST_BESIDE + 1] if name != task.task]
    return TaskFacts(
        task.task,
        work_kind(task),
        beside=tuple(beside[:MOST_BESIDE]),
        warmup_share=max(0.0, 1 - task.window_s / task.duration_s) if task.duration_s > 0 else 0.0,
    )


def _task_figures(task: TaskResult, record: RaceRecord) -> Iterator[tuple[str, float | str | None]]:
    """Yields the figures of a task; None for those that it does not have."""
    service = task.service_time
    yield from _named_figures(task_figures(task))
    yield "task.rejections", sum(group.count for group in task.errors if group.status == _REJECTED)
    yield "task.overload_share", _overload_share(task)
    yield "task.paced", task.paced
    rate = task.window_succeeded / task.window_s if task.window_succeeded is not None else None
    yield "task.operations_per_s", rate
    if indexes(task):
        yield "task.documents", task.work.done
        succeeded = task.accounting.succeeded
        yield "task.documents_per_operation", task.work.done / succeeded if succeeded else None
    target = record.targets.get(task.task)
    if target is not None and target.value > 0:
        yield "task.target_share", achieved_rate(task, target) * share_of_schedule(task) / target.value
    yield "task.busy_clients", _busy_clients(task, rate)
    if task.duration_s > 0:
        yield "task.bytes_out_per_s", task.bytes_out / task.duration_s
        yield "task.bytes_in_per_s", task.bytes_in / task.duration_s
    yield "task.content_ratio", task.content_out / task.bytes_out if task.bytes_out else None
    yield "driver.time_share", task.driver_time.share if task.driver_time else None
    processing = task.processing_time
    if processing is not None and service is not None and service.mean_ms > 0:
        yield "driver.processing_share", processing.mean_ms / service.mean_ms - 1


def _overload_share(task: TaskResult) -> float | None:
    failures = sum(group.count for group in task.errors)
    overload = sum(group.count for group in task.errors if group.is_overload)
    return overload / failures if failures else None


def _busy_clients(task: TaskResult, succeeded_per_s: float | None) -> float | None:
    """Returns how many clients waited for a reply on average, by Little's law; clients that wait for a
    time-out, or for an error, are busy, too. Of failures, those count that ended in the window, also of
    operations that were due in the warm-up, or the measured ones if these are more: they may end after it.
    """
    failed, busy = task.failed_service_time, []
    if task.service_time is not None and succeeded_per_s is not None:
        busy.append(succeeded_per_s * task.service_time.mean_ms)
    if failed is not None:
        ended = 0 if task.window_succeeded is None else task.window_operations - task.window_succeeded
        busy.append(max(ended, failed.count) * failed.mean_ms / task.window_s)
    return min(float(task.clients), sum(busy) / _MS) if busy else None


def _named_figures(figures: Iterable[Figure]) -> Iterator[tuple[str, float | None]]:
    """Yields the figures that have a name in rules; None for those that have too few values."""
    for figure in figures:
        for rule in figure.metric.rules if not figure.part else ():
            if rule.statistic == figure.statistic:
                is_sound = figure.supported and not figure.has_backlog
                yield (
                    rule.name,
                    figure.value / rule.divisor if figure.value is not None and is_sound else None,
                )


def _add_driver(builder: EvidenceBuilder, record: RaceRecord, tasks: Iterable[TaskResult]) -> None:
    """Adds what the driver reports about itself and the machine."""
    driver = record.driver
    steps = {task: step for step, names in record.steps.items() for task in names}
    busiest, waits = _BusiestThreads(driver), _core_waits(driver)
    for task in tasks:
        step = steps.get(task.task, task.task)
        builder.set(Window(task.task), "driver.cpu_share", busiest.share(step))
        if waits is not None:
            builder.set(Window(task.task), "driver.core_wait_share", waits.get(step, 0.0))
    clock = driver.get("clock")
    if isinstance(clock, Mapping):
        jumps = number(clock, "steps_s")
        if "steps_s" not in clock:
            # Earlier versions did not add up the steps, of which only the first ones are listed.
            listed_steps = (jump for jump in listed(clock, "steps") if isinstance(jump, Mapping))
            jumps = sum(abs(number(each, "by_s")) for each in listed_steps)
        builder.set(Window(), "driver.clock_gaps_s", number(clock, "gaps_s") + jumps)
    machine = part(driver, "machine")
    for name, key in (("machine.busy_share", "busy_share"), ("machine.steal_share", "stolen_share")):
        if isinstance(machine.get(key), int | float):
            builder.set(Window(), name, number(machine, key))


def _add_reasons(builder: EvidenceBuilder, verdict: Verdict, tasks: Sequence[TaskResult]) -> None:
    """Adds the reasons of the verdict that are not about the engine."""
    for name, causes in _REASONS.items():
        findings = [finding for finding in verdict.findings if finding.cause in causes]
        of_task: dict[str, list[int]] = {}
        for at, finding in enumerate(findings):
            for task_name in dict.fromkeys(finding.tasks):
                of_task.setdefault(task_name, []).append(at)
        of_all = [at for at, finding in enumerate(findings) if not finding.tasks]
        for task in tasks:
            positions = of_task.get(task.task, [])
            first = min((*of_all[:1], *positions[:1]), default=None)
            builder.set(Window(task.task), f"verdict.{name}_reasons", len(of_all) + len(positions))
            text = None if first is None else findings[first].text
            builder.set(Window(task.task), f"verdict.{name}_reason", text)


class _BusiestThreads:
    """The CPU time of the busiest thread that sends requests, by step."""

    def __init__(self, driver: Mapping[str, object]) -> None:
        self._highest: dict[object, float] = {}
        self._by_step: dict[object, float] = {}
        means: dict[object, float] = {}
        for name, thread in threads_of(driver):
            if not name.startswith(("drive", "lane")):
                continue
            if "busiest_steps" in thread:
                _keep_highest(self._by_step, thread, "busiest_steps", "share")
                continue
            # An earlier version recorded only the step with the busiest ten seconds.
            busiest, wall = part(thread, "busiest"), number(thread, "wall_s")
            step = busiest.get("step")
            step = step if isinstance(step, str) else None
            if step is not None:
                self._highest[step] = max(self._highest.get(step, 0.0), number(busiest, "share"))
            if wall > 0:
                means[step] = max(means.get(step, 0.0), number(thread, "cpu_s") / wall)
        # The mean of a thread does not count in the step that has its busiest ten seconds.
        self._means = sorted(means.items(), key=lambda item: -item[1])[:2]

    def share(self, step: str) -> float | None:
        """Returns the share of the busiest ten seconds of the step; of races of earlier versions, only if the
        busiest ones of a thread are in it, otherwise its mean over the race.
        """
        if self._by_step:
            return self._by_step.get(step)
        shares = [share for of_step, share in self._means if of_step != step]
        if step in self._highest:
            shares.append(self._highest[step])
        return max(shares, default=None)


def _core_waits(driver: Mapping[str, object]) -> Mapping[str, float] | None:
    """Returns the longest wait of a thread for a core by step, as a share of the step: all waits, or only
    those in intervals with long ones, which are known of more steps. None if the kernel did not count them.
    """
    threads = [
        thread
        for _, thread in threads_of(driver)
        if "core_waits" in thread and thread.get("run_queue_s", 0.0) is not None
    ]
    if not threads:
        return None
    highest: dict[object, float] = {}
    for thread in threads:
        _keep_highest(highest, thread, "core_waits", "share")
        _keep_highest(highest, thread, "delayed_tasks", "share_of_step")
        _keep_highest(highest, {"worst": [part(thread, "delayed")]}, "worst", "share_of_step")
    return {step: share for step, share in highest.items() if isinstance(step, str)}


def _keep_highest(highest: dict[object, float], thread: Mapping[str, object], key: str, share: str) -> None:
    """Keeps the highest of the shares by step that a list of a thread has."""
    for entry in listed(thread, key):
        step = entry.get("step") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(step, str):
            highest[step] = max(highest.get(step, -math.inf), number(entry, share))


def _imported(record: RaceRecord) -> EvidenceBuilder:
    """Returns the evidence of an imported race, which has figures of tasks only."""
    values = record.imported.values if record.imported else ()
    tasks = [task for task in imported_tasks(values) if task.is_measured]
    facts = [TaskFacts(task.task, _imported_kind(task)) for task in tasks]
    builder = EvidenceBuilder(record.race_id, facts, record.verdict)
    builder.set(Window(), "task.tolerated_error_rate", record.max_error_rate)
    for task in tasks:
        window = Window(task.task)
        builder.set(window, "task.error_rate", task.error_rate)
        builder.set(window, "task.throughput", task.rate)
        times = task.percentiles.get("service time", {})
        for name, q in (("task.service_p50_ms", 50.0), ("task.service_p99_ms", 99.0)):
            builder.set(window, name, times.get(q))
    reason = "the race was imported, and its file does not have it"
    for source in ("race results", "engine totals", "snapshot"):
        builder.miss(source, reason)
    for source in ("node counters", "host sampler", "GC log", "recording"):
        builder.miss(source, "the race was imported")
    return builder


def _imported_kind(task: ImportedTask) -> WorkKind:
    """Returns what an imported task does: its file has only its unit."""
    return "indexing" if task.indexes else "searching" if task.percentiles else "other"
