"""The result of a search: what was tried, who won, and what the confirmation says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from pacenote.compare.metrics import expanded_primary
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.options import arguments, joined
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.lab.tune.candidates import candidate_options, settings
from pacenote.lab.tune.confirm import WINNER_NAME, confirmation
from pacenote.lab.tune.progress import TuneProgress
from pacenote.lab.tune.steps import needed_seconds, one_sided_bounds
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
    found = _confirmation(state, races)
    comparison = _comparison(found)
    limits = _limits(plan.constraints, comparison)
    objective = compared_metric(comparison, plan.objective.metric) if comparison else None
    answer = _answer(state, found, comparison, limits)
    return TuneResult(
        tune_id=plan.tune_id,
        objective=plan.objective,
        constraints=plan.constraints,
        metric=objective.metric if objective else None,
        answer=answer,
        reason=reason or _reason(state, answer, found),
        winner=winner,
        settings=settings(plan.knobs, levels) if levels else {},
        options=_options(state, levels),
        limits=limits,
        confirmation=found,
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


def _reason(state: TuneProgress, answer: TuneAnswer, found: ExperimentResult | None) -> str:
    """Returns why there is no answer, or why the search ended: its end is no reason for what the confirmation
    lacks.
    """
    if state.stopped or state.chosen is None:
        return state.stopped
    if answer not in ("void", "none yet"):
        return state.chosen.text
    if found is None:
        return f"its confirmation {state.confirmation} was deleted" if state.confirmation else ""
    if answer == "none yet":
        return found.reason
    comparison = _comparison(found)
    causes = [str(one) for one in (comparison.findings if comparison else ()) if one.makes_doubtful]
    causes += [
        f"{one.metric.label} must not be compared: {one.reason}"
        for one in (comparison.primary if comparison else ())
        if one.word == "void" and one.reason
    ]
    failures = [f"{one.name} cannot be raced: {one.failure}" for one in found.variants if one.is_left_out]
    unsaid = "the races of the confirmation must not be compared"
    return next(filter(None, (*failures, found.reason, *causes)), unsaid)


def _options(state: TuneProgress, levels: Sequence[int]) -> tuple[str, ...]:
    """Returns the arguments that set what a candidate changes, with what else the same options set."""
    changed = candidate_options(state.plan.knobs, levels) if levels else {}
    whole = joined(state.plan.race, changed)
    return tuple(arguments({name: whole[name] for name in changed}))


def _confirmation(state: TuneProgress, races: RaceStore) -> ExperimentResult | None:
    if not state.confirmation or state.chosen is None:
        return None
    # The journal may name anything, also a path to another folder.
    known = ExperimentStore(races.home).list()
    folder = next((one for one in known if one.experiment_id == state.confirmation), None)
    if folder is None or not is_file(folder.plan_json):
        return None
    progress = ExperimentProgress.of(folder.plan(), folder.journal())
    experiment = confirmation(state.plan, state.candidates[state.chosen.candidate].levels)
    return Evaluation(experiment, races).result(progress, running=folder.is_running())


def _comparison(found: ExperimentResult | None) -> Comparison | None:
    variants = found.variants if found else ()
    return next((one.comparison for one in variants if one.name == WINNER_NAME), None)


def _answer(
    state: TuneProgress,
    found: ExperimentResult | None,
    comparison: Comparison | None,
    limits: Sequence[LimitResult],
) -> TuneAnswer:
    if state.stopped:
        return "void"
    if state.chosen is not None and state.chosen.candidate == DEFAULT:
        return "default"
    if found is None or found.state in ("unfinished", "running"):
        return "none yet"
    objective = compared_metric(comparison, state.plan.objective.metric) if comparison else None
    if comparison is None or comparison.answer == "void" or objective is None or objective.word == "void":
        return "void"
    if any(one.word == "broken" for one in limits):
        return "limit broken"
    is_kept = len(limits) == len(state.plan.constraints) and all(one.word == "kept" for one in limits)
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
    limited = {one.metric for one in plan.constraints}
    return tuple(
        each
        for each in comparison.primary
        if each.metric.key == "error-rate"
        and not each.is_zero
        and each.word in ("worse", "probably worse", "void")
        and limited.isdisjoint((each.metric.label, each.metric.key))
    )


def lower_quality(plan: TunePlan, comparison: Comparison) -> tuple[MetricComparison, ...]:
    """Returns the quality metrics that are worse with the winner, and that no limit allows to be."""
    limited = {one.metric for one in plan.constraints}
    return tuple(
        each for each in comparison.worse_quality if limited.isdisjoint((each.metric.label, each.metric.key))
    )


def _limits(constraints: Sequence[Constraint], comparison: Comparison | None) -> tuple[LimitResult, ...]:
    """Returns the limits in the winner's races of the confirmation."""
    found = []
    for limit in constraints if comparison is not None else ():
        assert comparison is not None
        metric = compared_metric(comparison, limit.metric)
        values = metric.contender if metric else ()
        if len(values) >= 2:
            result = limit_result(limit, values)
            # What is doubtful neither keeps a limit nor breaks it.
            is_void = metric is not None and metric.word == "void"
            found.append(replace(result, word="unclear") if is_void else result)
    return tuple(found)


def compared_metric(comparison: Comparison, name: str) -> MetricComparison | None:
    """Returns the primary metric with a name such as `p99:term`."""
    labels, _ = expanded_primary([name], [each.metric for each in comparison.primary])
    return next((each for each in comparison.primary if each.metric.label in labels), None)


def limit_result(limit: Constraint, values: Sequence[float]) -> LimitResult:
    """Returns whether races keep a limit, from at least two values."""
    low, high = one_sided_bounds(values)
    near, far = (low, high) if limit.relation == "<" else (high, low)
    word: LimitWord = "unclear"
    if not limit.is_broken_by(far):
        word = "kept"
    elif limit.is_broken_by(near):
        word = "broken"
    mean = math.exp(fmean(map(math.log, values))) if min(values) > 0 else fmean(values)
    return LimitResult(limit, mean, far, word)


def _tried(state: TuneProgress) -> tuple[TriedCandidate, ...]:
    found = state.means()
    sign = 1.0 if state.plan.objective.higher_is_better else -1.0
    tried = []
    for number, candidate in state.candidates.items():
        mean = found.means.get(number)
        values = [state.limit_values(number, at) for at in range(len(state.plan.constraints))]
        drop = state.dropped.get(number)
        tried.append(
            TriedCandidate(
                number,
                settings(state.plan.knobs, candidate.levels),
                candidate.origin,
                found.blocks.get(number, 0),
                None if mean is None else math.expm1(min(sign * mean, _MOST_LOG)),
                tuple(median(each) if each else None for each in values),
                drop.text if drop else "",
            )
        )
    order = {one: found.means.get(one, -math.inf) for one in state.candidates}
    return tuple(sorted(tried, key=lambda one: (bool(one.dropped), -order[one.number], one.number)))
