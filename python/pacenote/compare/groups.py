"""Compares two groups of races."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.compare.deciding import deciding_metrics, lacking_metrics, partial_metrics
from pacenote.compare.differences import group_differences
from pacenote.compare.endless import endless_percentiles
from pacenote.compare.estimate import Failures, Measured, decided
from pacenote.compare.metrics import (
    Datum,
    expanded_primary,
    metric_hint,
    quality_labels,
    race_counts,
    race_metrics,
    smallest_effect_of,
)
from pacenote.compare.operation_work import work_findings
from pacenote.compare.pairing import PairedRaces, block_of, pair_races
from pacenote.compare.quality import lacking_quality, quality_limits, quality_problems
from pacenote.compare.race_findings import RaceDoubts, listed, names_text, voids
from pacenote.compare.task_validity import differently_steady
from pacenote.compare.validity import limiting_findings, order_findings, voiding_findings
from pacenote.errors import UsageError
from pacenote.model.alike_findings import shape
from pacenote.model.comparison import (
    WORSE_WORDS,
    ComparedRace,
    Comparison,
    ComparisonAnswer,
    ComparisonOptions,
    MetricComparison,
    MetricId,
    MetricRole,
    MetricWord,
    RaceGroup,
    RaceInGroup,
)
from pacenote.model.custom_metrics import CustomMetrics, declared_metrics
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.opposite_medians import opposite_median_notes
from pacenote.model.user_tags import tag_texts
from pacenote.model.warmup_backlog import BACKLOG_MARK, MISSED_ADVICE, backlog_reason
from pacenote.stats.effect import log_ratio
from pacenote.stats.student import t_quantile
from pacenote.units import format_change, format_count
from pacenote.verdict.determine import missed_targets

_DRIFT_CONFIDENCE = 0.99
"""Confidence with which a drift is told from noise."""

_NO_OPTIONS = ComparisonOptions()
_SHOWN_BLOCKS = 3


def compare_groups(
    baseline: Sequence[ComparedRace],
    contender: Sequence[ComparedRace],
    options: ComparisonOptions = _NO_OPTIONS,
) -> Comparison:
    """Compares the races of the contender with those of the baseline, of which each has at least one.

    Races that must not be compared make the comparison void; they are not an error. Raises UsageError if a
    race is in both groups, or if a primary metric does not exist.
    """
    baseline, contender, copies = _check_sides(baseline, contender, options)
    races = pair_races(baseline, contender)
    differences, notes = group_differences(races.baseline, races.contender)
    whole = _part(races, options)
    customs = declared_metrics([race.record.task_meta for race in races.all], options.quality)
    sides = tuple(
        [race_metrics(race.record, customs) for race in side] for side in (races.baseline, races.contender)
    )
    measured, own = _measured(whole, sides, customs, options)
    metrics = decided(measured, races, options)
    is_void = any(map(_voids_all, whole.findings))
    of_races = [*sides[0], *sides[1]]
    every = () if is_void else of_races
    lacking = lacking_metrics([race.record for race in races.all], every, options.primary) if every else ()
    limits = (
        *limiting_findings(races, differences, options),
        *drift_findings(measured, metrics),
        *quality_limits(metrics),
    )
    findings = (*whole.findings, *limits)
    shown = tuple(_concerning(findings, metrics))
    return Comparison(
        baseline=_group(races.baseline, is_paired=races.design == "paired"),
        contender=_group(races.contender, is_paired=races.design == "paired"),
        design=races.design,
        run_order=races.order,
        answer=_answer(metrics, shown),
        metrics=metrics,
        findings=tuple(sorted((*shown, *own, *_lacking(lacking, shown), *copies), key=_rank)),
        differences=differences,
        notes=(
            *_repetitions(races, options),
            *opposite_median_notes(metrics, is_paired=races.design == "paired"),
            *notes,
        ),
        lacking_quality=_lacking_quality(customs, of_races),
        lacking_primary=lacking,
        partial_metrics=partial_metrics(every),
    )


def _repetitions(races: PairedRaces, options: ComparisonOptions) -> tuple[str, ...]:
    if not races.repeated:
        return ()
    pairs = ((options.name(each.record.race_id) for each in (one.race, one.by)) for one in races.repeated)
    names = ", ".join(f"{race} (by {by})" for race, by in pairs)
    return (f"not compared, because their experiment repeated them: {names}",)


def _check_sides(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace], options: ComparisonOptions
) -> tuple[list[ComparedRace], list[ComparedRace], list[Finding]]:
    """Returns the races of both sides once each, and a finding about copies of races."""
    keys = [{race.key for race in side} for side in (baseline, contender)]
    if common := keys[0] & keys[1]:
        race_id = min(race_id for race_id, _ in common)
        raise UsageError(
            f"race {options.name(race_id)} is in the baseline and in the contender",
            hint="a race compared with itself shows nothing; `pacenote list races` shows the others",
        )
    if not all(keys):
        raise UsageError("the baseline and the contender each need a race")
    sides = [_without_copies(side) for side in (baseline, contender)]
    copies = [race for _, own in sides for race in own]
    text = f"given more than once, but counted once: {names_text(copies, options)}" if copies else ""
    return sides[0][0], sides[1][0], [Finding(text, "user", "leave out the copies")] if copies else []


def _without_copies(side: Sequence[ComparedRace]) -> tuple[list[ComparedRace], list[ComparedRace]]:
    """Returns the races of a side once each, and those of which there are copies."""
    counts = Counter(race.key for race in side)
    by_key = {race.key: race for race in reversed(side)}
    return [by_key[key] for key in counts], [by_key[key] for key, count in counts.items() if count > 1]


class _Part(Struct, frozen=True):
    """All blocks, or those that count for some metrics."""

    races: PairedRaces
    """Their races."""

    findings: Sequence[Finding]
    """What may make metrics void."""

    work: Sequence[Finding]
    """Those of them that say that operations do other work on the two sides."""

    order: Sequence[Finding]
    """What is wrong with the order of the races."""

    differently_steady: frozenset[str]
    """The tasks that are steady on one side only, in too few races to be void."""

    def voiding(self, metric: MetricId) -> list[Finding]:
        """Returns the findings that make a metric void."""
        return [finding for finding in self.findings if voids(finding, metric)]

    def is_of_other_work(self, metric: MetricId) -> bool:
        """Returns whether a metric is void only because operations do other work on the two sides."""
        voiding = self.voiding(metric)
        return bool(voiding) and all(finding in self.work for finding in voiding)


def _part(races: PairedRaces, options: ComparisonOptions) -> _Part:
    return _Part(
        races,
        voiding_findings(races, options),
        [*work_findings(races)],
        [*order_findings(races)],
        differently_steady(races),
    )


_Side = Sequence[Mapping[MetricId, Datum]]
"""The metrics of each race of a side."""


def _measured(
    whole: _Part, sides: Sequence[_Side], customs: CustomMetrics, options: ComparisonOptions
) -> tuple[list[Measured], list[Finding]]:
    """Returns the metrics that every race has, and findings about those that are to decide. `sides` has the
    metrics of the races of `whole`.
    """
    races = whole.races
    common = [metric for metric in sides[0][0] if all(metric in each for side in sides for each in side)]
    primary, unknown = _primary(common, races, options)
    quality = quality_labels(common, customs) - primary
    roles: dict[str, MetricRole] = dict.fromkeys(quality, "quality")
    roles |= dict.fromkeys(primary, "primary")
    every = tuple(range(len(races.baseline)))
    parts = {every: whole}
    measured = list[Measured]()
    doubts = _doubts(races, options)
    of_parts = dict[Finding, list[str]]()
    for metric in common:
        doubtful = _doubtful_pairs(metric, doubts)
        # With more of them, these races make it void.
        is_spare = len(doubtful) <= options.spare_blocks
        sound = tuple(pair for pair in every if pair not in doubtful) if is_spare else every
        if sound not in parts:
            parts[sound] = _part(races.part(sound), options)
        part = parts[sound]
        if metric.label in roles:
            for finding in _only_of_part(metric, part, whole):
                of_parts.setdefault(finding, []).append(metric.label)
        own = sides if sound == every else [[side[pair] for pair in sound] for side in sides]
        lost = tuple(block_of(races.baseline[pair]) for pair in every if pair not in sound)
        measured.append(
            Measured(
                replace(
                    _undecided(metric, own, options, role=roles.get(metric.label, "secondary")),
                    has_backlog=any(each[metric].has_backlog for side in own for each in side),
                    lost_blocks=lost,
                    is_of_other_work=part.is_of_other_work(metric),
                ),
                part.races,
                is_void=bool(part.voiding(metric)),
                is_at_most_probable=metric.task in part.differently_steady,
                is_endless=any(each[metric].is_endless for side in own for each in side),
                samples_needed=max(each[metric].samples_needed for side in own for each in side),
                is_count_known=all(each[metric].is_count_known for side in own for each in side),
                failures=_failures([[each[metric] for each in side] for side in own]),
                bounds=(own[0][0][metric].bounds, own[1][0][metric].bounds),
            )
        )
    return measured, [
        *(
            structs.replace(finding, text=f"{finding.text} (of the blocks that count for {listed(labels)})")
            for finding, labels in of_parts.items()
        ),
        *unknown,
        *quality_problems(customs, [metrics for side in sides for metrics in side]),
        *_backlogs(measured),
        *endless_percentiles(measured),
        *_too_few_samples(measured),
        *_lost_blocks(measured, races, options),
    ]


def _lacking_quality(customs: CustomMetrics, of_races: _Side) -> tuple[str, ...]:
    """Returns the labels of the quality metrics that not all races have."""
    lacking = lacking_quality(customs, of_races)
    return tuple(f"{key}:{task}" for task, keys in lacking.items() for key in keys)


def _lacking(labels: Sequence[str], findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yields which metrics that would decide not all races have, unless a finding voids their tasks, such as
    that their units differ.
    """
    void = {task for finding in findings if finding.makes_doubtful for task in finding.tasks}
    for label in labels:
        if label.partition(":")[2] in void:
            continue
        text = f"not all races have {label}, so that it is not known whether it changed"
        task = label.partition(":")[2]
        yield Finding(text, "user", "compare races that have it", (task,) if task else ())


def _only_of_part(metric: MetricId, part: _Part, whole: _Part) -> Iterator[Finding]:
    """Yields what limits a metric because of the blocks that count for it, and is not said of all blocks."""
    known = {shape(each.text) for each in whole.findings if voids(each, metric)}
    for finding in part.findings:
        if voids(finding, metric) and shape(finding.text) not in known:
            yield finding
    yield from (each for each in part.order if each not in whole.order)


_PairDoubts = tuple[tuple[RaceDoubts, ...], ...]
"""What the two races of each pair make doubtful."""


def _doubtful_pairs(metric: MetricId, doubts: _PairDoubts) -> tuple[int, ...]:
    """Returns the pairs of which a race alone makes a metric doubtful, if any may be left out. An error rate
    does not leave out those whose operations failed: it would be 0 in the others.
    """
    is_lost = RaceDoubts.is_disturbed if metric.kind == "error rate" else RaceDoubts.is_doubtful
    return tuple(at for at, pair in enumerate(doubts) if any(is_lost(race, metric) for race in pair))


def _doubts(races: PairedRaces, options: ComparisonOptions) -> _PairDoubts:
    """Returns what each race of the pairs makes doubtful; empty if no pair may be left out."""
    if races.design != "paired" or not options.spare_blocks:
        return ()
    sides = ([RaceDoubts(race.record) for race in side] for side in (races.baseline, races.contender))
    return tuple(zip(*sides, strict=True))


def _lost_blocks(
    measured: Iterable[Measured], races: PairedRaces, options: ComparisonOptions
) -> Iterator[Finding]:
    """Yields which blocks do not count for metrics that are to decide."""
    lost: dict[tuple[int, ...], list[str]] = {}
    doubts = _doubts(races, options)
    for measurement in measured:
        if measurement.metric.role == "primary" and (
            pairs := _doubtful_pairs(measurement.metric.metric, doubts)
        ):
            lost.setdefault(pairs, []).append(measurement.metric.metric.label)
    for pairs, labels in lost.items():
        blocks = [block_of(races.baseline[pair]) for pair in pairs]
        more = len(blocks) - _SHOWN_BLOCKS
        shown = listed([*blocks[:_SHOWN_BLOCKS], f"{more} more"] if more > 0 else blocks)
        limit = "" if len(pairs) <= options.spare_blocks else f"; at most {options.spare_blocks} may be lost"
        count = format_count(len(races.baseline), "block")
        yield Finding(
            f"{len(pairs)} of {count} do not count for {listed(labels)}: a race of {shown} is doubtful{limit}"
        )


def _concerning(findings: Sequence[Finding], metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    """Yields the findings as they concern the primary metrics. Those that void none of them make nothing
    doubtful here: a task that waited while it deleted an index is no reason against the others, nor is a race
    of a block that does not count. Those that void only some concern their tasks.
    """
    primary = [each for each in metrics if each.role == "primary"]
    for finding in findings:
        concerned = [each for each in primary if voids(finding, each.metric)]
        void = [each for each in concerned if each.word == "void"]
        tasks = tuple(dict.fromkeys(each.metric.task for each in void if each.metric.task))
        if not void and (concerned or finding.tasks):
            yield structs.replace(finding, doubtful_from=None)
        elif len(void) < len(concerned) and not finding.tasks:
            yield structs.replace(finding, tasks=tasks)
        else:
            yield finding


def _rank(finding: Finding) -> int:
    """Returns the place of a finding in lists: first what voids everything, then what voids some metrics."""
    if _voids_all(finding):
        return 0
    return 1 if finding.makes_doubtful else 2


def _voids_all(finding: Finding) -> bool:
    return finding.doubtful_from == EVERYTHING and not finding.tasks


def _backlogs(measured: Iterable[Measured]) -> Iterator[Finding]:
    """Yields of which tasks that decide latency or throughput cannot, as it includes the backlog of a
    warm-up.
    """
    every = list(measured)
    primary = {each.metric.metric.task for each in every if each.metric.role == "primary"}
    tasks_of: dict[tuple[str, str], dict[str, None]] = {}
    for measurement in every:
        metric = measurement.metric.metric
        if metric.task in primary and measurement.has_backlog and not measurement.is_void:
            records = [race.record for race in measurement.races.all]
            missed = {result.task for record in records for result in missed_targets(record)}
            advice = MISSED_ADVICE if metric.task in missed else "use a longer warm-up"
            tasks_of.setdefault((backlog_reason(metric.kind), advice), {})[metric.task] = None
    for (reason, advice), tasks in tasks_of.items():
        text = f"{BACKLOG_MARK} {reason} in a race, so that it does not decide"
        yield Finding(text, "track", advice, tuple(tasks))


def _too_few_samples(measured: Iterable[Measured]) -> Iterator[Finding]:
    """Yields which percentiles that are to decide cannot, because they lack samples."""
    lacking: dict[tuple[float, int, bool], dict[str, None]] = {}
    for measurement in measured:
        metric = measurement.metric
        if (
            metric.role == "primary"
            and measurement.samples_needed
            and not measurement.is_void
            and metric.metric.q < 100
        ):
            key = (metric.metric.q, measurement.samples_needed, measurement.is_count_known)
            lacking.setdefault(key, {})[metric.metric.task] = None
    for (q, needed, is_known), tasks in lacking.items():
        if is_known:
            text, advice = (
                f"too few samples for p{q:g}, which needs {needed:,} in every race",
                "measure for longer",
            )
        else:
            text = f"not known whether there are enough samples for p{q:g}, so that it does not decide"
            advice = "import results with higher percentiles"
        yield Finding(text, "user", advice, tuple(tasks))


def _failures(sides: Sequence[Sequence[Datum]]) -> Failures | None:
    """Returns how many operations of the races failed, or None if that is unknown or not counted."""
    old, new = map(race_counts, sides)
    return None if old is None or new is None else Failures(old, new)


def _undecided(
    metric: MetricId,
    sides: Sequence[Sequence[Mapping[MetricId, Datum]]],
    options: ComparisonOptions,
    role: MetricRole,
) -> MetricComparison:
    old, new = (tuple(each[metric].value for each in side) for side in sides)
    operations = tuple(each[metric].operations for each in sides[1])
    smallest = smallest_effect_of(metric)
    # What matters of a speed says nothing about quality.
    if options.smallest_effect is not None and metric.kind != "error rate" and role != "quality":
        smallest = options.smallest_effect
    if metric.kind == "custom" and min((*old, *new)) <= 0:
        # It is compared by differences, in its unit.
        smallest *= max(abs(median(old)), abs(median(new)))
    return MetricComparison(
        metric=metric,
        role=role,
        baseline=old,
        contender=new,
        baseline_value=median(old),
        contender_value=median(new),
        word="no verdict",
        smallest_effect=smallest,
        contender_operations=operations if all(operations) else (),
    )


def _primary(
    common: Sequence[MetricId], races: PairedRaces, options: ComparisonOptions
) -> tuple[frozenset[str], list[Finding]]:
    """Returns the labels of the primary metrics, and findings about those of the track that do not exist.
    Raises UsageError if one of the options does not.
    """
    if not options.primary:
        labels, missing = deciding_metrics([race.record for race in races.all], common)
        advice = "correct primary-metrics in the metadata of the task"
        return labels, [
            Finding(
                f"the track names metrics as primary that not all races have: {', '.join(names)}",
                "track",
                advice,
                (task,),
            )
            for task, names in missing.items()
        ]
    primary, unknown = expanded_primary(options.primary, common)
    if unknown:
        raise UsageError(
            f"the races have no common metric '{unknown[0]}'", hint=metric_hint(unknown[0], common)
        )
    return primary, []


def _answer(metrics: Sequence[MetricComparison], findings: Iterable[Finding]) -> ComparisonAnswer:
    """Returns the word for all primary metrics, and for quality metrics that became worse. Those without an
    interval do not count: they have no verdict, or are 0 in all races. Void ones only leave an answer if
    another one is worse. If none counts, findings that void everything do.
    """
    primary = [each for each in metrics if each.role == "primary"]
    void = {each.word == "void" for each in primary if not each.is_zero}
    if void == {True} or (not void and any(map(_voids_all, findings))):
        return "void"
    said = {each.word for each in primary if each.change is not None}
    said |= {each.word for each in metrics if each.role == "quality" and each.word in WORSE_WORDS}
    if True in void and "worse" not in said:
        return "partly void"
    if not said:
        return "no verdict"
    good, bad = said & {"better", "probably better"}, said & {"worse", "probably worse"}
    if good and bad:
        return "mixed"
    order: tuple[MetricWord, ...] = (
        *(*WORSE_WORDS, "better", "probably better"),
        *("changed", "probably changed", "unclear"),
    )
    return next((word for word in order if word in said), "same")


def _group(races: Sequence[ComparedRace], *, is_paired: bool) -> RaceGroup:
    first = races[0].record
    cluster = first.cluster
    tags = [tag_texts(race.record.user_tags) for race in races]
    return RaceGroup(
        races=tuple(
            RaceInGroup(
                race.record.race_id,
                race.began,
                race.record.verdict.state,
                block_of(race) if is_paired else "",
            )
            for race in races
        ),
        track=first.track.name,
        challenge=first.challenge,
        engine=cluster.title or " ".join(part for part in (cluster.distribution, cluster.version) if part),
        car="+".join(first.car),
        tags={key: value for key, value in tags[0].items() if all(each.get(key) == value for each in tags)},
    )


def drift_findings(measured: Sequence[Measured], metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    """Yields which primary metrics drifted from race to race by more than they changed, and by at least half
    of what matters. A drift that is the same for all races is removed, but one of this size seldom is.
    """
    drifts = defaultdict[str, list[str]](list)
    for measurement, metric in zip(measured, metrics, strict=True):
        change = metric.change
        if metric.role != "primary" or change is None or change.is_absolute or change.value <= -1:
            continue
        drift = _drift(metric, measurement.races.lags) if measurement.races.design == "paired" else None
        limit = max(abs(math.log1p(change.value)), math.log1p(metric.smallest_effect) / 2)
        if drift is not None and abs(drift) > limit:
            drifts[format_change(math.expm1(drift))].append(metric.metric.label)
    for text, labels in drifts.items():
        yield Finding(
            f"{', '.join(labels)} drifted by {text} from each race to the next, more than the change: it is "
            "removed only as far as it is the same for all races",
            "machine",
            "warm up for longer, or repeat the blocks when the machine has settled",
        )


def _drift(metric: MetricComparison, lags: Sequence[float]) -> float | None:
    """Returns the drift of the logarithm from race to race, or None if it may be noise."""
    values = list(zip(metric.contender, metric.baseline, lags, strict=True))
    count = len(values)
    if count < 4 or any(min(new, old) <= 0 for new, old, _ in values):
        return None
    changes = [log_ratio(new, old) for new, old, _ in values]
    mean, lag = math.fsum(changes) / count, math.fsum(lags) / count
    spread = math.fsum((one - lag) ** 2 for one in lags)
    if spread == 0:
        return None
    drift = math.fsum((one - lag) * change for change, one in zip(changes, lags, strict=True)) / spread
    rest = math.fsum(
        (change - mean - drift * (one - lag)) ** 2 for change, one in zip(changes, lags, strict=True)
    )
    error = math.sqrt(rest / (count - 2) / spread)
    return drift if abs(drift) > t_quantile(count - 2, (1 + _DRIFT_CONFIDENCE) / 2) * error else None
