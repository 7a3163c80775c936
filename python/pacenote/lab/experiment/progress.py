"""How far an experiment is: what its journal says about the races of its plan; pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import PacenoteError
from pacenote.lab.machine_changes import MAX_CHANGES
from pacenote.lab.planned_record import PlannedRecord, experiment_tags
from pacenote.model.experiment import BEST, COMPARING, Experiment, ExperimentPlan, JournalEntry, PlannedRace

MAX_RACES = 20_000
"""Largest number of races of a plan; a file of an experiment may have 10,000, and some that warm up."""

MAX_RESUMED = 200
"""Largest number of events after which races are repeated: each is looked for among all races."""

_RESUMING = ("repeated", "retried")

MAX_FAILURES = 2
"""Races in a row that a variant may fail before it is left out."""

MAX_LOST_SHARE = 0.2
"""Share of the blocks of a comparison that may be lost: a race failed, is void, or makes a metric void."""


MAX_REPEATED_SHARE = 0.2
"""Share of the races of an experiment that are repeated at most, because they were disturbed from outside; at
least one is.
"""


class BlockRaces(Struct, frozen=True):
    """The races of some variants in the blocks in which all of them have ended."""

    blocks: tuple[tuple[str, ...], ...]
    """The ids of the races of each block in which all have results, in the order of the variants."""

    failed: int
    """Number of the other blocks of which a race failed."""

    void: frozenset[str]
    """Ids of void races, also of other variants."""

    unreadable: int = 0
    """Number of the other blocks with a race that cannot be read, or was deleted."""

    @property
    def count(self) -> int:
        """Number of all blocks."""
        return len(self.blocks) + self.failed + self.unreadable

    @property
    def counted(self) -> tuple[tuple[str, ...], ...]:
        """The blocks in which no race is void."""
        return tuple(block for block in self.blocks if self.void.isdisjoint(block))

    @property
    def void_races(self) -> tuple[str, ...]:
        """Ids of the void races of these blocks."""
        return tuple(race_id for block in self.blocks for race_id in block if race_id in self.void)

    @property
    def is_biased(self) -> bool:
        """Whether so many blocks are lost that those which are left stand for themselves only."""
        return self.count - len(self.counted) > MAX_LOST_SHARE * self.count

    @property
    def spare(self) -> int:
        """Number of blocks that may still be lost for single metrics."""
        return max(0, int(MAX_LOST_SHARE * self.count) - (self.count - len(self.counted)))

    @property
    def lost_text(self) -> str:
        """Why blocks do not count, with the number of them for each reason."""
        voids = len(self.blocks) - len(self.counted)
        reasons = ((self.failed, "failed"), (self.unreadable, "cannot be read"), (voids, "is void"))
        return ", ".join(f"in {count} a race {reason}" for count, reason in reasons if count)

    def without(self, unreadable: Container[str]) -> BlockRaces:
        """Returns the blocks without those with races that cannot be read."""
        kept = tuple(block for block in self.blocks if not any(race_id in unreadable for race_id in block))
        return BlockRaces(kept, self.failed, self.void, len(self.blocks) - len(kept))


class _Dropped(Struct, frozen=True):
    """Which races are not run any more; asked for each race of a plan."""

    variants: Container[tuple[int, str]]
    """Stages and names of variants."""

    stages: Container[int]
    """Stages of which no race is run."""

    def has(self, race: PlannedRace) -> bool:
        """Returns whether a race is one of them."""
        return race.stage in self.stages or (race.stage, race.variant) in self.variants


@dataclass
class ExperimentProgress:
    """The state of an experiment, which each entry of the journal changes."""

    plan: ExperimentPlan
    """The plan."""

    ends: dict[int, JournalEntry] = field(default_factory=dict)
    """How planned races ended, by number; races that were interrupted are not among them."""

    attempts: dict[int, list[str]] = field(default_factory=dict)
    """Ids of the races that were started for a planned race, by number."""

    open_races: dict[int, str] = field(default_factory=dict)
    """Ids of the races that were started and have not ended, by number; several only if they race at the same
    time.
    """

    adopted: dict[int, bool] = field(default_factory=dict)
    """Whether a step of a ladder was adopted, by number of the step."""

    machine_changes: list[str] = field(default_factory=list)
    """What has changed on the machine since the plan was made."""

    stopped: str = ""
    """Why the experiment has ended before all planned races had run; empty if it has not."""

    kills: dict[int, int] = field(default_factory=dict)
    """How often the process of a planned race was killed, by number."""

    disturbed: list[JournalEntry] = field(default_factory=list)
    """The ends of races that were disturbed from outside, and repeated."""

    resumed: int = 0
    """Number of events after which races are repeated."""

    race_seconds: float = 0.0
    """Seconds of all races that have ended, also of those that are repeated."""

    _repeats: dict[int, int] = field(default_factory=dict)
    """How often planned races were repeated within their block, because they were disturbed."""

    _started: dict[str, JournalEntry] = field(default_factory=dict)
    """The entry with which each race began, by its id."""

    _forgiven: set[int] = field(default_factory=set)
    """Numbers of failed races whose variants are raced again."""

    @classmethod
    def of(cls, plan: ExperimentPlan, journal: Iterable[JournalEntry]) -> ExperimentProgress:
        """Returns the state after these entries. Raises PacenoteError if no experiment has them."""
        if len(plan.races) > MAX_RACES:
            raise PacenoteError(f"the plan of {plan.experiment_id} has more than {MAX_RACES:,} races")
        progress = cls(plan)
        for entry in journal:
            if problem := progress.problem(entry):
                raise PacenoteError(f"the journal of {plan.experiment_id} {problem}")
            # Earlier versions then raced blocks again of an experiment that had ended: its answer had been
            # given, and what follows does not change it.
            if entry.event == "repeated" and entry.text:
                break
            progress.apply(entry)
        return progress

    def problem(self, entry: JournalEntry) -> str:
        """Returns why a journal cannot have an entry after those so far; empty if it can. What is written and
        what is read have the same limits.
        """
        if self.resumed >= MAX_RESUMED and entry.event in _RESUMING:
            return f"repeats races more than {MAX_RESUMED} times"
        return ""

    def apply(self, entry: JournalEntry) -> None:
        """Changes the state according to an entry."""
        self.resumed += entry.event in _RESUMING
        if entry.event == "started":
            self.attempts.setdefault(entry.race, []).append(entry.race_id)
            self.open_races[entry.race] = entry.race_id
            self._started[entry.race_id] = entry
        elif entry.event == "ended":
            self.open_races.pop(entry.race, None)
            self.race_seconds += entry.seconds
            if entry.outcome == "killed":
                self.kills[entry.race] = self.kills.get(entry.race, 0) + 1
            elif entry.outcome == "disturbed":
                self.disturbed.append(entry)
                self._repeats[entry.race] = self._repeats.get(entry.race, 0) + 1
            elif entry.outcome != "interrupted":
                self.ends[entry.race] = entry
        elif entry.event == "adopted":
            self.adopted[entry.stage] = entry.adopted
        elif entry.event == "machine":
            is_new = len(self.machine_changes) < MAX_CHANGES and entry.text not in self.machine_changes
            self.machine_changes += [entry.text] if is_new else []
        elif entry.event == "repeated":
            self._repeat(entry)
        elif entry.event == "retried":
            self._retry(entry)
        else:
            self.stopped = entry.text

    def _repeat(self, entry: JournalEntry) -> None:
        """Races a block again that had not ended."""
        for race in self.plan.block(entry.block):
            self.ends.pop(race.number, None)
            self.kills.pop(race.number, None)
            self._repeats.pop(race.number, None)
            self._forgiven.discard(race.number)

    def _retry(self, entry: JournalEntry) -> None:
        """Races variants again that were left out, from the next block on: a block keeps what it has, because
        a race of another day is no neighbour of its others.
        """
        dropped = self._dropped()
        begun = {race.block for race in self.plan.races if race.number in self.ends}
        for race in self.plan.races:
            is_past = race.block in begun or race.stage in self.adopted
            if race.number not in self.ends and is_past and dropped.has(race):
                self.ends[race.number] = replace(entry, event="ended", race=race.number, outcome="skipped")
        self._forgiven.update(race.number for race in self.failed)
        self.stopped = ""

    @property
    def adopted_steps(self) -> frozenset[int]:
        """The steps of a ladder that were adopted so far."""
        return frozenset(stage for stage, adopted in self.adopted.items() if adopted)

    @property
    def raced(self) -> tuple[PlannedRace, ...]:
        """The races that have results."""
        return tuple(race for race in self.plan.races if self._has(race, "raced"))

    @property
    def failed(self) -> tuple[PlannedRace, ...]:
        """The races that could not run."""
        return tuple(race for race in self.plan.races if self._has(race, "failed"))

    @property
    def seconds(self) -> float:
        """Seconds that the experiment has taken, with the waits before its races."""
        waits = (self._wait_s(number) * len(race_ids) for number, race_ids in self.attempts.items())
        return self.race_seconds + sum(waits)

    def _wait_s(self, number: int) -> float:
        """Returns the seconds of the wait before a race; both races of a duet share theirs."""
        return self.plan.cool_down_s / (2 if number in self._duet_races else 1)

    @cached_property
    def _duet_races(self) -> frozenset[int]:
        """The numbers of the races that run at the same time as the other one of their block."""
        return frozenset(race.number for race in self.plan.races if race.half)

    @property
    def seconds_per_race(self) -> float | None:
        """Mean seconds of a planned race with results and of the wait before it, with the races that it
        repeats because they were disturbed; None if there is none.
        """
        if not (raced := self.raced):
            return None
        counted = [*((race.number, self.ends[race.number]) for race in raced)]
        counted += [(end.race, end) for end in self.disturbed]
        return sum(end.seconds + self._wait_s(number) for number, end in counted) / len(raced)

    def may_be_repeated(self, race: PlannedRace) -> bool:
        """Returns whether a race that was disturbed from outside is repeated: each one at most once, and not
        more of them than `max_repeats`. What warms up is not.
        """
        is_new = all(entry.race != race.number for entry in self.disturbed)
        return bool(race.block) and is_new and len(self.disturbed) < max_repeats(self.plan.races)

    def disturbed_race(self, race: PlannedRace) -> str:
        """Returns the id of the disturbed race that a race repeats; empty if it repeats none."""
        return next((entry.race_id for entry in self.disturbed if entry.race == race.number), "")

    def race_id(self, race: PlannedRace) -> str:
        """Returns the id of a planned race that has ended."""
        return self.ends[race.number].race_id

    def planned_record(self, race_id: str) -> PlannedRecord | None:
        """Returns what the record of a race states; None for one of which no journal says that it began."""
        started = self._started.get(race_id)
        race = self._by_number.get(started.race) if started is not None else None
        if started is None or race is None:
            return None
        return PlannedRecord(race.seed, experiment_tags(self.plan.experiment_id, race), started.at)

    @cached_property
    def _by_number(self) -> Mapping[int, PlannedRace]:
        return {race.number: race for race in self.plan.races}

    def left(self) -> tuple[PlannedRace, ...]:
        """Returns the races that are still to run, in their order."""
        if self.stopped:
            return ()
        dropped = self._dropped()
        return tuple(
            race for race in self.plan.races if race.number not in self.ends and not dropped.has(race)
        )

    def next_races(self) -> tuple[PlannedRace, ...]:
        """Returns the race that is next, or both that are if they race at the same time; empty at the end."""
        left = self.left()
        return tuple(race for race in left if race.half and race.block == left[0].block) or left[:1]

    def is_left_out(self, race: PlannedRace) -> bool:
        """Returns whether the variant of a race failed so often that it is not raced any more."""
        return (race.stage, race.variant) in self._left_out()

    def left_out_variants(self) -> tuple[str, ...]:
        """Returns the names of the variants that are not raced any more."""
        return tuple(dict.fromkeys(variant for _, variant in self._left_out()))

    def failure(self, variant: str) -> str:
        """Returns why the last race of a variant failed; empty if none failed."""
        return next(
            (self.ends[race.number].text for race in reversed(self.failed) if race.variant == variant), ""
        )

    def ran(self, block: int) -> tuple[str, ...]:
        """Returns the variants of the races of a block that have run, in their order."""
        ended = (race for race in self.blocks[block] if race.number in self.ends)
        return tuple(race.variant for race in ended if not self._has(race, "skipped"))

    def blocks_done(self, stage: int | None = 1) -> tuple[int, ...]:
        """Returns the blocks of a stage, or of all, in which every variant that is not left out has ended."""
        dropped = self._dropped()
        return tuple(
            number
            for number, races in self.blocks.items()
            if stage in (None, races[0].stage)
            and all(race.number in self.ends or dropped.has(race) for race in races)
        )

    def _dropped(self) -> _Dropped:
        """Returns which races are not run any more: those of a variant that is left out, and of the other one
        of the same step of a ladder; if no step was adopted, those of the last one, whose best is the start.
        """
        out = self._left_out()
        stages = {stage for stage, name in out if name in self._ladder.get(stage, ())}
        last = max(self._ladder, default=0)
        if last > 1 and len(self.adopted) == last - 1 and not self.adopted_steps:
            stages.add(last)
        return _Dropped(out, stages)

    @cached_property
    def _ladder(self) -> Mapping[int, frozenset[str]]:
        """The two variants of each step of a ladder, and last the start and the best."""
        variants: dict[int, set[str]] = {}
        for race in self.plan.races:
            if race.block:
                variants.setdefault(race.stage, set()).add(race.variant)
        return {stage: frozenset(names) for stage, names in variants.items() if BEST in names}

    def _left_out(self) -> Mapping[tuple[int, str], None]:
        """Returns the stages and names of the variants that are not raced any more, in their order."""
        outcomes: dict[tuple[int, str], list[bool]] = {}
        for race in self.plan.races:
            end = self.ends.get(race.number)
            # A race that warms up and fails may only have been too early.
            if race.block and end is not None and race.number not in self._forgiven:
                outcomes.setdefault((race.stage, race.variant), []).append(end.outcome == "failed")
        return {
            key: None
            for key, failed in outcomes.items()
            if len(failed) >= MAX_FAILURES and all(failed[-MAX_FAILURES:])
        }

    @cached_property
    def blocks(self) -> Mapping[int, list[PlannedRace]]:
        """The races of each block."""
        races_by_block: dict[int, list[PlannedRace]] = {}
        for race in self.plan.races:
            if race.block:
                races_by_block.setdefault(race.block, []).append(race)
        return races_by_block

    def places(self) -> Mapping[str, int]:
        """Returns the place of each race among those of its block that ran, also of those that are repeated,
        by its id.
        """
        ran = {race.number for race in (*self.raced, *self.failed)}
        places = {}
        for races in self.blocks.values():
            place = 0
            for race in (race for race in races if race.number in ran):
                # Both races of a duet are repeated at the same time: their places are halves of the machine.
                place += 0 if race.half else self._repeats.get(race.number, 0)
                places[self.race_id(race)] = place
                place += 1
        return places

    def places_in_plan(self) -> Mapping[int, int]:
        """Returns the place of each planned race among all that run, also of those that are repeated in their
        block, by its number.
        """
        places, repeats = {}, 0
        for race in self.plan.races:
            repeats += self._repeats.get(race.number, 0)
            places[race.number] = race.number + repeats
        return places

    def block_races(self, variants: Sequence[str], stage: int = 1) -> BlockRaces:
        """Returns the races of these variants in the blocks of a stage that have ended, and how many blocks
        have a race that failed: after it, the others of its block may never run.
        """
        blocks, failed, done = [], 0, frozenset(self.blocks_done(stage))
        for number, races in self.blocks.items():
            of_variant = {race.variant: race for race in races if race.stage == stage}
            races_of_block = [of_variant[name] for name in variants if name in of_variant]
            if any(self._has(race, "failed") for race in races_of_block):
                failed += 1
            elif number in done and all(self._has(race, "raced") for race in races_of_block):
                blocks.append(tuple(map(self.race_id, races_of_block)))
        void = frozenset(end.race_id for end in self.ends.values() if end.verdict == "void")
        return BlockRaces(tuple(blocks), failed, void)

    def _has(self, race: PlannedRace, outcome: str) -> bool:
        end = self.ends.get(race.number)
        return end is not None and end.outcome == outcome


def max_repeats(races: Iterable[PlannedRace]) -> int:
    """Returns how many of the races of a plan are repeated at most, because they were disturbed."""
    return max(1, int(MAX_REPEATED_SHARE * sum(race.block > 0 for race in races)))


def is_retried(experiment: Experiment, progress: ExperimentProgress) -> bool:
    """Returns whether an experiment that goes on tries variants again that were left out."""
    out = progress.left_out_variants()
    return bool(out) and bool(progress.left() or hopeless(experiment, progress))


def baseline_name(experiment: Experiment, plan: ExperimentPlan) -> str:
    """Returns the name of the variant that the others are compared with."""
    if experiment.design == "ladder":
        return BEST
    if experiment.variants:
        return experiment.variants[0].name
    # The order of the plan is random, but the first levels of all factors are the baseline.
    levels = [factor.levels[0].name for factor in experiment.factors]
    return "+".join(levels) if levels else plan.races[0].variant


def hopeless(experiment: Experiment, progress: ExperimentProgress) -> str:
    """Returns why no further race can answer the question because of what cannot be raced, or empty text."""
    out = progress.left_out_variants()
    # The best of a ladder is no variant, so that a report has no other place for its failure.
    failures = ", ".join(f"{name} ({progress.failure(name)})" if name == BEST else name for name in out)
    design, names = experiment.design, {race.variant for race in progress.plan.races}
    if design in COMPARING and baseline_name(experiment, progress.plan) in out:
        return f"the baseline cannot be raced: {failures}"
    if design != "ladder" and len(names.difference(out)) < (1 if design == "noise" else 2):
        return f"too few variants can be raced: {failures}"
    if design == "screening" and set(out).difference(race.variant for race in progress.raced):
        return f"the effects need all combinations: {failures}"
    return ""
