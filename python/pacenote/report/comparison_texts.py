"""The answers of a comparison in words: is it better, by how much, how sure, can it be trusted, what next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pacenote.model.comparison import (
    CLAIM,
    FIRST_LOOK,
    Comparison,
    ComparisonAnswer,
    MetricComparison,
    MetricId,
    MetricWord,
    RaceGroup,
)
from pacenote.model.printable import whole_line
from pacenote.model.race_ids import short_id
from pacenote.report.comparison_rows import backlog_mark, change_text, detectable_text, interval_text
from pacenote.units import (
    format_change,
    format_count,
    format_difference,
    format_number,
    format_share,
    with_unit,
)

_MAX_ADVISED_RACES = 100
"""More races than this are not advised: the effect is too small to be seen in practice."""

_SHOWN_ORDER = 40
"""Maximum number of races whose order is shown."""

_ANSWERS = {
    "better": "yes: {contender} is better than {baseline}",
    "probably better": "probably: {contender} is better than {baseline}, but {reason}",
    "same": "no: {contender} and {baseline} do not differ by what matters",
    "unclear": "unclear: the races do not decide between {contender} and {baseline}",
    "probably worse": "probably not: {contender} is worse than {baseline}, but {reason}",
    "worse": "no: {contender} is worse than {baseline}",
    "mixed": "mixed: {contender} is better than {baseline} in one respect and worse in another",
    "changed": "it depends: {contender} differs from {baseline}, and neither is known to be better",
    "probably changed": "it depends: {contender} probably differs from {baseline}, but {reason}",
    "void": "no answer: the races of {contender} and {baseline} must not be compared",
    "partly void": "no answer as a whole: some metrics of {contender} and {baseline} must not be compared",
    "no verdict": "no verdict on {contender} against {baseline}",
}


def named_answer(comparison: Comparison, contender: str, baseline: str) -> str:
    """Returns the answer of a comparison of sides with these names."""
    reason = why_probable(main_metric(comparison))
    answer = _ANSWERS[comparison.answer].format(contender=contender, baseline=baseline, reason=reason)
    if part := part_text(comparison):
        return f"{part.strip()}: {answer.partition(': ')[2]}"
    return answer


def why_probable(main: MetricComparison | None) -> str:
    """Returns why a metric is only probably better or worse: if its interval is at or beyond what matters,
    something else than the interval is the reason.
    """
    change = main.change if main else None
    if main is None or change is None:
        return "perhaps by less than what matters"
    high = math.inf if change.high is None else change.high
    smallest = main.smallest_effect
    falls = -smallest if change.is_absolute else 1 / (1 + smallest) - 1
    if change.low < smallest and high > falls:
        return "perhaps by less than what matters"
    if main.order_problem:
        return main.order_problem.rpartition("so that ")[2]
    return "its task was in a steady state on one side only"


_UNDECIDED: frozenset[ComparisonAnswer] = frozenset({"no verdict", "void"})


def answer_text(comparison: Comparison) -> str:
    """Returns whether the contender is better, and in how many primary metrics."""
    if comparison.answer == "void":
        return "no answer: the races must not be compared"
    if comparison.answer == "no verdict":
        if comparison.design == "one race each":
            return "one race each: no verdict"
        reasons = Counter(each.reason for each in comparison.primary if each.reason)
        return f"no verdict: {reasons.most_common(1)[0][0]}" if reasons else "no verdict: no primary metric"
    # That all races have an error rate of 0 is shown, but answers nothing.
    counts = Counter(each.word for each in comparison.primary if not each.is_zero)
    listed = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    worse = Counter(each.word for each in comparison.worse_quality)
    quality = "; ".join(f"quality: {count} {word}" for word, count in worse.items())
    answer = named_answer(comparison, "the contender", "the baseline")
    counted = listed if len(comparison.primary) > 1 or quality else ""
    shown = "; ".join(filter(None, (counted, quality)))
    return f"{answer} ({shown})" if shown else answer


def part_text(comparison: Comparison) -> str:
    """Returns in how many of the primary metrics the answer was found, if others are not decided; otherwise
    empty text. That something is worse needs no other metric.
    """
    judged = [each.word for each in comparison.primary if not each.is_zero]
    is_decided = not comparison.lacking_primary and {"unclear", "no verdict"}.isdisjoint(judged)
    if comparison.answer not in _NOT_WORSE or is_decided:
        return ""
    every = len(judged) + len(comparison.lacking_primary)
    return f" in {sum(word == comparison.answer for word in judged)} of {format_count(every, 'metric')}"


_NOT_WORSE: tuple[MetricWord, ...] = ("better", "probably better", "same")
"""The answers which say that nothing is worse."""

_ORDER: tuple[MetricWord, ...] = (
    *("better", "probably better", "worse", "probably worse", "changed", "probably changed"),
    *("unclear", "same", "void", "no verdict"),
)
"""The order in which words are counted."""


def answer_sentence(comparison: Comparison) -> str:
    """Returns the answer with the metric that says most, in one line."""
    main = main_metric(comparison)
    if comparison.answer == "void":
        voiding = [whole_line(each.text) for each in comparison.findings if each.makes_doubtful]
        return f"void: {voiding[0]}" if voiding else "void: nothing can be compared"
    if main is None:
        return f"{comparison.answer}: {answer_text(comparison).partition(': ')[2]}"
    part = part_text(comparison)
    # A quality that became worse is said before a speed that became better.
    worse = [each for each in comparison.worse_quality if each is not main]
    named = [*worse[:1], main]
    changes = "; ".join(f"{metric_name(each)} {change_of(each)}" for each in named)
    return f"{comparison.answer}{part}: {changes}"


def main_metric(comparison: Comparison) -> MetricComparison | None:
    """Returns the primary metric that says most: of those with the word of the answer, the one whose change
    is the largest compared with what matters; if all are the same, the one of which a change that matters is
    excluded most narrowly; if it is unclear, the one that is nearest to being decided, by its p-value; the
    first one if nothing can be decided; None if there is no metric. If only quality metrics are worse, it is
    one of them.
    """
    primary = [
        each
        for each in comparison.primary
        if (each.word != "void" or comparison.answer == "void") and not each.has_backlog
    ]
    words = {"mixed": ("better", "worse", "probably better", "probably worse")}.get(
        comparison.answer, (comparison.answer,)
    )
    # The change of an error rate is absolute, and there is no relative one from 0.
    known = [each for each in primary if each.change is not None or each.relative_change is not None]
    chosen = [each for each in known if each.word in words] or [
        *(each for each in comparison.worse_quality if each.word == comparison.answer),
    ]
    chosen = chosen or known
    if comparison.answer == "unclear":
        return min(chosen, key=_p, default=None)
    if comparison.answer in _UNDECIDED:
        return next(iter(chosen), None)
    return max(chosen, key=_reach if comparison.answer == "same" else _size, default=None)


def _p(metric: MetricComparison) -> float:
    return 1.0 if metric.change is None or metric.change.p is None else metric.change.p


def _reach(metric: MetricComparison) -> float:
    """Returns how far the interval of a change reaches, compared with the smallest change that matters."""
    change = metric.change
    if change is None or change.high is None:
        return 0.0
    if change.is_absolute:
        return max(-change.low, change.high) / metric.smallest_effect
    return max(-math.log1p(change.low), math.log1p(change.high)) / math.log1p(metric.smallest_effect)


def _size(metric: MetricComparison) -> float:
    """Returns the size of a change compared with the smallest one that matters."""
    change = metric.relative_change
    if change is None or change <= -1 or metric.is_absolute:
        return 0.0
    return abs(math.log1p(change)) / metric.smallest_effect


def metric_name(metric: MetricComparison) -> str:
    """Returns a short name of a metric with its task: `p99 service time of term`."""
    return full_metric_name(metric.metric)


def short_name(metric: MetricComparison) -> str:
    """Returns a short name of a metric: `throughput`, `p99 service time`."""
    return short_metric_name(metric.metric)


def full_metric_name(metric: MetricId) -> str:
    """Returns a short name of a metric with its task: `p99 service time of term`."""
    name = short_metric_name(metric)
    return f"{name} of {whole_line(metric.task)}" if metric.task else name


def short_metric_name(metric: MetricId) -> str:
    """Returns a short name of a metric without its task: `throughput`, `p99 service time`."""
    if metric.kind == "percentile":
        return f"p{metric.q:g} {metric.name.partition('percentile ')[2]}"
    if metric.kind == "throughput":
        return "throughput" if metric.key == "throughput" else metric.name.lower()
    return metric.name


def change_of(metric: MetricComparison) -> str:
    """Returns the change of a metric: the estimate with its interval or, without one, that of the medians."""
    if metric.change is not None:
        confidence = f"{math.floor(metric.change.confidence * 1000) / 10:g} %"
        return f"{change_text(metric.change)} ({confidence} interval {interval_text(metric.change)})"
    return shown_change(metric)


def amount_text(comparison: Comparison) -> str:
    """Returns by how much the contender differs in the metric that says most; empty if nothing does, or if
    the races must not be compared.
    """
    main = main_metric(comparison)
    if main is None or comparison.answer == "void":
        return ""
    old, new = format_number(main.baseline_value), format_number(main.contender_value)
    if comparison.design == "paired" and main.change is not None:
        # The change within blocks is not that of the medians, and can even have the other sign.
        values = f"within blocks; medians: {old} and {new} {main.metric.unit}"
    else:
        values = f"{old} → {new} {main.metric.unit}"
    return f"{metric_name(main)}: {shown_change(main)} ({whole_line(values)})"


def shown_change(metric: MetricComparison) -> str:
    """Returns the change of a metric without its interval: as estimated, or else that of the medians."""
    if metric.change is not None:
        return change_text(metric.change)
    if metric.is_absolute:
        difference = metric.contender_value - metric.baseline_value
        return format_difference(difference, metric.metric.difference_unit)
    change = "from 0" if metric.relative_change is None else format_change(metric.relative_change)
    return f"{change} {backlog_mark(metric)}".rstrip()


def certainty_text(comparison: Comparison) -> str:
    """Returns the interval of the main metric, the number of races, and what they would have seen; empty if
    the races must not be compared.
    """
    if comparison.answer == "void":
        return ""
    main = main_metric(comparison)
    races = races_text(comparison, main)
    if main is None or main.change is None:
        usual = _usual_text(main)
        return f"no interval from {races}" + (f"; {usual}" if usual else "")
    confidence = f"{math.floor(main.change.confidence * 1000) / 10:g} %"
    interval = f"{confidence} interval {interval_text(main.change)} from {races}"
    if comparison.answer == "same":
        return f"{interval}, which excludes a change by {_excluded_text(comparison, main)}"
    seen = detectable_text(main.change)
    return f"{interval}; an effect of {seen} would have been seen" if seen else interval


def _excluded_text(comparison: Comparison, least: MetricComparison) -> str:
    """Returns which change is excluded in the metric of which it is so most narrowly, and in the others."""
    size = format_share(least.smallest_effect)
    if least.is_absolute:
        size = with_unit(f"{least.smallest_effect:g}", least.metric.difference_unit)
    others = sum(each.word == "same" for each in comparison.primary) - 1
    if not others:
        return size
    others_text = "the other metric" if others == 1 else f"each of the other {others} metrics"
    return f"{size}; {others_text} is farther from one that matters"


def races_text(comparison: Comparison, metric: MetricComparison | None) -> str:
    """Returns how many blocks or races the figures of a metric are from."""
    old, new = len(comparison.baseline.races), len(comparison.contender.races)
    if comparison.design == "paired":
        return format_count(old - (len(metric.lost_blocks) if metric else 0), "block")
    return f"{old} + {format_count(new, 'race')}"


def _usual_text(metric: MetricComparison | None) -> str:
    """Returns how much two races of one configuration differ, or empty text if that was not measured."""
    if metric is None or metric.usual_change is None:
        return ""
    return f"two races of the same configuration differ by up to {format_share(metric.usual_change)} here"


def _trust_in_one_race_each(metric: MetricComparison | None) -> str:
    if metric is None or metric.usual_change is None or metric.relative_change is None:
        return "no: races of the same configuration differ, too, and their spread is unknown"
    if metric.relative_change > -1 and abs(math.log1p(metric.relative_change)) <= math.log1p(
        metric.usual_change
    ):
        return "no: two races of the same configuration differ as much"
    return "not without more races: the change is larger than the noise of races, but drift is not excluded"


_NOTHING_LIMITS = "yes: nothing was found that limits it"


def trust_text(comparison: Comparison, others: int = 0) -> str:
    """Returns whether the answer can be trusted. `others` is the number of limits that are shown besides the
    findings of the comparison.
    """
    voiding = sum(each.makes_doubtful for each in comparison.findings)
    if comparison.answer == "partly void":
        reasons = format_count(voiding, "reason")
        return f"in part: {reasons} below {'makes' if voiding == 1 else 'make'} metrics void"
    if comparison.answer == "void":
        return f"no: {format_count(voiding, 'reason')} below {'makes' if voiding == 1 else 'make'} it void"
    if comparison.design == "one race each":
        return _trust_in_one_race_each(main_metric(comparison))
    limits = len(comparison.findings) + others
    return f"with care: {format_count(limits, 'reason')} below" if limits else _NOTHING_LIMITS


def next_text(comparison: Comparison) -> str:
    """Returns what to do next; empty if the answer is final."""
    if comparison.answer in ("void", "partly void"):
        return "resolve the reasons below, and repeat the races that they concern"
    if comparison.design == "one race each":
        return (
            f"repeat both sides alternately: {FIRST_LOOK} races of each for a first look, {CLAIM} for a claim"
        )
    if comparison.design == "unpaired":
        return (
            "repeat the races in blocks, which exclude a drift of the machine: "
            f"{FIRST_LOOK} blocks for a first look, {CLAIM} for a claim"
        )
    if any(each.order_problem for each in comparison.primary):
        return "repeat the blocks, and let the sides take turns at running first, which excludes a drift"
    count = block_count(comparison)
    if count < FIRST_LOOK:
        return f"run more races: {FIRST_LOOK} blocks are enough for a first look, {CLAIM} for a claim"
    if comparison.answer in ("unclear", "no verdict", "probably better", "probably worse"):
        needed = races_needed(comparison)
        if needed is not None:
            return (
                f"repeat it with about {needed} blocks, which would show the smallest effect that matters; "
                "blocks that are added to these find differences that are not there"
            )
        return "run more races, or reduce what varies between them"
    return f"before you claim it, run {CLAIM} blocks" if count < CLAIM else ""


def block_count(comparison: Comparison) -> int:
    """Returns the number of blocks that every primary metric with an interval has at least."""
    lost = (len(each.lost_blocks) for each in comparison.primary if each.change)
    return len(comparison.baseline.races) - max(lost, default=0)


def races_needed(comparison: Comparison) -> int | None:
    """Returns how many races of each side are needed to decide the undecided primary metrics, or None if that
    is unknown or too many.
    """
    undecided, count = (
        ("unclear", "probably better", "probably worse", "probably changed"),
        len(comparison.baseline.races),
    )
    numbers = [
        (count - len(each.lost_blocks)) * (each.change.detectable / each.smallest_effect) ** 2
        for each in comparison.primary
        if each.word in undecided and each.change and each.change.detectable and each.smallest_effect
    ]
    needed = math.ceil(max(numbers, default=0))
    return needed if count < needed <= _MAX_ADVISED_RACES else None


def group_text(group: RaceGroup, comparison: Comparison) -> str:
    """Returns a description of a group: the number of its races, and what they have in common. The ids of no
    two races of the comparison look alike.
    """
    names = " / ".join(name for name in (group.track, group.challenge) if name)
    tags = ", ".join(f"{key}={value}" for key, value in group.tags.items())
    parts = (
        race_ids_text([race.race_id for race in group.races], _ids(comparison)),
        names + (f" on {group.engine}" if group.engine else ""),
        f"car {group.car}" if group.car not in ("", "external") else "",
        f"tags {tags}" if tags else "",
    )
    return whole_line(", ".join(part for part in parts if part))


def _ids(comparison: Comparison) -> list[str]:
    return [race.race_id for group in (comparison.baseline, comparison.contender) for race in group.races]


def race_ids_text(ids: Sequence[str], among: Sequence[str]) -> str:
    """Returns the number of races and the first of their ids: `5 races (a, b, …)`. Those that Pacenote chose
    are as short as no other one of `among` begins.
    """
    shown = ", ".join(short_id(each, among) for each in ids[:2]) + (", …" if len(ids) > 2 else "")
    return f"race {shown}" if len(ids) == 1 else f"{format_count(len(ids), 'race')} ({shown})"


def times_text(group: RaceGroup) -> str:
    """Returns when the races of a group began; empty if that is unknown."""
    times = sorted(race.timestamp for race in group.races if race.timestamp is not None)
    if len(times) < len(group.races):
        return ""
    first, last = (f"{time:%Y-%m-%d %H:%M}" for time in (times[0], times[-1]))
    return f"began {first} UTC" if first == last else f"began {first} to {last} UTC"


def order_text(comparison: Comparison) -> str:
    """Returns the order in which the races ran, B for one of the baseline and C for one of the contender;
    empty if it is unknown.
    """
    sides = ((comparison.baseline, "B"), (comparison.contender, "C"))
    times = [(race.timestamp, letter) for group, letter in sides for race in group.races]
    races = sorted((time, letter) for time, letter in times if time is not None)
    if len(races) < len(times):
        return ""
    letters = " ".join(letter for _, letter in races[:_SHOWN_ORDER])
    return f"{letters} …" if len(races) > _SHOWN_ORDER else letters


def smallest_effects_text(metrics: Sequence[MetricComparison]) -> str:
    """Returns the smallest changes of each kind of metric that matter; empty without metrics."""
    names: dict[str, dict[str, None]] = {}
    for metric in metrics:
        if metric.is_absolute:
            name = "error rates" if metric.metric.kind == "error rate" else short_name(metric)
            effect = with_unit(f"≥ {metric.smallest_effect:.3g}", metric.metric.difference_unit)
        else:
            # A decrease to 1 / 1.03 counts like an increase by 3 %.
            decrease = metric.smallest_effect / (1 + metric.smallest_effect)
            effect = f"≥ +{metric.smallest_effect * 100:g} % or ≤ -{decrease * 100:.3g} %"
            name = f"p{metric.metric.q:g}" if metric.metric.kind == "percentile" else short_name(metric)
        names.setdefault(effect, {})[name] = None
    listed = (f"{' and '.join(own)} {effect}" for effect, own in names.items())
    together = sum(each.change is not None for each in metrics)
    allowance = f"; intervals allow for {together} metrics that decide together" if together > 1 else ""
    return f"changes that matter: {', '.join(listed)}{allowance}" if names else ""
