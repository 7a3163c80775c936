"""`--fail-on` of `pacenote compare`: which verdicts on which metrics make the command fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacenote.cli import values
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison, MetricComparison, MetricWord

GATE_WORDS: Mapping[str, tuple[MetricWord, ...]] = {
    "worse": ("worse",),
    "probably-worse": ("worse", "probably worse"),
    "regression": ("worse", "probably worse"),
}
"""Words of `--fail-on`, also of `pacenote trend`, and the verdicts that they include."""

_WORDS_HINT = f"{', '.join(list(GATE_WORDS)[:-1])} or {list(GATE_WORDS)[-1]}, as worse:primary"

_PRIMARY = "primary"

_NAMED = 5
"""Number of metrics that fired and are named."""


@dataclass(frozen=True, slots=True)
class VerdictGate:
    """A verdict on metrics that makes the command fail."""

    word: str
    """One of `GATE_WORDS`."""

    metric: str = _PRIMARY
    """The metric, or `primary` for all that decide."""

    def __str__(self) -> str:
        return f"{self.word}:{self.metric}"

    def fired(self, comparison: Comparison, metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
        """Returns which of its metrics make the command fail."""
        return [each for each in metrics if each.word in GATE_WORDS[self.word] or comparison.is_void(each)]


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gates say of a comparison."""

    text: str
    """Why the command fails, in one line; empty if it does not."""

    warnings: tuple[str, ...]
    """Which gates cannot fail, and why."""


def parse_gates(text: str) -> list[VerdictGate]:
    """Returns gates that are separated by commas. Raises UsageError if one of them has another form."""
    gates = [_gate(part) for part in values.escaped_list(text)]
    if not gates:
        raise UsageError("--fail-on is empty", hint=_WORDS_HINT)
    return gates


def _gate(text: str) -> VerdictGate:
    word, colon, metric = text.partition(":")
    if word not in GATE_WORDS:
        raise UsageError(f"--fail-on cannot begin with '{word}'", hint=_WORDS_HINT)
    if colon and not metric.strip():
        raise UsageError(
            f"--fail-on={text} names no metric",
            hint=f"{word}:{_PRIMARY}, or {word}:METRIC as {word}:p99:term",
        )
    return VerdictGate(word, metric.strip() or _PRIMARY)


def failed_labels(comparison: Comparison, gates: Sequence[VerdictGate] | None) -> list[str]:
    """Returns the labels of the metrics for which a gate fires; without gates, `worse:primary` is one."""
    gated = _with_metrics(comparison, gates or (VerdictGate("worse"),))
    return [each.metric.label for each in _failed(comparison, gated)]


def gate_result(comparison: Comparison, gates: Sequence[VerdictGate]) -> GateResult:
    """Returns what the gates say. Raises UsageError if one of them names a metric that does not exist."""
    gated = _with_metrics(comparison, gates)
    if not gates or comparison.answer == "void":
        return GateResult(_void_text(comparison) if gates else "", ())
    warnings = (
        f"--fail-on={gate} cannot fail: {reason}"
        for gate, metrics in gated
        if not gate.fired(comparison, metrics) and (reason := _undecided(comparison, metrics, gate.word))
    )
    return GateResult(_fired_text(_failed(comparison, gated)), tuple(dict.fromkeys(warnings)))


_GateMetrics = list[tuple[VerdictGate, "Sequence[MetricComparison]"]]


def _with_metrics(comparison: Comparison, gates: Sequence[VerdictGate]) -> _GateMetrics:
    return [(gate, _metrics(comparison, gate)) for gate in gates]


def _failed(comparison: Comparison, gated: _GateMetrics) -> list[MetricComparison]:
    """Returns the metrics for which a gate fires, in the order of the comparison."""
    labels = {each.metric.label for gate, metrics in gated for each in gate.fired(comparison, metrics)}
    return [each for each in comparison.metrics if each.metric.label in labels]


def _void_text(comparison: Comparison) -> str:
    from pacenote.report.comparison_texts import answer_sentence

    return f"--fail-on: the comparison is {answer_sentence(comparison)}"


def _fired_text(failed: Sequence[MetricComparison]) -> str:
    from pacenote.model.messages import list_with_rest

    named = [f"{each.metric.label} is {each.word}" for each in failed]
    return f"--fail-on: {list_with_rest(named, _NAMED)}" if named else ""


def _metrics(comparison: Comparison, gate: VerdictGate) -> Sequence[MetricComparison]:
    """Returns the metrics of a gate. Raises UsageError if there are none of this name."""
    if gate.metric.lower() == _PRIMARY:
        return comparison.primary
    from pacenote.compare.metrics import expanded_primary, metric_hint

    metrics = [each.metric for each in comparison.metrics]
    labels, unknown = expanded_primary([gate.metric], metrics)
    if unknown and comparison.answer != "void":
        raise UsageError(
            f"--fail-on: the races have no common metric '{gate.metric}'",
            hint=metric_hint(gate.metric, metrics),
        )
    return [each for each in comparison.metrics if each.metric.label in labels]


def _undecided(comparison: Comparison, gated: Sequence[MetricComparison], word: str) -> str:
    """Returns why a gate could not have failed; empty if it could. That no operation failed is a result."""
    if not gated:
        return "the races have no primary metric"
    unequal = [each for each in gated if not each.is_zero]
    if unequal and all(each.change is None for each in unequal):
        return next((each.reason for each in unequal if each.reason), comparison.design)
    after = {
        "baseline first": "the contender ran after the baseline",
        "contender first": "the baseline ran last",
    }
    if word == "worse" and comparison.design == "unpaired" and comparison.run_order in after:
        return (
            f"{after[comparison.run_order]}, so that nothing is more than probably worse; use probably-worse"
        )
    return ""
