"""`--require` of `pacenote compare`: what must be shown of metrics, so that the command does not fail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.cli.gates.metrics import PRIMARY, gate_metrics, lacking_labels
from pacenote.cli.options import values
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison, MetricComparison

_NO_WORSE = re.compile(r"no-worse:(?P<percent>[0-9.]+)\s*%(:(?P<metric>.+))?")

_FORM = "no-worse:5%, or no-worse:5%:METRIC as no-worse:5%:p99:term"

_NAMED = 3
"""Number of metrics that are named."""


class NoWorse(Struct, frozen=True):
    """The requirement that metrics are shown to have become worse by less than a limit: a test of
    non-inferiority. Without an interval, nothing is shown.
    """

    limit: float
    """The limit as a fraction: 0.05 is 5 %. Throughput may fall to 1 / 1.05 of the baseline."""

    metric: str = PRIMARY
    """The metric, or `primary` for all that decide."""

    def __str__(self) -> str:
        of = "" if self.metric == PRIMARY else f":{self.metric}"
        return f"no-worse:{self.limit * 100:g}%{of}"

    def unmet(self, comparison: Comparison) -> list[MetricComparison]:
        """Returns the metrics of which it is not shown. Raises UsageError if no metric has this name."""
        metrics = gate_metrics(comparison, self.metric, "--require")
        return [each for each in metrics if comparison.is_void(each) or not self._is_shown(each)]

    def problem(self, comparison: Comparison) -> str:
        """Returns of which metrics it is not shown, in one line; empty if it is shown of all.

        Raises UsageError if no metric has this name.
        """
        from pacenote.report.comparison_texts import answer_sentence

        if comparison.answer == "void":
            return f"--require={self}: the comparison is {answer_sentence(comparison)}"
        if not gate_metrics(comparison, self.metric, "--require") and not comparison.lacking:
            return f"--require={self}: the races have no such metric"
        from pacenote.model.messages import list_with_rest

        texts = [f"{each.metric.label} ({unmet_text(each)})" for each in self.unmet(comparison)]
        texts += [f"{label} (not all races have it)" for label in unshown_labels(comparison, [self])]
        return f"--require={self} is not shown of {list_with_rest(texts, _NAMED)}" if texts else ""

    def _is_shown(self, metric: MetricComparison) -> bool:
        if metric.possible_rise is not None:
            return metric.possible_rise < metric.smallest_effect
        alone = metric.change.alone if metric.change else None
        if metric.change is None or alone is None:
            return False
        if metric.change.is_absolute:
            # A limit in percent says nothing about a difference in points.
            falls = alone.low > -metric.smallest_effect
            rises = alone.high is not None and alone.high < metric.smallest_effect
            return {True: falls, False: rises, None: falls and rises}[metric.metric.higher_is_better]
        falls = (1 + alone.low) * (1 + self.limit) > 1
        rises = alone.high is not None and alone.high < self.limit
        return {True: falls, False: rises, None: falls and rises}[metric.metric.higher_is_better]


def unmet_text(unmet: MetricComparison) -> str:
    """Returns what is known of a metric that is not shown to be no worse."""
    from pacenote.report.comparison_rows import alone_text

    if unmet.possible_rise is not None:
        return (
            f"0 in all races, but so few operations do not exclude a rise by {unmet.possible_rise:.2g} points"
        )
    if unmet.change is None or unmet.change.alone is None:
        reason = unmet.order_problem or unmet.reason
        return f"{unmet.word}: {reason}" if reason else unmet.word
    return f"{unmet.change.alone.confidence * 100:.3g} % interval {alone_text(unmet.change)}"


def parse_requirements(text: str) -> list[NoWorse]:
    """Returns requirements that are separated by commas. Raises UsageError if one has another form."""
    requirements = [_requirement(part.strip()) for part in values.escaped_list(text)]
    if not requirements:
        raise UsageError("--require is empty", hint=_FORM)
    return requirements


def _requirement(text: str) -> NoWorse:
    match = _NO_WORSE.fullmatch(text)
    if match is None:
        raise UsageError(f"--require cannot be '{text}'", hint=_FORM)
    percent = values.above_zero(match["percent"])
    return NoWorse(percent / 100, (match["metric"] or PRIMARY).strip() or PRIMARY)


def unshown_labels(comparison: Comparison, requirements: Sequence[NoWorse]) -> Sequence[str]:
    """Returns the labels of the metrics that not all races have, and requirements are about. Raises
    UsageError if no metric has one of their names.
    """
    labels = (label for one in requirements for label in lacking_labels(comparison, one.metric, "--require"))
    return tuple(dict.fromkeys(labels))


def unmet_metrics(comparison: Comparison, requirements: Sequence[NoWorse]) -> list[MetricComparison]:
    """Returns the metrics of which a requirement is not shown, in the order of the comparison."""
    labels = {each.metric.label for one in requirements for each in one.unmet(comparison)}
    return [each for each in comparison.metrics if each.metric.label in labels]
