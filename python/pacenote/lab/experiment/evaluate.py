"""Evaluates the races of an experiment: comparisons with the baseline, the best configurations, the noise.

Nothing that was measured is lost by an evaluation: a race that cannot be read, or a metric that does not
exist, becomes a note.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs
from msgspec.structs import replace

from pacenote.compare.groups import compare_groups
from pacenote.compare.metrics import race_metrics
from pacenote.compare.quality import unknown_directions
from pacenote.compare.race_findings import RaceDoubts
from pacenote.compare.validity import MORE_RACES
from pacenote.errors import PacenoteError
from pacenote.lab.experiment.cell_values import CellRaces, aliases, cell_values, factor_effects
from pacenote.lab.experiment.design import all_variants, race_names
from pacenote.lab.experiment.noise import noise_document, noise_values
from pacenote.lab.experiment.options import joined
from pacenote.lab.experiment.planning import ERROR_RATE, error_level, look_level
from pacenote.lab.experiment.primary import (
    Metrics,
    by_variant,
    chosen_primary,
    half_width,
    leading_metric,
    main_metric,
    usable_metrics,
    without_main_text,
)
from pacenote.lab.experiment.progress import (
    MAX_LOST_SHARE,
    BlockRaces,
    ExperimentProgress,
    baseline_name,
    hopeless,
)
from pacenote.model.comparison import (
    ComparedRace,
    Comparison,
    ComparisonOptions,
    MetricComparison,
    MetricId,
)
from pacenote.model.custom_metrics import Directions, declared_metrics, quality_directions
from pacenote.model.experiment import BEST, PAIRED, Experiment
from pacenote.model.experiment_result import (
    ExperimentResult,
    ExperimentState,
    NoiseValue,
    RepeatedRace,
    VariantResult,
)
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.stats.words import SETTLED
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.race_groups import read_race_of_id
from pacenote.store.race_store import RaceStore, is_race_id
from pacenote.system.paths import exists
from pacenote.units import format_change, format_count
from pacenote.verdict.outside_disturbances import outside_disturbance

MIN_BLOCKS = 5
"""Blocks before which an experiment does not end because its interval is narrow enough."""

ESTIMATED_BLOCKS = 20
"""Blocks up to which the running estimate is renewed after each one."""

MIN_VOID_BLOCKS = 3
"""Blocks after which an experiment ends of whose races none may be compared."""

_GOOD = ("better", "probably better")


@dataclass
class Evaluation:
    """Evaluates one experiment, again and again while it runs."""

    experiment: Experiment
    """The experiment."""

    races: RaceStore
    """The races of the home folder."""

    read: dict[str, ComparedRace] = field(default_factory=dict)
    """The races that were read, by id."""

    _unreadable: dict[str, str] = field(default_factory=dict)
    _metrics: dict[str, Metrics] = field(default_factory=dict)
    _estimate: str = ""
    _notes: dict[str, None] = field(default_factory=dict)
    _last: dict[tuple[str, str, int], tuple[object, Comparison | None]] = field(default_factory=dict)

    def adopts(self, stage: int, progress: ExperimentProgress) -> tuple[bool, str]:
        """Returns whether a step of a ladder is kept, and why."""
        step = self.experiment.variants[stage].name
        comparison = self._compared(progress, BEST, step, stage)
        if comparison is None:
            error = progress.failure(step)
            return False, f"failed: {error}" if error else "it has no races to compare"
        leading = _leading(comparison)
        if comparison.answer != "partly void" or leading is None:
            return comparison.answer in _GOOD, comparison.answer
        # That the machine disturbed another metric does not undo what the main one shows.
        is_worse = any(compared.word == "probably worse" for compared in comparison.primary)
        text = f"{comparison.answer}: {leading.metric.label} is {leading.word}"
        return leading.word in _GOOD and not is_worse, text

    def is_warm(self, progress: ExperimentProgress) -> bool:
        """Returns whether no primary metric of the last two races that warm up differs by an effect that
        matters.
        """
        ids = [progress.race_id(race) for race in progress.raced if not race.block]
        raced = [race for race_id in ids if (race := self._race(race_id, progress)) is not None]
        if len(raced) < 2:
            return False
        comparison = self._compare([race] for race in raced[-2:])
        changes = [
            (metric.relative_change, metric.smallest_effect)
            for metric in (comparison.primary if comparison else ())
            if not metric.is_absolute
        ]
        return bool(changes) and all(
            change is not None and abs(change) < smallest for change, smallest in changes
        )

    def ends(self, progress: ExperimentProgress) -> str:
        """Returns why the experiment ends after the last block; empty if it goes on.

        An answer may end it only at one of its looks: they are planned, so that looking costs no false
        alarms.
        """
        done = len(progress.blocks_done())
        if (done == MIN_VOID_BLOCKS or done % MIN_BLOCKS == 0) and (reason := self._void_for_all(progress)):
            return reason
        if (
            self.experiment.design not in PAIRED
            or done not in self._looks()
            or done >= self.experiment.blocks
        ):
            return ""
        # Whether it ends here is decided with the intervals that it would end with.
        comparisons = [
            self._compared(progress, self.baseline(progress), name, is_end=True)
            for name in self._contenders(progress)
        ]
        # What has no interval, such as an error rate of 0 in all races, does not keep it from ending.
        primary = [m for c in comparisons if c for m in c.primary if m.change or m.word == "void"]
        if None in comparisons or not primary:
            return ""
        if self.experiment.looks and {metric.word for metric in primary} <= SETTLED:
            return f"the answer is clear after {done} blocks"
        precision, width = self.experiment.precision, half_width(primary)
        if precision is None or width is None or width > precision:
            return ""
        return f"the intervals are as narrow as asked for after {done} blocks, ±{precision * 100:g} %"

    def disturbance(self, race_id: str) -> str:
        """Returns what disturbed a race from outside, so that a primary metric of it does not count; empty if
        nothing did, or if all of them count.
        """
        race = self._race(race_id)
        reason = "" if race is None else outside_disturbance(race.record)
        if race is None or not reason:
            return ""
        metrics = self.metrics_of(race)
        labels, _ = chosen_primary(self.experiment.primary, [race.record], metrics)
        deciding = [metric for metric in metrics if metric.label in labels]
        doubts = RaceDoubts(race.record)
        is_lost = race.record.verdict.state == "void" or any(map(doubts.is_disturbed, deciding))
        return reason if is_lost else ""

    def _void_for_all(self, progress: ExperimentProgress) -> str:
        """Returns why none of the blocks so far may be compared, which more of them do not change."""
        if self.experiment.design not in PAIRED:
            raced = [race for race in progress.raced if race.block]
            read = [self._race(progress.race_id(race), progress) for race in raced]
            if len({race.block for race in raced}) < MIN_VOID_BLOCKS or any(map(self._counts, read)):
                return ""
            reasons = read[-1].record.verdict.reasons if read[-1] else ()
            return f"no race may be compared: {reasons[0] if reasons else 'no reason is stored'}"
        texts = []
        for name in self._contenders(progress):
            blocks = self._blocks(progress, (self.baseline(progress), name))
            if len(blocks.blocks) < MIN_VOID_BLOCKS:
                return ""
            comparison = self._compared(progress, self.baseline(progress), name)
            if comparison is None or comparison.answer != "void":
                return ""
            # If only some of them are void, the others decide once there are enough of them.
            if any(self._may_be_compared(block) for block in blocks.counted):
                return ""
            texts.append(next((f.text for f in comparison.findings if f.makes_doubtful), "all are void"))
        return f"the races must not be compared: {texts[0]}" if texts else ""

    def _may_be_compared(self, block: Sequence[str]) -> bool:
        """Returns whether the races of one block may be compared."""
        comparison = self._compare([self.read[race_id]] for race_id in block)
        return comparison is not None and comparison.answer != "void"

    def _counts(self, race: ComparedRace | None) -> bool:
        """Returns whether a race can be read and has a primary metric that it does not make doubtful."""
        if race is None:
            return False
        metrics = self.metrics_of(race)
        labels, _ = chosen_primary(self.experiment.primary, [race.record], metrics)
        doubts = RaceDoubts(race.record)
        return any(metric.label in labels and not doubts.is_doubtful(metric) for metric in metrics)

    def estimate(self, progress: ExperimentProgress) -> str:
        """Returns the running estimate in one line, empty if there is none yet."""
        done = len(progress.blocks_done())
        # It is made from all races again, which takes its time if there are many.
        if done <= ESTIMATED_BLOCKS or done % (ESTIMATED_BLOCKS // 2) == 0:
            self._estimate = ", ".join(self._estimates(progress))
        return self._estimate

    def _estimates(self, progress: ExperimentProgress) -> Iterator[str]:
        for name in self._contenders(progress) if self.experiment.design in PAIRED else ():
            comparison = self._compared(progress, self.baseline(progress), name)
            metric = _leading(comparison)
            if metric is None or metric.change is None:
                continue
            change = metric.change
            low, high = format_change(change.low).removesuffix(" %"), change.known_high
            yield (
                f"so far {name}: {metric.metric.label} {format_change(change.value)} "
                f"({low} … {'∞' if high is None else format_change(high)})"
            )

    def baseline(self, progress: ExperimentProgress) -> str:
        """Returns the name of the variant that the others are compared with."""
        return baseline_name(self.experiment, progress.plan)

    def result(
        self, progress: ExperimentProgress, *, paused: str = "", running: bool = False
    ) -> ExperimentResult:
        """Returns what the experiment has found so far; `paused` is why it does not go on now."""
        planned = progress.plan.races
        state: ExperimentState = (
            "unfinished" if progress.left() else "ended early" if progress.stopped else "complete"
        )
        begun = dict.fromkeys(race.block for race in planned if race.number in progress.ends and race.block)
        main = self._main(progress)
        races = self._cell_races(progress)
        cells = cell_values(self.experiment, races, main)
        effects, no_effects = factor_effects(self.experiment, races, main)
        variants = self._variants(progress, main)
        return ExperimentResult(
            experiment_id=progress.plan.experiment_id,
            question=self.experiment.question,
            design=self.experiment.design,
            state="running" if running else state,
            reason=progress.stopped,
            paused=paused,
            retryable=self._retryable(progress),
            baseline=self.baseline(progress),
            races_done=len(progress.ends),
            races_planned=len(planned),
            blocks=len(progress.blocks_done(None)),
            seconds=progress.seconds,
            order=tuple(progress.ran(block) for block in begun),
            main_metric=main,
            variants=variants,
            confirmation=self._confirmation(progress),
            cells=cells,
            factors=tuple(
                (factor.name, tuple(level.name for level in factor.levels))
                for factor in self.experiment.factors
            ),
            effects=effects,
            aliases=aliases(self.experiment),
            noise=self._noise(progress),
            machine_changes=tuple(progress.machine_changes),
            repeated=tuple(_repeated_races(progress)),
            notes=(
                *self._notes,
                *self._suspect_notes(progress),
                *self._quality_notes(),
                *((no_effects,) if no_effects else ()),
            ),
        )

    def store_noise(self, progress: ExperimentProgress, store: ExperimentStore) -> None:
        """Stores the noise that a noise experiment has found, for later experiments. Raises StoreError."""
        values, counted = self._noise(progress), self._counted(progress)
        if values and counted:
            records, experiment_id = [race.record for race in counted], progress.plan.experiment_id
            (variant,) = all_variants(self.experiment)
            options = joined(self.experiment.race, variant.options)
            store.update_noise(lambda stored: noise_document(stored, records, values, experiment_id, options))

    def _retryable(self, progress: ExperimentProgress) -> tuple[str, ...]:
        """Returns the variants without which the experiment has ended."""
        is_hopeless = progress.stopped and hopeless(self.experiment, progress)
        return progress.left_out_variants() if is_hopeless else ()

    def _looks(self) -> Sequence[int]:
        """Returns the numbers of blocks after which the experiment may end."""
        if self.experiment.looks or self.experiment.precision is None:
            return self.experiment.looks
        return range(MIN_BLOCKS, self.experiment.blocks + 1)

    def _race(self, race_id: str, progress: ExperimentProgress | None = None) -> ComparedRace | None:
        """Returns a race, or None if it cannot be read, or if its record is not that of the planned race;
        this is noted.
        """
        if race_id not in self.read and race_id not in self._unreadable:
            try:
                self.read[race_id] = read_race_of_id(self.races, race_id)
            except PacenoteError as error:
                self._lose(race_id, "cannot be read", error.message)
        race, planned = self.read.get(race_id), progress and progress.planned_record(race_id)
        if race and planned and (problem := planned.problem(race.record, is_of_past=True)):
            self._lose(race_id, "does not count", problem)
        return self.read.get(race_id)

    def _lose(self, race_id: str, why: str, reason: str) -> None:
        self.read.pop(race_id, None)
        self._unreadable[race_id] = reason
        self._note(f"race {race_id} {why}, so that its block is lost: {reason}")

    def metrics_of(self, race: ComparedRace) -> Metrics:
        """Returns the metrics of a race, with the directions of the experiment."""
        race_id = race.record.race_id
        if race_id not in self._metrics:
            customs = declared_metrics([race.record.task_meta], self._directions)
            self._metrics[race_id] = race_metrics(race.record, customs)
        return self._metrics[race_id]

    @property
    def _directions(self) -> Directions:
        return quality_directions(self.experiment.quality)

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _contenders(self, progress: ExperimentProgress) -> list[str]:
        """Returns the variants that are still raced and compared with the baseline."""
        left_out = progress.left_out_variants()
        return [name for name in race_names(self.experiment)[1:] if name not in left_out]

    def _blocks(self, progress: ExperimentProgress, variants: Sequence[str], stage: int = 1) -> BlockRaces:
        blocks = progress.block_races(variants, stage)
        for race_id in (race_id for block in blocks.blocks for race_id in block):
            self._race(race_id, progress)
        return blocks.without(self._unreadable)

    def _compared(
        self,
        progress: ExperimentProgress,
        baseline: str,
        contender: str,
        stage: int = 1,
        *,
        is_end: bool = False,
    ) -> Comparison | None:
        """Returns the comparison of two variants, or None if they have no common block. Its intervals are
        those of the end if the experiment has ended, or with `is_end`.
        """
        blocks = self._blocks(progress, (baseline, contender), stage)
        level = error_level(
            self.experiment, len(progress.blocks_done(stage)), is_end=is_end or not progress.left()
        )
        state = (blocks, level(ERROR_RATE))
        key = (baseline, contender, stage)
        # After a block, it is asked for by the decision and by the running estimate.
        if key not in self._last or self._last[key][0] != state:
            self._last[key] = state, self._comparison(blocks, level, progress.places())
        return self._last[key][1]

    def _comparison(
        self, blocks: BlockRaces, level: Callable[[float], float], places: Mapping[str, int]
    ) -> Comparison | None:
        """Returns the comparison of the blocks that count; of all blocks if too many of them do not."""
        compared = blocks.blocks if blocks.is_biased else blocks.counted
        if not compared:
            return None
        sides = (
            [replace(self.read[block[side]], place=places[block[side]]) for block in compared]
            for side in (0, 1)
        )
        comparison = self._compare(sides, level, blocks.spare)
        if comparison is None or comparison.answer == "void" or not blocks.is_biased:
            return comparison
        of = format_count(blocks.count, "block")
        text = (
            f"only {len(blocks.counted)} of {of} count ({blocks.lost_text}), so "
            f"that they are a selection: more than {MAX_LOST_SHARE * 100:g} % are lost"
        )
        return _voided(
            comparison, Finding(text, "engine", "find out why races fail" if blocks.failed else "")
        )

    def _compare(
        self, sides: Iterator[list[ComparedRace]], level: Callable[[float], float] = float, spare: int = 0
    ) -> Comparison | None:
        """Compares two groups by those primary metrics that all of their races have; each may leave out some
        blocks.
        """
        baseline, contender = sides
        races = [*baseline, *contender]
        metrics = dict.fromkeys(metric for race in races for metric in self.metrics_of(race))
        first = [side[0].record for side in (baseline, contender)]
        labels, notes = chosen_primary(self.experiment.primary, first, metrics)
        common = {
            metric.label for metric in metrics if all(metric in self.metrics_of(race) for race in races)
        }
        for label in sorted(labels - common):
            notes = (*notes, f"not every race has {label}, so that it does not decide")
        for note in notes:
            self._note(note)
        options = ComparisonOptions(
            tuple(labels & common),
            self.experiment.smallest_effect,
            level=level,
            spare_blocks=spare,
            quality=self._directions,
        )
        try:
            comparison = compare_groups(baseline, contender, options)
        except PacenoteError as error:
            self._note(f"races cannot be compared: {error.message}")
            return None
        # More races than planned would find differences where there are none.
        findings = (
            structs.replace(f, advice="") if f.advice == MORE_RACES else f for f in comparison.findings
        )
        comparison = replace(
            comparison, findings=tuple(findings), lacking_primary=tuple(sorted(labels - common))
        )
        return comparison if labels & common or comparison.answer == "void" else _undecided(comparison)

    def _variants(self, progress: ExperimentProgress, main: MetricId | None) -> tuple[VariantResult, ...]:
        if self.experiment.design == "ladder":
            return self._steps(progress, main)
        baseline = self.baseline(progress)
        is_compared = self.experiment.design not in ("screening", "noise")
        return tuple(
            self._variant(progress, name, baseline if is_compared and name != baseline else "")
            for name in race_names(self.experiment)
        )

    def _steps(self, progress: ExperimentProgress, main: MetricId | None) -> tuple[VariantResult, ...]:
        """Returns the steps of a ladder, each compared with the best before it."""
        first = self.experiment.variants[0].name
        steps = [VariantResult(first, _count(progress, BEST), adopted=True, cumulative=1.0)]
        reached: float | None = 1.0
        for stage, step in enumerate(self.experiment.variants[1:], 1):
            adopted = progress.adopted.get(stage)
            result = self._variant(progress, step.name, BEST, stage)
            metric = main and result.comparison and result.comparison.metric(main)
            change = metric.relative_change if metric else None
            cumulative = None if change is None or reached is None else reached * (1.0 + change)
            steps.append(replace(result, adopted=adopted, cumulative=cumulative))
            reached = cumulative if adopted else reached
        return tuple(steps)

    def _confirmation(self, progress: ExperimentProgress) -> Comparison | None:
        """Returns the comparison of the best of a ladder with its start, in blocks of their own."""
        if self.experiment.design != "ladder" or not progress.adopted_steps:
            return None
        names = self.experiment.variants
        return self._compared(progress, names[0].name, BEST, len(names))

    def _variant(
        self, progress: ExperimentProgress, name: str, baseline: str, stage: int = 1
    ) -> VariantResult:
        """Returns a variant, compared with the baseline if there is one."""
        blocks = self._blocks(progress, (baseline, name) if baseline else (name,), stage)
        return VariantResult(
            name,
            _count(progress, name),
            self._compared(progress, baseline, name, stage) if baseline else None,
            progress.failure(name),
            sum(race.variant == name for race in progress.failed),
            () if blocks.is_biased else blocks.void_races,
            name in progress.left_out_variants(),
            failed_race=self._failed_race(progress, name),
        )

    def _failed_race(self, progress: ExperimentProgress, name: str) -> str:
        """Returns the last race of a variant that failed if it was stored; otherwise empty text."""
        failed = [progress.race_id(race) for race in progress.failed if race.variant == name]
        last = failed[-1] if failed else ""
        return last if is_race_id(last) and exists(self.races.races / last) else ""

    def _counted(self, progress: ExperimentProgress) -> list[ComparedRace]:
        """Returns the races of the blocks that are not void."""
        races = (
            self._race(progress.race_id(race), progress)
            for race in progress.raced
            if race.block and progress.ends[race.number].verdict != "void"
        )
        return [race for race in races if race is not None]

    def _main(self, progress: ExperimentProgress) -> MetricId | None:
        """Returns the primary metric that stands for the others (`main_metric`)."""
        races = self._counted(progress)
        if not races:
            return None
        metrics = dict.fromkeys(metric for race in races for metric in self.metrics_of(race))
        records = [race.record for race in races]
        first = [variant[0] for variant in by_variant(records)]
        labels, _ = chosen_primary(self.experiment.primary, first, metrics)
        main = main_metric(labels, records, [self.metrics_of(race) for race in races])
        if main is None:
            self._note(without_main_text(labels, records))
        return main

    def _cell_races(self, progress: ExperimentProgress) -> CellRaces:
        """Returns the usable metrics of the races of the blocks, and where in its block each one ran."""
        values: dict[tuple[str, int], Mapping[MetricId, float]] = {}
        ended: dict[str, int] = {}
        for race in progress.plan.races if self.experiment.factors else ():
            end = progress.ends.get(race.number)
            if race.block and end is not None and end.outcome in ("raced", "failed"):
                ended[race.variant] = ended.get(race.variant, 0) + 1
                stored = (
                    self._race(end.race_id, progress)
                    if end.outcome == "raced" and end.verdict != "void"
                    else None
                )
                if stored is not None:
                    values[race.variant, race.block] = usable_metrics(stored.record, self.metrics_of(stored))
        in_plan = progress.places_in_plan()
        places = {(race.variant, race.block): float(in_plan[race.number]) for race in progress.plan.races}
        done, is_end = progress.blocks_done(), not progress.left()
        deciding: Collection[int] = {block for _, block in values} if is_end else done
        return CellRaces(
            values,
            places,
            ended,
            frozenset(progress.left_out_variants()),
            deciding=deciding,
            level=look_level(self.experiment, len(done), is_end=is_end),
        )

    def _suspect_notes(self, progress: ExperimentProgress) -> Iterator[str]:
        """Yields the suspect races of designs without comparisons, whose findings would name them."""
        for race in progress.raced if self.experiment.design in ("noise", "screening") else ():
            end = progress.ends[race.number]
            if end.verdict == "suspect" and race.block:
                stored = self._race(end.race_id, progress)
                reasons = stored.record.verdict.reasons if stored else ()
                yield f"race {end.race_id} is suspect{f': {reasons[0]}' if reasons else ''}"

    def _quality_notes(self) -> Iterator[str]:
        """Yields the directions that are for no metric of any race."""
        metrics = {metric for metrics_of_race in self._metrics.values() for metric in metrics_of_race}
        for direction in unknown_directions(self.experiment.quality, metrics) if metrics else ():
            yield f"no race has the metric '{direction.key}' of quality: {direction}"

    def _noise(self, progress: ExperimentProgress) -> tuple[NoiseValue, ...]:
        if self.experiment.design != "noise":
            return ()
        counted = {race.record.race_id: race.record for race in self._counted(progress)}
        ended = (race for race in progress.plan.races if race.block and race.number in progress.ends)
        return noise_values([counted.get(progress.race_id(race)) for race in ended])


def _repeated_races(progress: ExperimentProgress) -> Iterator[RepeatedRace]:
    planned = {race.number: race for race in progress.plan.races}
    for entry in progress.disturbed:
        race = planned.get(entry.race)
        if race is not None:  # The journal may name any.
            yield RepeatedRace(entry.race_id, race.variant, race.block, entry.text)


def _leading(comparison: Comparison | None) -> MetricComparison | None:
    """Returns the primary metric that stands for the others: throughput before percentiles."""
    metric = leading_metric(compared.metric for compared in comparison.primary) if comparison else None
    return comparison.metric(metric) if comparison and metric else None


def _undecided(comparison: Comparison) -> Comparison:
    """Returns a comparison in which no metric decides."""
    metrics = tuple(replace(metric, role="secondary") for metric in comparison.metrics)
    return replace(comparison, metrics=metrics, answer="no verdict")


def _voided(comparison: Comparison, finding: Finding) -> Comparison:
    """Returns a comparison whose races must not be compared because of a finding."""
    metrics = tuple(
        replace(metric, word="void", change=None, reason="the races must not be compared")
        for metric in comparison.metrics
    )
    findings = (structs.replace(finding, doubtful_from=EVERYTHING), *comparison.findings)
    return replace(comparison, metrics=metrics, findings=findings, answer="void")


def _count(progress: ExperimentProgress, variant: str) -> int:
    return sum(race.variant == variant and race.block > 0 for race in progress.raced)
