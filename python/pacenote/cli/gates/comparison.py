"""`--fail-on` of `pacenote compare`: which verdicts on which metrics make the command fail, and what it says
of gates that could not have seen anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.cli.gates.metrics import PRIMARY, gate_metrics, lacking_labels
from pacenote.cli.gates.requirements import NoWorse, unmet_metrics, unshown_labels
from pacenote.cli.options import values
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison, MetricComparison, MetricWord

GATE_WORDS: Mapping[str, tuple[MetricWord, ...]] = {
    "worse": ("worse",),
    "probably-worse": ("worse", "probably worse"),
    "regression": ("worse", "probably worse"),
}
"""Words of `--fail-on`, also of `pacenote trend`, and the verdicts that they include."""

_COMPARISON_WORDS: Mapping[str, tuple[MetricWord, ...]] = {
    **GATE_WORDS,
    "unclear": ("unclear", "no verdict"),
    "no-verdict": ("no verdict",),
    "void": ("void",),
    "same": ("same",),
}
"""All words of `--fail-on` of comparisons. A void metric makes each of them fail."""

_WORDS_HINT = f"{', '.join(list(_COMPARISON_WORDS)[:-1])} or {list(_COMPARISON_WORDS)[-1]}, as worse:primary"

_INSENSITIVE = 2.0
"""A gate is pointed out if the smallest change that would have been seen is more than so many times the
smallest one that matters.
"""

_NAMED = 5
"""Number of metrics that fired and are named."""


class VerdictGate(Struct, frozen=True):
    """A verdict on metrics that makes the command fail."""

    word: str
    """One of `_COMPARISON_WORDS`."""

    metric: str = PRIMARY
    """The metric, or `primary` for all that decide."""

    def __str__(self) -> str:
        return f"{self.word}:{self.metric}"

    def fired(self, comparison: Comparison, metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
        """Returns which of its metrics make the command fail."""
        words = _COMPARISON_WORDS[self.word]
        return [
            each
            for each in metrics
            # That no operation failed has no verdict, but is a result.
            if (each.word in words and not each.is_zero) or comparison.is_void(each)
        ]


class GateResult(Struct, frozen=True):
    """What the gates say of a comparison."""

    text: str
    """Why the command fails, in one line; empty if it does not."""

    warnings: tuple[str, ...]
    """Which gates cannot fail, and why, and which could only have seen a much larger change than matters."""

    failed: tuple[str, ...] = ()
    """The labels of the metrics for which a gate fires, or of which a requirement is not shown; also those of
    metrics that not all races have.
    """


def parse_gates(text: str) -> list[VerdictGate]:
    """Returns gates that are separated by commas. Raises UsageError if one of them has another form."""
    gates = [_gate(part) for part in values.escaped_list(text)]
    if not gates:
        raise UsageError("--fail-on is empty", hint=_WORDS_HINT)
    return gates


def _gate(text: str) -> VerdictGate:
    word, colon, metric = text.partition(":")
    if word not in _COMPARISON_WORDS:
        raise UsageError(f"--fail-on cannot begin with '{word}'", hint=_WORDS_HINT)
    if colon and not metric.strip():
        raise UsageError(
            f"--fail-on={text} names no metric",
            hint=f"{word}:{PRIMARY}, or {word}:METRIC as {word}:p99:term",
        )
    return VerdictGate(word, metric.strip() or PRIMARY)


def gate_result(
    comparison: Comparison,
    gates: Sequence[VerdictGate] | None,
    requirements: Sequence[NoWorse] | None = None,
) -> GateResult:
    """Returns what the gates and requirements say. Without any, the metrics that are worse have failed for
    formats that need to know, but the command has not.

    Raises UsageError if one of them names a metric that does not exist.
    """
    asked, required = gates or (), requirements or ()
    gated = _with_metrics(comparison, asked if asked or required else (VerdictGate("worse"),))
    failed = {
        each.metric.label for each in (*_failed(comparison, gated), *unmet_metrics(comparison, required))
    }
    lacking = _lacking(comparison, gated) if asked else ()
    labels = (
        *(each.metric.label for each in comparison.metrics if each.metric.label in failed),
        *dict.fromkeys((*lacking, *unshown_labels(comparison, required))),
    )
    problems = [problem for one in required if (problem := one.problem(comparison))]
    if comparison.answer == "void":
        return GateResult("; ".join([*([_void_text(comparison)] if asked else []), *problems]), (), labels)
    fired = _fired_text(_failed(comparison, gated), lacking) if asked else ""
    silent = [each for each in gated if asked and not _lacking(comparison, [each])]
    warnings = dict.fromkeys(text for each in silent for text in _warnings(comparison, *each))
    return GateResult("; ".join(filter(None, (fired, *problems))), tuple(warnings), labels)


def _warnings(
    comparison: Comparison, gate: VerdictGate, metrics: Sequence[MetricComparison]
) -> Iterator[str]:
    """Yields why a gate that does not fire could not have, or could hardly have."""
    if gate.fired(comparison, metrics):
        return
    if reason := _undecided(comparison, metrics, gate.word):
        yield f"--fail-on={gate} cannot fail: {reason}"
    elif gate.word in GATE_WORDS and (problem := _order_problem(metrics)):
        yield f"--fail-on={gate} may overlook a change: {problem}"
    elif gate.word in GATE_WORDS and (blind := [each for each in metrics if _is_insensitive(each)]):
        yield f"--fail-on={gate} can hardly fail: {_blind_text(blind)}"


def _is_insensitive(metric: MetricComparison) -> bool:
    """Returns whether only a much larger change than matters would have been seen, and none was."""
    if metric.change is None or metric.word not in ("unclear", "probably better", "probably worse"):
        return False
    seen = metric.change.detectable
    return seen is None or seen > _INSENSITIVE * metric.smallest_effect


def _blind_text(metrics: Sequence[MetricComparison]) -> str:
    from pacenote.report.comparison_rows import detectable_text
    from pacenote.units import with_unit

    def seen(metric: MetricComparison) -> float:
        own = metric.change.detectable if metric.change else None
        return math.inf if own is None else own / metric.smallest_effect

    worst = max(metrics, key=seen)
    smallest = worst.smallest_effect
    matters = f"{smallest * 100:g} %"
    if worst.is_absolute:
        matters = with_unit(f"{smallest:g}", worst.metric.difference_unit)
    text = detectable_text(worst.change) or "more than 1,000 %"
    others = f" ({len(metrics) - 1} more metrics are like it)" if len(metrics) > 1 else ""
    return f"of {worst.metric.label}, a change of {text} would have been seen, and {matters} matter{others}"


_GateMetrics = list[tuple[VerdictGate, "Sequence[MetricComparison]"]]


def _with_metrics(comparison: Comparison, gates: Sequence[VerdictGate]) -> _GateMetrics:
    return [(gate, gate_metrics(comparison, gate.metric, "--fail-on")) for gate in gates]


def _failed(comparison: Comparison, gated: _GateMetrics) -> list[MetricComparison]:
    """Returns the metrics for which a gate fires, in the order of the comparison."""
    labels = {each.metric.label for gate, metrics in gated for each in gate.fired(comparison, metrics)}
    return [each for each in comparison.metrics if each.metric.label in labels]


def _void_text(comparison: Comparison) -> str:
    from pacenote.report.comparison_texts import answer_sentence

    return f"--fail-on: the comparison is {answer_sentence(comparison)}"


def _lacking(comparison: Comparison, gated: _GateMetrics) -> Sequence[str]:
    """Returns the labels of the metrics that not all races have, if a gate is about them and about what is
    worse or, except for quality metrics, not decided: that they are not is not known.
    """
    lacking = dict[str, None]()
    for gate, _ in gated:
        labels = lacking_labels(comparison, gate.metric, "--fail-on")
        if gate.word in GATE_WORDS:
            lacking |= dict.fromkeys(labels)
        elif gate.word in ("unclear", "no-verdict"):
            lacking |= dict.fromkeys(label for label in labels if label not in comparison.lacking_quality)
    return tuple(lacking)


def _fired_text(failed: Sequence[MetricComparison], lacking: Sequence[str]) -> str:
    from pacenote.model.messages import list_with_rest

    named = [f"{each.metric.label} is {each.word}" for each in failed]
    named += [f"not all races have {label}, so that it may be worse" for label in lacking]
    return f"--fail-on: {list_with_rest(named, _NAMED)}" if named else ""


def _undecided(comparison: Comparison, gated: Sequence[MetricComparison], word: str) -> str:
    """Returns why a gate could not have failed; empty if it could. That no operation failed is a result."""
    if not gated:
        return "the races have no primary metric"
    if word in ("unclear", "no-verdict"):
        return ""
    unequal = [each for each in gated if not each.is_zero]
    if unequal and all(each.change is None for each in unequal):
        return next((each.reason for each in unequal if each.reason), comparison.design)
    if word == "worse" and (problem := _order_problem(unequal)):
        return f"{problem}, and nothing is more than probably worse; use probably-worse"
    return ""


def _order_problem(metrics: Sequence[MetricComparison]) -> str:
    """Returns why a drift of the machine may hide that a metric became worse; empty if it cannot."""
    return next((each.order_problem for each in metrics if each.order_problem), "")
