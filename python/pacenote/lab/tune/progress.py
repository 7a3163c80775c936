"""How far a search is: what its journal says about its candidates and their races; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from pacenote.errors import PacenoteError
from pacenote.lab.machine_changes import MAX_CHANGES
from pacenote.model.tune import DEFAULT, Candidate, Drop, TuneEvent, TunePlan
from pacenote.stats.successive_racing import CandidateMeans, RacedValue, candidate_means

MAX_EVENTS = 10_000
"""Largest number of events of a journal: a search has at most some thousand races."""

MOST_BLOCKS, MOST_CANDIDATES = 200, 1_000
"""Largest numbers of blocks and candidates of a journal: the work of an estimate grows with their cube."""

REPEATED_SHARE = 5
"""One of so many races is repeated at most, because it was disturbed from outside; at least one."""

MAX_FAILURES = 2
"""Races that a candidate may lose because they are void, and races in a row that may fail."""


@dataclass
class TuneProgress:
    """The state of a search, which each event changes."""

    plan: TunePlan
    """The plan."""

    candidates: dict[int, Candidate] = field(default_factory=dict)
    """All candidates so far, by number."""

    suggested_after: int = -1
    """The block after which candidates were suggested last; -1 if none were."""

    dropped: dict[int, Drop] = field(default_factory=dict)
    """The candidates that do not race any more, by number."""

    ends: list[TuneEvent] = field(default_factory=list)
    """The races that have ended, without those that were interrupted, killed or disturbed, and are
    repeated.
    """

    disturbed: list[TuneEvent] = field(default_factory=list)
    """The races that were disturbed from outside, and are repeated at their places."""

    started: int = 0
    """Number of races that were started."""

    seconds: float = 0.0
    """Seconds of all races, also of those that are repeated."""

    kills: dict[tuple[int, int], int] = field(default_factory=dict)
    """How often the process of a race was killed, by candidate and block, since one ended."""

    machine_changes: list[str] = field(default_factory=list)
    """What has changed on the machine since the search began."""

    open_race: TuneEvent | None = None
    """The race that was started last and has not ended."""

    judged: int = 0
    """The last block after which it was decided which candidates drop out."""

    chosen: TuneEvent | None = None
    """The end of the search, with its winner; None before."""

    confirmation: str = ""
    """The id of the experiment that confirms the winner; empty before it began."""

    earlier_confirmations: list[TuneEvent] = field(default_factory=list)
    """Confirmations that gave no answer, so that another one began, each with the reason."""

    stopped: str = ""
    """Why the search cannot go on; empty if it can."""

    budget_s: float = 0.0
    """Seconds for all races: those of the plan, unless the user has given others since."""

    events: int = 0
    """Number of all events."""

    _blocks: set[int] = field(default_factory=set)
    """The blocks that events belong to."""

    _forgiven: int = 0
    """Number of the races that ended before the user resumed a search that could not go on."""

    def __post_init__(self) -> None:
        self.budget_s = self.budget_s or self.plan.budget_s

    @classmethod
    def of(cls, plan: TunePlan, journal: Iterable[TuneEvent]) -> TuneProgress:
        """Returns the state after these events. Raises PacenoteError if no search has them."""
        progress = cls(plan)
        for event in journal:
            if problem := progress.problem(event):
                raise PacenoteError(f"event {progress.events + 1} of the journal of {plan.tune_id} {problem}")
            progress.apply(event)
        return progress

    def problem(self, event: TuneEvent) -> str:
        """Returns why a journal cannot have an event after those so far; empty if it can. What is written and
        what is read have the same limits.
        """
        is_too_long = self.events >= MAX_EVENTS or len(self._blocks | {event.block}) > MOST_BLOCKS
        if is_too_long or len(self.candidates) + len(event.candidates) > MOST_CANDIDATES:
            return "is one of more races, blocks or candidates than a search has"
        for candidate in event.candidates:
            levels = zip(candidate.levels, self.plan.knobs, strict=False)
            if len(candidate.levels) != len(self.plan.knobs) or not all(
                0 <= level < len(knob.levels) for level, knob in levels
            ):
                return f"has the candidate {candidate.number} with levels that the knobs do not have"
        if event.event == "chosen" and event.candidate not in self.candidates:
            return f"chooses the unknown candidate {event.candidate}"
        if (
            event.event == "ended"
            and event.objective is not None
            and (len(event.limits) != len(self.plan.constraints))
        ):
            return "does not have a value for each limit"
        return ""

    def apply(self, event: TuneEvent) -> None:
        """Changes the state according to an event."""
        self.events += 1
        self._blocks.add(event.block)
        if event.event == "suggested":
            self.candidates |= {candidate.number: candidate for candidate in event.candidates}
            self.suggested_after = event.block
        elif event.event == "started":
            self.started += 1
            self.open_race = event
        elif event.event == "ended":
            self._end(event)
        elif event.event == "judged":
            self.judged = event.block
        elif event.event == "chosen":
            self.chosen = event
        elif event.event == "confirming":
            self.confirmation = event.experiment_id
        elif event.event == "repeated":
            self._forgiven -= sum(end.block == event.block for end in self.ends[: self._forgiven])
            self.ends = [end for end in self.ends if end.block != event.block]
        elif event.event == "machine":
            is_new = len(self.machine_changes) < MAX_CHANGES and event.text not in self.machine_changes
            self.machine_changes += [event.text] if is_new else []
        elif event.event == "retried":
            self.stopped, self._forgiven = "", len(self.ends)
            if event.experiment_id:
                self.earlier_confirmations.append(event)
                self.confirmation = ""
            self.budget_s = self.budget_s if event.budget_s is None else event.budget_s
        else:
            self.stopped = event.text
        self.dropped |= {drop.candidate: drop for drop in event.dropped}

    def _end(self, event: TuneEvent) -> None:
        self.open_race = None
        self.seconds += event.seconds
        key = (event.candidate, event.block)
        if event.outcome == "killed":
            self.kills[key] = self.kills.get(key, 0) + 1
        elif event.outcome != "interrupted":
            self.kills.pop(key, None)
            (self.disturbed if event.outcome == "disturbed" else self.ends).append(event)

    @property
    def active(self) -> tuple[int, ...]:
        """The numbers of the candidates that still race."""
        return tuple(number for number in sorted(self.candidates) if number not in self.dropped)

    def seconds_of(self, candidate: int) -> float:
        """Returns the mean seconds of a candidate's races, or those of all races if it has none. Before the
        first block, the last race of the default counts: the first one may have installed the engine.
        """
        raced = [end for end in self.ends if end.outcome == "raced"]
        raced = [end for end in raced if end.block] or raced[-1:]
        own_races = [end.seconds for end in raced if end.candidate == candidate]
        return fmean(own_races or [end.seconds for end in raced] or [0.0])

    def has_raced(self, candidate: int, block: int) -> bool:
        """Returns whether the race of a candidate in a block has ended."""
        return any(end.candidate == candidate and end.block == block for end in self.ends)

    def may_be_repeated(self, candidate: int, block: int) -> bool:
        """Returns whether the race of a candidate in a block is repeated if it was disturbed from outside: at
        most once, and not more than a share of all races. What warms up is not.
        """
        most = max(1, len(self.ends) // REPEATED_SHARE)
        return bool(block) and not self.disturbed_race(candidate, block) and len(self.disturbed) < most

    def disturbed_race(self, candidate: int, block: int) -> str:
        """Returns the id of the disturbed race that a race repeats; empty if it repeats none."""
        same = (end.race_id for end in self.disturbed if (end.candidate, end.block) == (candidate, block))
        return next(same, "")

    def valid_ends(self, candidate: int | None = None) -> list[TuneEvent]:
        """Returns the races of blocks that count, of one candidate or of all."""
        return [
            end
            for end in self.ends
            if end.block and end.objective is not None and candidate in (None, end.candidate)
        ]

    def means(self) -> CandidateMeans:
        """Returns what each candidate reached."""
        # The drift of the machine went on during races that were repeated.
        position = {
            id(end): at + sum(disturbed_race.race < end.race for disturbed_race in self.disturbed)
            for at, end in enumerate(self.ends)
        }
        values = [
            RacedValue(end.candidate, end.block, position[id(end)], end.objective)
            for end in self.valid_ends()
            if end.objective is not None and end.objective > 0
        ]
        return candidate_means(values, higher_is_better=self.plan.objective.higher_is_better)

    def limit_values(self, candidate: int, at: int) -> list[float]:
        """Returns the values of the metric of a constraint in the races of a candidate that count."""
        return [end.limits[at] for end in self.valid_ends(candidate)]

    def limit_operations(self, candidate: int, at: int) -> list[int]:
        """Returns the numbers of measured operations behind `limit_values`; empty if one is not known."""
        ends = self.valid_ends(candidate)
        return [end.operations[at] for end in ends] if all(len(end.operations) > at for end in ends) else []

    def lost_races(self) -> int:
        """Returns how many races of the default were lost since the last one that counts, and since the user
        resumed the search nevertheless.
        """
        lost = 0
        for end in (end for end in self.ends[self._forgiven :] if end.candidate == DEFAULT):
            lost = 0 if end.objective is not None else lost + 1
        return lost
