"""What is not known of the quality of two groups of races, which limits what a comparison says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pacenote.compare.metrics import Datum, metric_hint, quality_labels
from pacenote.errors import UsageError
from pacenote.model.comparison import MetricComparison, MetricId, MetricWord
from pacenote.model.custom_metrics import QUALITY_KEY, CustomMetrics, QualityDirection, is_time
from pacenote.model.finding import Finding
from pacenote.model.messages import list_with_rest
from pacenote.model.shell_command import shell_command
from pacenote.units import format_change, format_number

_CHANGED: tuple[MetricWord, ...] = ("changed", "probably changed")

_NAMED = 3
"""Number of numbers of a task that a finding names."""


def check_directions(
    given: Iterable[QualityDirection], metrics: Iterable[MetricId], kind: str = "common "
) -> None:
    """Raises UsageError if the races have no custom metric that a direction is for: a name with a typing
    error would hide that quality fell. `metrics` are those of the races, `kind` says of which.
    """
    known = [metric for metric in metrics if metric.kind == "custom"]
    for direction in unknown_directions(given, known):
        raise UsageError(
            f"--quality={direction}: the races have no {kind}metric '{direction.key}'",
            hint=metric_hint(direction.key, known),
        )


def unknown_directions(
    given: Iterable[QualityDirection], metrics: Iterable[MetricId]
) -> tuple[QualityDirection, ...]:
    """Returns the directions that are for none of these custom metrics."""
    names = {
        (task, metric.key) for metric in metrics if metric.kind == "custom" for task in ("", metric.task)
    }
    return tuple(each for each in given if (each.task, each.key) not in names)


def quality_problems(customs: CustomMetrics, races: Sequence[Mapping[MetricId, Datum]]) -> Iterator[Finding]:
    """Yields which quality metrics are declared wrongly, or cannot be compared because races lack them.

    `races` has the metrics of each race.
    """
    advice = f"correct {QUALITY_KEY} in the metadata of the task"
    yield from (Finding(problem, "track", advice) for problem in customs.problems)
    for task, keys in lacking_quality(customs, races).items():
        text = f"not all races have {', '.join(keys)}, so that it is not known whether quality changed"
        yield Finding(text, "track", "let the runner return it in every race", (task,))


def lacking_quality(
    customs: CustomMetrics, races: Sequence[Mapping[MetricId, Datum]]
) -> dict[str, list[str]]:
    """Returns, by task, the keys of the quality metrics that not all races have."""
    own: dict[str, dict[MetricId, None]] = {
        metric.task: {} for metrics in races for metric in metrics if metric.task
    }
    for metrics in races:
        for metric in metrics:
            if metric.kind == "custom":
                own[metric.task][metric] = None
    missing, declared = {}, customs.keys_by_task()
    for task, returned in own.items():
        quality = quality_labels(returned, customs)
        lacking = [
            metric.key
            for metric in returned
            if metric.label in quality and not all(metric in metrics for metrics in races)
        ]
        known = {metric.key for metric in returned}
        lacking += [key for key in declared.get(task, ()) if key not in known]
        if lacking:
            missing[task] = lacking
    return missing


def quality_limits(metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    """Yields which quality metrics may have become worse, although the races do not show it, which changed
    although neither direction is better, and which numbers changed that may be a quality.
    """
    for metric in metrics:
        if metric.role != "quality":
            continue
        values = f"{format_number(metric.baseline_value)} → {format_number(metric.contender_value)}"
        tasks = (metric.metric.task,)
        if metric.word in _CHANGED:
            text = f"{metric.metric.name} {metric.word} ({values}): the sides do not return the same"
            yield Finding(text, "unknown", "find out why before you compare speeds", tasks)
        elif metric.word in ("unclear", "no verdict") and _may_be_worse(metric):
            text = f"{metric.metric.name} may be worse ({values}), but the races do not decide it"
            yield Finding(text, "user", "run more races", tasks)
    yield from _unknown_changes(metrics)


def _unknown_changes(metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    """Yields, by task, which numbers changed of which it is not known whether higher values are better. Times
    are left out, as they change with the speed.
    """
    changes = defaultdict[str, list[MetricComparison]](list)
    for metric in metrics:
        is_unknown = metric.metric.kind == "custom" and metric.role == "secondary"
        if is_unknown and metric.word in _CHANGED and not is_time(metric.metric.key):
            changes[metric.metric.task].append(metric)
    for task, own in changes.items():
        named = [f"{each.metric.name} {each.word} by {_change(each)}" for each in own]
        text = f"{list_with_rest(named, _NAMED)}, whose direction is not known"
        option = shell_command(f"--quality={own[0].metric.key}=higher")
        yield Finding(text, "user", f"say what is better, as {option}", (task,))


def _change(metric: MetricComparison) -> str:
    relative = metric.relative_change
    if relative is None or metric.is_absolute:
        moved = metric.contender_value - metric.baseline_value
        return f"{'+' if moved > 0 else ''}{format_number(moved)}"
    return format_change(relative)


def _may_be_worse(metric: MetricComparison) -> bool:
    """Returns whether the medians differ in a direction that is not better, by what matters."""
    moved = metric.contender_value - metric.baseline_value
    limit = (
        metric.smallest_effect if metric.is_absolute else metric.smallest_effect * abs(metric.baseline_value)
    )
    if abs(moved) < limit or not moved:
        return False
    return metric.metric.higher_is_better is None or (moved < 0) == metric.metric.higher_is_better
