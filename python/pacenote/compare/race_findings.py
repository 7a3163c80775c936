"""What the races of a comparison say about themselves: that they did not finish, and their verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec.structs import replace

from pacenote.compare.pairing import PairedRaces
from pacenote.compare.task_validity import MAX_ERROR_RATE
from pacenote.model.alike_findings import IN_RACES, Shape, in_one, shape
from pacenote.model.comparison import ComparedRace, ComparisonOptions, MetricId
from pacenote.model.finding import EVERYTHING, Finding, first_doubtful, name_tasks
from pacenote.model.race_record import RaceRecord

_SHOWN_RACES = 3
"""Maximum number of races that a finding names."""


def race_findings(races: PairedRaces, options: ComparisonOptions) -> Iterator[Finding]:
    """Yields the reasons of races that are unfinished, void or suspect, once each."""
    yield from _unusable(races, options)
    if count := sum(race.record.options.test_mode for race in races.all):
        text = f"{count_text(count, races.all)} ran in test mode, which does not measure"
        yield Finding(text, "user", "omit --test-mode", doubtful_from=EVERYTHING)
    yield from _suspect(races, options)


def voids(finding: Finding, metric: MetricId) -> bool:
    """Returns whether a finding makes a metric void."""
    if finding.doubtful_from is None or (finding.tasks and metric.task not in finding.tasks):
        return False
    return finding.doubtful_from == EVERYTHING or metric.q >= finding.doubtful_from


def is_disturbed(record: RaceRecord, metric: MetricId) -> bool:
    """Returns whether the verdict of a race, or test mode, makes a metric void. `RaceDoubts` says so of many
    metrics.
    """
    if record.verdict.state != "suspect":
        return record.verdict.state == "void" or record.options.test_mode
    return RaceDoubts(record).is_disturbed(metric)


class RaceDoubts:
    """Which metrics a race alone makes void. Its tasks are looked up, because it may have thousands."""

    def __init__(self, record: RaceRecord) -> None:
        self._is_void = record.verdict.state == "void" or record.options.test_mode
        findings = record.verdict.findings if record.verdict.state == "suspect" else ()
        self._error_rates: dict[str, float] = {}
        for task in record.tasks:
            known = self._error_rates.get(task.task, 0.0)
            self._error_rates[task.task] = max(known, task.error_rate or 0.0)
        self._of_all: list[Finding] = []
        self._of_task: dict[str, list[Finding]] = {}
        for finding in (_of_known_tasks(each, self._error_rates.keys()) for each in findings):
            if not finding.tasks:
                self._of_all.append(finding)
            for name in dict.fromkeys(finding.tasks):
                self._of_task.setdefault(name, []).append(replace(finding, tasks=()))

    def is_disturbed(self, metric: MetricId) -> bool:
        """Returns whether the verdict of the race, or test mode, makes a metric void."""
        findings = (*self._of_all, *self._of_task.get(metric.task, ()))
        return self._is_void or any(voids(finding, metric) for finding in findings)

    def is_doubtful(self, metric: MetricId) -> bool:
        """Returns whether that is so, or whether too many of its operations failed."""
        return self.is_disturbed(metric) or self._error_rates.get(metric.task, 0.0) > MAX_ERROR_RATE


def names_text(races: Sequence[ComparedRace], options: ComparisonOptions) -> str:
    """Returns the names of races, of which the first three are listed."""
    shown = [options.name(race.record.race_id) for race in races[:_SHOWN_RACES]]
    more = len(races) - _SHOWN_RACES
    return listed([*shown, f"{more} more"] if more > 0 else shown)


def listed(names: Sequence[str]) -> str:
    """Returns names in one phrase: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def count_text(count: int, races: Sequence[ComparedRace]) -> str:
    """Returns a number of races: `2 of 6 races`, or `all 6 races`."""
    if count == len(races):
        return "both races" if count == 2 else f"all {count} races"
    return f"{count} of {len(races)} races"


def _unusable(races: PairedRaces, options: ComparisonOptions) -> Iterator[Finding]:
    running = [race for race in races.all if race.state == "running"]
    killed = [race for race in races.all if race.state == "killed"]
    for unfinished, singular, plural, advice in (
        (running, "is still running", "are still running", "wait for it"),
        (killed, "ended without finishing", "ended without finishing", "leave it out, or repeat it"),
    ):
        if unfinished:
            yield _of_races(unfinished, options, (singular, plural), advice)
    alike: dict[Shape, list[tuple[ComparedRace, str]]] = {}
    for race in races.all:
        if race.record.verdict.state == "void" and race.state not in ("running", "killed"):
            reason = next(iter(race.record.verdict.reasons), "no reason is stored")
            alike.setdefault(shape(reason), []).append((race, reason))
    for both in alike.values():
        reason = in_one([reason for _, reason in both])
        texts = (f"is void: {reason}", f"are void: {reason}")
        yield _of_races([race for race, _ in both], options, texts, "leave it out, or repeat it")


def _of_races(
    races: Sequence[ComparedRace], options: ComparisonOptions, texts: tuple[str, str], advice: str
) -> Finding:
    """Returns a finding with the singular or the plural of a text, which makes everything void."""
    is_one = len(races) == 1
    text = f"{'race' if is_one else 'races'} {names_text(races, options)} {texts[0 if is_one else 1]}"
    advice = advice if is_one else re.sub(r"\bit\b", "them", advice)
    return Finding(text, "unknown", advice, doubtful_from=EVERYTHING)


def _suspect(races: PairedRaces, options: ComparisonOptions) -> Iterator[Finding]:
    groups: dict[tuple[Shape, bool, bool], list[tuple[ComparedRace, Finding]]] = {}
    for race in races.all:
        if race.record.verdict.state == "suspect":
            of_race = {task.task for task in race.record.tasks}
            for finding in race.record.verdict.findings:
                if not finding.text.startswith("test mode"):
                    known = _of_known_tasks(finding, of_race)
                    groups.setdefault(_alike(known), []).append((race, known))
    for (_, _, is_everything), alike in groups.items():
        union = tuple(dict.fromkeys(task for _, each in alike for task in each.tasks))
        for tasks in [union] if is_everything or not union else _by_doubt(alike):
            concerning = [(race, each) for race, each in alike if not tasks or set(tasks) & set(each.tasks)]
            doubts = [each.doubtful_from for _, each in concerning if each.doubtful_from is not None]
            where = _where([race for race, _ in concerning], races, options)
            text = f"{in_one([each.text for _, each in concerning])}{IN_RACES}{where})"
            yield replace(alike[0][1], text=text, tasks=tasks, doubtful_from=min(doubts, default=None))


def _alike(finding: Finding) -> tuple[Shape, bool, bool]:
    """Returns what findings share that are one: their sentence, and whether they make tasks or the race
    doubtful as a whole. They may name different tasks, as races seldom name the same.
    """
    return shape(finding.text), bool(finding.tasks), finding.doubtful_from == EVERYTHING


def _by_doubt(alike: Sequence[tuple[ComparedRace, Finding]]) -> Iterable[tuple[str, ...]]:
    """Returns the tasks of findings, those together of which the same figures are doubtful in any race."""
    doubts: dict[str, list[float]] = {}
    for _, finding in alike:
        for task in finding.tasks:
            own = doubts.setdefault(task, [])
            own += [] if finding.doubtful_from is None else [first_doubtful(finding.doubtful_from)]
    groups: dict[float | None, list[str]] = {}
    for task, own in doubts.items():
        groups.setdefault(min(own, default=None), []).append(task)
    return map(tuple, groups.values())


def _where(affected: Sequence[ComparedRace], races: PairedRaces, options: ComparisonOptions) -> str:
    own = list({race.key: race for race in affected}.values())
    count = count_text(len(own), races.all)
    return (
        f"{count}: {names_text(own, options)}" if len(own) <= min(_SHOWN_RACES, len(races.all) - 1) else count
    )


def _of_known_tasks(finding: Finding, tasks: Set[str]) -> Finding:
    """Returns a finding that concerns the whole race if it makes something doubtful, but names what is not a
    task of the race: older races name a step with several tasks.
    """
    if not finding.makes_doubtful or tasks >= set(finding.tasks):
        return finding
    return replace(finding, text=f"{name_tasks(finding.tasks)}: {finding.text}", tasks=())
