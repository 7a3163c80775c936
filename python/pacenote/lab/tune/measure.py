"""What a race says about the objective and the limits of a search, and how both are written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from pacenote.compare.metrics import Datum, expanded_primary, race_metrics
from pacenote.compare.operation_work import other_operation_work
from pacenote.compare.quality import unknown_directions
from pacenote.compare.race_findings import RaceDoubts, voids
from pacenote.errors import UsageError
from pacenote.model.comparison import MetricId
from pacenote.model.custom_metrics import QualityDirection, declared_metrics, quality_directions
from pacenote.model.messages import did_you_mean
from pacenote.model.race_record import RaceRecord
from pacenote.model.tune import Constraint, Relation, TuneObjective, TunePlan
from pacenote.model.unserved import ENDLESS_REASON
from pacenote.model.warmup_backlog import MISSED_ADVICE, backlog_reason
from pacenote.stats.absolute_effect import OperationCount
from pacenote.stats.one_sided import CONFIDENCE, error_rate_bounds
from pacenote.verdict.determine import missed_targets
from pacenote.verdict.outside_disturbances import outside_disturbance

_CONSTRAINT = re.compile(r"\s*+([^<>\s]++)\s*+([<>]=?)\s*+(\d++(?:\.\d++)?)\s*+([^\s\d]*+)\s*+")
_MS = {"ms": 1.0, "s": 1000.0, "us": 0.001, "µs": 0.001}
_TIME = re.compile(r"p\d+(\.\d+)?(-|:|$)")
_NAME = re.compile(r"[^\s:<>]+(:.+)?")
_DIRECTIONS = {
    True: "its higher values are better",
    False: "its lower values are better",
    None: "it is not known which of its values are better",
}
_OBJECTIVE_HINT = "for example --objective=throughput:index-append, or --objective=p99:term"


class RaceMeasures(Struct, frozen=True):
    """The objective and the limits in one race."""

    objective: float | None = None
    """The objective; None if the race does not count."""

    limits: tuple[float, ...] = ()
    """The metrics of the constraints."""

    operations: tuple[int, ...] = ()
    """Of each of `limits`, the number of measured operations if it is an error rate; 0 for others."""

    problem: str = ""
    """Why it does not count; empty if it does."""


def parse_objective(text: str) -> TuneObjective:
    """Reads `--objective`. Raises UsageError."""
    name = text.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(f"--objective must name a metric, not '{text}'", hint=_OBJECTIVE_HINT)
    return TuneObjective(name)


def parse_constraint(text: str) -> Constraint:
    """Reads a `--constraint` such as `p99:search<50ms`. Raises UsageError."""
    match = _CONSTRAINT.fullmatch(text)
    name, unit = (match[1], match[4]) if match else ("", "")
    units = {"": 1.0}
    if _TIME.match(name):
        units = _MS
    elif name.startswith("error-rate"):
        units |= {"%": 1.0}
    if match is None or not _NAME.fullmatch(name) or unit not in units:
        known = ", ".join(symbol for symbol in units if symbol) or "none"
        problem = f"'{unit}' is not a unit of {name}, which has" if unit else f"{name} needs a unit:"
        reason = f"{problem} {known}" if match else f"it is '{text}'"
        raise UsageError(
            f"--constraint must be a metric and its limit: {reason}",
            hint='for example --constraint="p99:search<50ms" or --constraint="error-rate:search<1%"',
        )
    if len(match[2]) > 1 or (match[2] == "<" and float(match[3]) == 0):
        raise UsageError(
            f"--constraint must be a metric that stays below or above its limit, not '{text}'",
            hint="use < or > with a limit that can be kept, such as error-rate:search<0.1%",
        )
    relation: Relation = "<" if match[2] == "<" else ">"
    return Constraint(name, relation, float(match[3]) * units[unit])


def with_direction(objective: TuneObjective, quality: Iterable[QualityDirection]) -> TuneObjective:
    """Returns an objective with the direction that an option gives it, if one does."""
    key, _, task = objective.metric.partition(":")
    directions = {q.task: q.direction for q in quality if q.key == key and q.task in ("", task)}
    return replace(objective, direction=directions.get(task, directions.get(""))) if directions else objective


def measured(
    record: RaceRecord,
    objective: TuneObjective,
    constraints: Iterable[Constraint],
    quality: Iterable[QualityDirection] = (),
    default: RaceRecord | None = None,
) -> RaceMeasures:
    """Returns the objective and the limits in a race that has results. `quality` has the directions of custom
    metrics that options give, and `default` is a race of the default with which a candidate is compared.
    """
    if record.verdict.state == "void":
        reasons = "; ".join(str(reason) for reason in record.verdict.reasons)
        return RaceMeasures(problem=f"race {record.race_id} is void: {reasons}")
    metrics = race_metrics(record, declared_metrics([record.task_meta], quality_directions(quality)))
    if unknown := unknown_directions(quality, metrics):
        return RaceMeasures(problem=f"--quality={unknown[0]}: the races have no metric '{unknown[0].key}'")
    data = []
    for name in (objective.metric, *(constraint.metric for constraint in constraints)):
        chosen = _chosen(name, metrics)
        if isinstance(chosen, str):
            return RaceMeasures(problem=chosen)
        metric, datum = chosen
        if name == objective.metric and _is_opposite(metric, objective):
            return RaceMeasures(
                problem=f"{name} cannot be an objective: {_DIRECTIONS[metric.higher_is_better]}, and "
                f"`tune` would search for {'higher' if objective.higher_is_better else 'lower'} ones"
            )
        if name == objective.metric and (problem := _other_work(metric, record, default)):
            return RaceMeasures(problem=problem)
        if doubt := _own_doubt(record, metric):
            return RaceMeasures(problem=f"{name} of race {record.race_id} is doubtful: {doubt}")
        if datum.has_backlog:
            missed = [task.task for task in missed_targets(record)]
            advice = MISSED_ADVICE if metric.task in missed else "lengthen the warm-up"
            reason = backlog_reason(metric.kind)
            return RaceMeasures(problem=f"{name} of race {record.race_id}: {reason}; {advice}")
        if datum.is_endless:
            return RaceMeasures(problem=f"{name} of race {record.race_id}: {ENDLESS_REASON}")
        if datum.samples_needed:
            return RaceMeasures(
                problem=f"{name} needs {datum.samples_needed:,} samples in each race, and race "
                f"{record.race_id} has fewer: lengthen the task, or choose a lower percentile"
            )
        data.append(datum)
    value, *limits = data
    if value.value <= 0:
        return RaceMeasures(problem=f"{objective.metric} of race {record.race_id} is 0")
    return RaceMeasures(
        value.value, tuple(limit.value for limit in limits), tuple(limit.operations for limit in limits)
    )


def unprovable_limit(measures: RaceMeasures, plan: TunePlan) -> str:
    """Returns which limit of an error rate the confirmation could not show to be kept even if no operation
    failed; empty if there is none.
    """
    for limit, operations in zip(plan.constraints, measures.operations, strict=True):
        if not limit.is_error_rate or limit.relation != "<" or not operations or limit.limit >= 100:
            continue
        _, bound = error_rate_bounds([OperationCount(0, operations)] * plan.confirm_blocks)
        if limit.is_broken_by(100 * bound):
            needed = math.log(1 - CONFIDENCE) / math.log1p(-limit.limit / 100) / plan.confirm_blocks
            return (
                f"{plan.confirm_blocks} races cannot show that {limit} is kept: each needs "
                f"{math.floor(needed) + 1:,} operations without a failure, and has {operations:,}; lengthen "
                "the task, or choose a higher limit"
            )
    return ""


def _own_doubt(record: RaceRecord, metric: MetricId) -> str:
    """Returns why a race makes a metric doubtful, unless the machine or the driver is to blame; empty if it
    does not. What disturbs a race from outside is repeated once, and counts then (`disturbance`).
    """
    if record.verdict.state != "suspect" or record.options.test_mode:
        return ""
    findings = (finding for finding in record.verdict.findings if finding.cause not in ("machine", "driver"))
    return next((str(finding) for finding in findings if voids(finding, metric)), "")


def _other_work(metric: MetricId, record: RaceRecord, default: RaceRecord | None) -> str:
    """Returns that a time is not compared with that of the default, as its operations do other work; empty if
    it is.
    """
    if default is None or not metric.q:
        return ""
    old, new = ([task for task in race.tasks if task.task == metric.task] for race in (default, record))
    other = other_operation_work(old, new)
    if other is None:
        return ""
    return (
        f"{metric.label} of race {record.race_id} cannot be compared with that of the default: "
        f"{other.text('the default', 'the race')}; choose throughput, or leave out the knob"
    )


def disturbance(record: RaceRecord, plan: TunePlan) -> str:
    """Returns what disturbed a race from outside, so that the objective or a limit does not count in it;
    empty if nothing did, or if all of them count.
    """
    reason = outside_disturbance(record)
    if not reason or record.verdict.state == "void":
        return reason
    metrics = race_metrics(record, declared_metrics([record.task_meta], quality_directions(plan.quality)))
    labels, _ = expanded_primary(
        [plan.objective.metric, *(limit.metric for limit in plan.constraints)], metrics
    )
    doubts = RaceDoubts(record)
    return reason if any(doubts.is_disturbed(metric) for metric in metrics if metric.label in labels) else ""


def _is_opposite(metric: MetricId, objective: TuneObjective) -> bool:
    """Returns whether a custom metric is not better in the direction in which an objective is."""
    return metric.kind == "custom" and metric.higher_is_better != objective.higher_is_better


def _chosen(name: str, metrics: dict[MetricId, Datum]) -> tuple[MetricId, Datum] | str:
    """Returns the metric with this name and its value, or what is wrong with the name."""
    labels, unknown = expanded_primary([name], metrics)
    known = [metric.label for metric in metrics if metric.task and metric.kind != "system"]
    if unknown:
        meant = did_you_mean(name, known)
        shown = ", ".join(
            metric.label
            for metric in metrics
            if metric.kind == "custom" or metric.label.startswith(("throughput:", "p99", "error-rate"))
        )
        return f"the races have no metric '{name}'{meant or f'; they have {shown}'}"
    if len(labels) > 1:
        return f"{name} is a metric of several tasks: choose one, such as {sorted(labels)[0]}"
    chosen = next(metric for metric in metrics if metric.label in labels)
    return chosen, metrics[chosen]
