"""The result of a search as texts and tables: the answer, what it rests on, and what is next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from pacenote.model.comparison import Comparison, MetricComparison
from pacenote.model.printable import single_line
from pacenote.model.shell_command import shell_command, shell_words
from pacenote.model.tune import DEFAULT, Origin, TriedCandidate, TuneAnswer, TuneResult
from pacenote.report.comparison_rows import backlog_footnote, change_text, interval_text, marked_name
from pacenote.report.comparison_texts import change_of, metric_name, why_probable
from pacenote.report.experiment import ExperimentReport, TextTable
from pacenote.report.machine_changes import machine_change_texts
from pacenote.report.quality_texts import quality_text
from pacenote.units import format_count, format_number, format_seconds

_ANSWERS = {
    "better": "Better than the default, confirmed: {settings}.",
    "probably better": "Probably better than the default, but {reason}: {settings}.",
    "not shown": "No setting was shown to be better: keep the default. (The search preferred {settings}.)",
    "limit broken": "Keep the default: {settings} breaks a limit.",
    "default": "Keep the default: the search found nothing better.",
    "void": "No answer: {reason}.",
    "none yet": "No answer yet{reason}.",
}

ORIGINS: Mapping[Origin, str] = {"default": "the default", "drawn": "drawn", "suggested": "optimiser"}
"""Where candidates come from, in tables."""

CONFIRMED: frozenset[TuneAnswer] = frozenset({"better", "probably better"})
"""The answers whose settings may be used."""

_BARELY = 2.0
"""A change is barely shown if it is so many times as large as the nearest bound of its interval, or more."""

_SHOWN = 12

_SPARE = 1.2
"""How much more than the smallest budget is proposed: races do not all take the same time."""


def build_tune_report(result: TuneResult) -> ExperimentReport:
    """Returns the report of a search."""
    limits = "".join(f", {limit}" for limit in result.constraints)
    return ExperimentReport(
        title=single_line(f"{result.tune_id}: {result.objective.metric}{limits}"),
        answers=tuple(_answers(result)),
        tables=tuple(
            table for table in (_confirmation_table(result), _candidate_table(result)) if table.rows
        ),
        notes=tuple(map(single_line, _notes(result))),
        next=tuple(_next(result)),
    )


def _answers(result: TuneResult) -> Iterator[str]:
    settings = settings_text(result.settings)
    reason = result.reason
    if result.answer == "none yet":
        reason = f": {result.reason}" if result.reason else ""
    elif result.answer == "probably better":
        reason = why_probable(next(iter(_primary(result)), None))
    yield _ANSWERS[result.answer].format(settings=settings, reason=reason)
    if result.answer == "void" and result.options:
        options = " ".join(shell_words(result.options))
        yield f"  The search preferred {settings}, which is not confirmed: {options}"
    primary = _primary(result)
    if primary and result.confirmation is not None and result.answer not in ("void", "none yet"):
        blocks = format_count(len(primary[0].contender), "block")
        yield f"  {metric_name(primary[0])}: {change_of(primary[0])}, from {blocks} of fresh races"
    if (comparison := _comparison(result)) is not None and comparison.worse_quality:
        yield f"  {quality_text(comparison)}"
    words = {"kept": "kept", "broken": "broken", "unclear": "not shown to be kept"}
    for limit in result.limits:
        side = "at most" if limit.constraint.relation == "<" else "at least"
        yield (
            f"  limit {limit.constraint}: {words[limit.word]}; {format_number(limit.value)}, {side} "
            f"{format_number(limit.bound)}{limit.constraint.unit}"
        )


def _is_barely_shown(metric: MetricComparison) -> bool:
    if metric.change is None or metric.change.is_absolute:
        return False
    value, low = metric.change.value, metric.change.low
    high = math.inf if metric.change.high is None else metric.change.high
    # The bound that is nearer to no change.
    bound = low if value > 0 else high
    return _BARELY * abs(bound) <= abs(value)


def settings_text(settings: Mapping[str, object]) -> str:
    """Returns settings in one line."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "the default"


def _comparison(result: TuneResult) -> Comparison | None:
    """Returns the comparison of the winner with the default."""
    variants = result.confirmation.variants if result.confirmation else ()
    return next((one.comparison for one in variants if one.comparison is not None), None)


def _primary(result: TuneResult) -> tuple[MetricComparison, ...]:
    """Returns the primary metrics of the confirmation, that of the objective first."""
    comparison = _comparison(result)
    return (
        tuple(sorted(comparison.primary, key=lambda each: each.metric != result.metric)) if comparison else ()
    )


def _confirmation_table(result: TuneResult) -> TextTable:
    rows = tuple(
        (
            marked_name(each),
            single_line(each.metric.task),
            format_number(each.baseline_value),
            format_number(each.contender_value),
            single_line(each.metric.unit),
            change_text(each.change),
            interval_text(each.change),
            each.word,
        )
        for each in _primary(result)
    )
    headers = ("Metric", "Task", "Default", "Winner", "Unit", "Change", "Interval", "Verdict")
    return TextTable("Confirmation: the winner against the default, in fresh races", headers, rows)


def _candidate_table(result: TuneResult) -> TextTable:
    rows = tuple(_candidate_row(one, result) for one in result.candidates[:_SHOWN])
    limits = tuple(limit.metric for limit in result.constraints)
    headers = ("Candidate", "From", "Settings", "Blocks", "Change", *limits, "State")
    return TextTable(
        "Search: what was tried. Changes of the best are too good: see the confirmation", headers, rows
    )


def _candidate_row(candidate: TriedCandidate, result: TuneResult) -> tuple[str, ...]:
    change = "" if candidate.change is None else f"{candidate.change * 100:+.1f} %"
    state = candidate.dropped or ("winner" if candidate.number == result.winner else "")
    return (
        str(candidate.number),
        ORIGINS[candidate.origin],
        single_line(settings_text(candidate.settings)),
        str(candidate.blocks),
        change,
        *("" if value is None else format_number(value) for value in candidate.limits),
        single_line(state),
    )


def _notes(result: TuneResult) -> Iterator[str]:
    default = next((one for one in result.candidates if one.number == DEFAULT), None)
    for limit, value in zip(result.constraints, default.limits if default else (), strict=False):
        if value is not None and limit.is_broken_by(value):
            yield f"the default itself breaks the limit {limit}: {format_number(value)}{limit.unit}"
    for metric in _primary(result):
        if metric.metric.kind == "error rate" and metric.word in ("worse", "probably worse"):
            yield single_line(f"the error rate of {metric.metric.task} is {metric.word} with the winner")
    if result.answer in CONFIRMED and len(result.settings) > 1:
        yield "the settings were confirmed together: which of them matter is not known"
    if result.answer in CONFIRMED and any(map(_is_barely_shown, _primary(result)[:1])):
        yield (
            "the change is barely shown: on average, such estimates are too large, because those that are "
            "too small by chance are not shown at all"
        )
    changes = (*result.machine_changes, *(result.confirmation.machine_changes if result.confirmation else ()))
    yield from (f"the machine changed meanwhile: {text}" for text in machine_change_texts(changes))
    if result.confirmation is not None:
        comparison = _comparison(result)
        yield from dict.fromkeys(str(one) for one in (comparison.findings if comparison else ()))
        if comparison is not None and (text := backlog_footnote(comparison, comparison.primary)):
            yield text
    yield from (f"confirmed again, after {text}" for text in result.earlier_confirmations)
    more = len(result.candidates) - _SHOWN
    if more > 0:
        yield f"{format_count(more, 'more candidate')}: --report-format=json has them"
    if result.reason and result.answer not in ("void", "none yet"):
        yield f"the search ended: {result.reason}"
    total = result.seconds + (result.confirmation.seconds if result.confirmation else 0.0)
    races = result.races + (result.confirmation.races_done if result.confirmation else 0)
    yield (
        f"{format_count(races, 'race')} in {format_seconds(round(total))}, of a budget of "
        f"{format_seconds(round(result.budget_s))}"
        + (f": {format_seconds(round(total - result.budget_s))} too much" if total > result.budget_s else "")
    )


def _next(result: TuneResult) -> Iterator[str]:
    resume = shell_command("pacenote", "tune", "resume", result.tune_id)
    if result.is_running:
        yield "not final, because it is running: this is its state so far"
    elif result.answer == "none yet":
        yield f"races are left: {resume}"
    elif result.answer == "void":
        if result.needed_s:
            minutes = math.ceil(result.needed_s * _SPARE / 60)
            yield f"give it more time from now on: {resume} --budget={minutes}m"
        elif result.winner is None:
            yield f"correct that, and go on: {resume}"
        else:
            yield f"remove the cause, and confirm the winner again, in fresh races: {resume}"
    if result.answer in CONFIRMED:
        yield f"use it: pacenote race {' '.join(shell_words(result.options))} …"
    if result.confirmation is not None:
        confirmation = shell_command("pacenote", "experiment", "report", result.confirmation.experiment_id)
        yield f"all about the confirmation: {confirmation}"
