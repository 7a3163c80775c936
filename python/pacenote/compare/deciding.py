"""Which metrics decide a comparison: few, because each of them makes the intervals of the others wider."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.compare.imported_metrics import is_paced
from pacenote.compare.metrics import expanded_primary, metadata_names, named_metrics
from pacenote.figures.percentiles import DECIDING_PERCENTILES
from pacenote.model.comparison import MetricId
from pacenote.model.driver_facts import late_joins
from pacenote.model.imported import ImportedResults, ImportedTask, imported_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import DurationSummary, TaskResult, percentiles_for
from pacenote.model.target_rate import leaves_unsent, misses_target
from pacenote.model.task_kinds import reported_tasks, runs_once
from pacenote.model.warmup_backlog import throughput_includes_backlog

_BUSY_SHARE = 0.5
"""Share of operations that waited for their client from which on a schedule of an unknown rate is not
kept.
"""


def deciding_metrics(
    records: Sequence[RaceRecord], metrics: Collection[MetricId]
) -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """Returns the labels of the metrics that decide a comparison of races that have all of these metrics:
    those that the metadata of their tasks names or, if there are none, one of each task that does not run
    only once, and its error rate. Also returns the names in the metadata that select no metric, by task.

    That one is throughput unless all races keep a target rate, or that of a race includes the backlog of its
    warm-up; then it is the highest percentile of latency of `DECIDING_PERCENTILES` that the samples of all
    races carry.
    """
    named, unknown = named_metrics(records, metrics)
    if named:
        return named, unknown
    imported = [record.imported for record in records if record.imported is not None]
    tasks: dict[str, list[_RacedTask]] = {}
    for record in records:
        for task in _deciding_tasks(record) if record.imported is None else ():
            tasks.setdefault(task.task, []).append(_RacedTask(task, record))
    keys = {name: _keys(own) for name, own in tasks.items()} | _imported_keys(imported)
    known, deciding = {metric.label for metric in metrics}, set[str]()
    for name, own in keys.items():
        labels = [f"{key}:{name}" for key in own]
        deciding.update([label for label in labels if label in known][:1], [f"error-rate:{name}"])
    return frozenset(deciding), unknown


def lacking_metrics(
    records: Sequence[RaceRecord], metrics: Sequence[Collection[MetricId]], names: Sequence[str] = ()
) -> tuple[str, ...]:
    """Returns the labels of the metrics that would decide a comparison if every race had them, and that some
    races have: `names` by options or, without them, those that `deciding_metrics` has. Of a task whose error
    rate is lacking together with another metric, only that one is returned.

    `metrics` has those of each race. A metric is not lacking if another one of its task decides instead.
    """
    every = {metric.label: metric for own in metrics for metric in own}
    common = [metric for metric in every.values() if all(metric in own for own in metrics)]
    wanted = [("", name) for name in names] or [*metadata_names(records)]
    lacking = [
        label
        for task, name in wanted
        for label in uncovered(
            *(
                [every[label] for label in expanded_primary([name], _of(task, some))[0]]
                for some in (every.values(), common)
            )
        )
    ]
    if not any(expanded_primary([name], _of(task, every.values()))[0] for task, name in wanted):
        decide = [deciding_metrics(records, some)[0] for some in (list(every.values()), common)]
        lacking = uncovered(
            [metric for label, metric in every.items() if label in decide[0]],
            [metric for metric in common if metric.label in decide[1]],
        )
    tasks = {every[label].task for label in lacking if every[label].kind != "error rate"}
    return tuple(
        label
        for label in dict.fromkeys(lacking)
        if every[label].kind != "error rate" or every[label].task not in tasks
    )


def partial_metrics(metrics: Sequence[Collection[MetricId]]) -> tuple[MetricId, ...]:
    """Returns the metrics that some of the races have but not all; `metrics` has those of each race."""
    every = dict.fromkeys(metric for own in metrics for metric in own)
    return tuple(metric for metric in every if not all(metric in own for own in metrics))


def _of(task: str, metrics: Iterable[MetricId]) -> list[MetricId]:
    """Returns the metrics of a task, or all of them for empty text."""
    return [metric for metric in metrics if task in ("", metric.task)]


def uncovered(every: Iterable[MetricId], common: Iterable[MetricId]) -> list[str]:
    """Returns the labels of metrics for which no common metric of their task stands in: an error rate does
    not for others, nor the other way round.
    """
    covered = {(metric.task, metric.kind == "error rate") for metric in common}
    return [each.label for each in every if (each.task, each.kind == "error rate") not in covered]


class _RacedTask(Struct, frozen=True):
    """A task in one race."""

    task: TaskResult
    record: RaceRecord

    @property
    def is_scheduled(self) -> bool:
        """Whether its throughput is that of its schedule."""
        return is_scheduled(self.task, self.record)


def is_scheduled(task: TaskResult, record: RaceRecord) -> bool:
    """Returns whether the throughput of a task in a race is that of its schedule: it has a target rate and
    keeps it, and sent nearly all of its operations, since those that were not sent have no latency. If the
    rate is not known, as that of a scheduler of a plug-in, most operations did not wait for their client.
    """
    target = record.targets.get(task.task)
    if not task.paced or leaves_unsent(task):
        return False
    if target is None:
        counts = task.accounting
        return counts.waited <= _BUSY_SHARE * (counts.succeeded + counts.failed)
    return not misses_target(task, target, record.max_shortfall, late_joins(record.driver, task.index))


def _deciding_tasks(record: RaceRecord) -> list[TaskResult]:
    return [task for task in reported_tasks(record) if not runs_once(task)]


def _keys(tasks: Sequence[_RacedTask]) -> tuple[str, ...]:
    """Returns the keys of a task's metrics, of which the first that all races have decides."""
    has_latency = all(each.task.paced and not each.task.warmup_backlog.marked for each in tasks)
    times = [each.task.latency if has_latency else each.task.service_time for each in tasks]
    carried = [q for q in DECIDING_PERCENTILES if all(_carries(own, q) for own in times)]
    has_throughput = not any(throughput_includes_backlog(each.task) for each in tasks)
    rate = ("throughput",) if has_throughput and not all(each.is_scheduled for each in tasks) else ()
    return (*rate, *_percentile_keys(carried, "latency" if has_latency else "service-time"))


def _carries(times: DurationSummary | None, q: float) -> bool:
    percentile = times.at(q) if times and q in percentiles_for(times.count) else None
    return percentile is not None and percentile.supported


def _percentile_keys(carried: Sequence[float], time: str) -> Iterator[str]:
    """Yields the percentiles that the samples carry or, if they carry none, the lowest, which says so."""
    yield from (f"p{q:g}-{time}" for q in carried or DECIDING_PERCENTILES[-1:])


def _imported_keys(races: Sequence[ImportedResults]) -> dict[str, tuple[str, ...]]:
    """Returns the keys of the metrics of imported tasks that index documents or have a median, by name."""
    tasks: dict[str, list[ImportedTask]] = {}
    for imported in races:
        for task in imported_tasks(imported.values):
            if task.indexes or 50.0 in task.times:
                tasks.setdefault(task.task, []).append(task)
    return {name: _keys_of_imported(own) for name, own in tasks.items()}


def _keys_of_imported(tasks: Sequence[ImportedTask]) -> tuple[str, ...]:
    # Their files do not state target rates, but latency differs from service time only with one.
    is_scheduled = not any(task.indexes for task in tasks) and all(map(is_paced, tasks))
    rate = () if is_scheduled else ("throughput", "throughput-median")
    for kind in ("latency", "service time") if is_scheduled else ("service time",):
        carried = [q for q in DECIDING_PERCENTILES if all(task.supports(kind, q) for task in tasks)]
        if carried:
            return (*rate, *_percentile_keys(carried, kind.replace(" ", "-")))
    return (*rate, *_percentile_keys((), "latency" if is_scheduled else "service-time"))
