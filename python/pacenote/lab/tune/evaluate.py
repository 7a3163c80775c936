"""The result of a search: what was tried, who won, and what the confirmation says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from msgspec.structs import replace

from pacenote.compare.metrics import expanded_primary
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.options import joined
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.lab.experiment.public_options import public_arguments
from pacenote.lab.tune.candidates import candidate_options, settings
from pacenote.lab.tune.confirm import WINNER_NAME, confirmation
from pacenote.lab.tune.progress import TuneProgress
from pacenote.lab.tune.steps import limit_bounds, needed_seconds
from pacenote.model.comparison import Comparison, MetricComparison
from pacenote.model.experiment_result import ExperimentResult
from pacenote.model.tune import (
    DEFAULT,
    Constraint,
    LimitResult,
    LimitWord,
    TriedCandidate,
    TuneAnswer,
    TunePlan,
    TuneResult,
)
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.race_store import RaceStore
from pacenote.system.paths import is_file

_MOST_LOG = 200.0
"""Logarithm of the largest ratio that is shown."""


def tune_result(
    state: TuneProgress, races: RaceStore, reason: str = "", *, running: bool = False
) -> TuneResult:
    """Returns what a search has found so far; `reason` is why it does not go on now. Raises StoreError."""
    plan = state.plan
    winner = None if state.chosen is None else state.chosen.candidate
    levels = state.candidates[winner].levels if winner is not None else ()
    result = _confirmation(state, races)
    comparison = _comparison(result)
    limits = _limits(plan.constraints, comparison)
    objective = compared_metric(comparison, plan.objective.metric) if comparison else None
    answer = _answer(state, result, comparison, limits)
    return TuneResult(
        tune_id=plan.tune_id,
        objective=plan.objective,
        constraints=plan.constraints,
        metric=objective.metric if objective else None,
        answer=answer,
        reason=reason or _reason(state, answer, result),
        winner=winner,
        settings=settings(plan.knobs, levels) if levels else {},
        options=candidate_arguments(state, levels),
        limits=limits,
        confirmation=result,
        candidates=_tried(state),
        races=len(state.ends),
        seconds=round(state.seconds, 3),
        budget_s=state.budget_s,
        machine_changes=tuple(state.machine_changes),
        needed_s=round(needed_seconds(state), 3),
        earlier_confirmations=tuple(
            f"{event.experiment_id}: {event.text}" for event in state.earlier_confirmations
        ),
        is_running=running,
    )


def _reason(state: TuneProgress, answer: TuneAnswer, result: ExperimentResult | None) -> str:
    """Returns why there is no answer, or why the search ended: its end is no reason for what the confirmation
    lacks.
    """
    if state.stopped or state.chosen is None:
        return state.stopped
    if answer not in ("void", "none yet"):
        return state.chosen.text
    if result is None:
        return f"its confirmation {state.confirmation} was deleted" if state.confirmation else ""
    if answer == "none yet":
        return result.reason
    comparison = _comparison(result)
    causes = [
        str(finding) for finding in (comparison.findings if comparison else ()) if finding.makes_doubtful
    ]
    causes += [
        f"{metric.metric.label} must not be compared: {metric.reason}"
        for metric in (comparison.primary if comparison else ())
        if metric.word == "void" and metric.reason
    ]
    failures = [
        f"{variant.name} cannot be raced: {variant.failure}"
        for variant in result.variants
        if variant.is_left_out
    ]
    unsaid = "the races of the confirmation must not be compared"
    return next(filter(None, (*failures, result.reason, *causes)), unsaid)


def candidate_arguments(state: TuneProgress, levels: Sequence[int]) -> tuple[str, ...]:
    """Returns the arguments that set what a candidate changes, with what else the same options set, without
    secrets.
    """
    changed = candidate_options(state.plan.knobs, levels) if levels else {}
    whole = joined(state.plan.race, changed)
    return tuple(public_arguments({name: whole[name] for name in changed}))


def _confirmation(state: TuneProgress, races: RaceStore) -> ExperimentResult | None:
    if not state.confirmation or state.chosen is None:
        return None
    # The journal may name anything, also a path to another folder.
    known = ExperimentStore(races.home).list()
    folder = next((folder for folder in known if folder.experiment_id == state.confirmation), None)
    if folder is None or not is_file(folder.plan_json):
        return None
    progress = ExperimentProgress.of(folder.plan(), folder.journal())
    experiment = confirmation(state.plan, state.candidates[state.chosen.candidate].levels)
    return Evaluation(experiment, races).result(progress, running=folder.is_running())


def _comparison(result: ExperimentResult | None) -> Comparison | None:
    variants = result.variants if result else ()
    return next((variant.comparison for variant in variants if variant.name == WINNER_NAME), None)


def _answer(
    state: TuneProgress,
    result: ExperimentResult | None,
    comparison: Comparison | None,
    limits: Sequence[LimitResult],
) -> TuneAnswer:
    if state.stopped:
        return "void"
    if state.chosen is not None and state.chosen.candidate == DEFAULT:
        return "default"
    if result is None or result.state in ("unfinished", "running"):
        return "none yet"
    objective = compared_metric(comparison, state.plan.objective.metric) if comparison else None
    if comparison is None or comparison.answer == "void" or objective is None or objective.word == "void":
        return "void"
    if any(limit.word == "broken" for limit in limits):
        return "limit broken"
    is_kept = len(limits) == len(state.plan.constraints) and all(limit.word == "kept" for limit in limits)
    if not is_kept or more_errors(state.plan, comparison) or lower_quality(state.plan, comparison):
        return "not shown"
    # What not all races return may have become worse.
    if comparison.lacking:
        return "not shown"
    match objective.word:
        case "better" | "probably better":
            return objective.word
        case _:
            return "not shown"


def more_errors(plan: TunePlan, comparison: Comparison) -> tuple[MetricComparison, ...]:
    """Returns the error rates that are worse with the winner, or void, and that no limit allows to be."""
    limited = {constraint.metric for constraint in plan.constraints}
    return tuple(
        error_rate
        for error_rate in comparison.primary
        if error_rate.metric.key == "error-rate"
        and not error_rate.is_zero
        and error_rate.word in ("worse", "probably worse", "void")
        and limited.isdisjoint((error_rate.metric.label, error_rate.metric.key))
    )


def lower_quality(plan: TunePlan, comparison: Comparison) -> tuple[MetricComparison, ...]:
    """Returns the quality metrics that are worse with the winner, and that no limit allows to be."""
    limited = {constraint.metric for constraint in plan.constraints}
    return tuple(
        metric
        for metric in comparison.worse_quality
        if limited.isdisjoint((metric.metric.label, metric.metric.key))
    )


def _limits(constraints: Sequence[Constraint], comparison: Comparison | None) -> tuple[LimitResult, ...]:
    """Returns the limits in the winner's races of the confirmation."""
    results = []
    for limit in constraints if comparison is not None else ():
        assert comparison is not None
        metric = compared_metric(comparison, limit.metric)
        values = metric.contender if metric else ()
        if metric is not None and len(values) >= 2:
            result = limit_result(limit, values, metric.contender_operations)
            # What is doubtful neither keeps a limit nor breaks it. Operations that differ from those of the
            # default are not: a limit is for them as they are.
            is_void = metric.word == "void" and not metric.is_of_other_work
            results.append(replace(result, word="unclear") if is_void else result)
    return tuple(results)


def compared_metric(comparison: Comparison, name: str) -> MetricComparison | None:
    """Returns the primary metric with a name such as `p99:term`."""
    labels, _ = expanded_primary([name], [metric.metric for metric in comparison.primary])
    return next((metric for metric in comparison.primary if metric.metric.label in labels), None)


def limit_result(limit: Constraint, values: Sequence[float], operations: Sequence[int] = ()) -> LimitResult:
    """Returns whether races keep a limit, from at least two values; for an error rate, `operations` has the
    number of measured operations of each race.
    """
    low, high = limit_bounds(limit, values, operations)
    near, far = (low, high) if limit.relation == "<" else (high, low)
    word: LimitWord = "unclear"
    if not limit.is_broken_by(far):
        word = "kept"
    elif limit.is_broken_by(near):
        word = "broken"
    is_geometric = min(values) > 0 and not limit.is_error_rate
    mean = math.exp(fmean(map(math.log, values))) if is_geometric else fmean(values)
    return LimitResult(limit, mean, far, word)


def _tried(state: TuneProgress) -> tuple[TriedCandidate, ...]:
    reached = state.means()
    sign = 1.0 if state.plan.objective.higher_is_better else -1.0
    tried = []
    for number, candidate in state.candidates.items():
        mean = reached.means.get(number)
        values = [state.limit_values(number, at) for at in range(len(state.plan.constraints))]
        drop = state.dropped.get(number)
        tried.append(
            TriedCandidate(
                number,
                settings(state.plan.knobs, candidate.levels),
                candidate.origin,
                reached.blocks.get(number, 0),
                None if mean is None else math.expm1(min(sign * mean, _MOST_LOG)),
                tuple(median(limit_values) if limit_values else None for limit_values in values),
                drop.text if drop else "",
            )
        )
    order = {number: reached.means.get(number, -math.inf) for number in state.candidates}
    return tuple(
        sorted(
            tried, key=lambda candidate: (bool(candidate.dropped), -order[candidate.number], candidate.number)
        )
    )
