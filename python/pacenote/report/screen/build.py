"""Converts a race record to its last screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field, structs

from pacenote.model.diagnosis import Diagnosis, RuleAnswer, TaskTime
from pacenote.model.driver_facts import number
from pacenote.model.finding import Finding, name_tasks
from pacenote.model.headline import headline
from pacenote.model.imported import UNSTATED_TIME, ImportedResults
from pacenote.model.printable import single_line, whole_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import RaceState
from pacenote.model.result import TaskResult
from pacenote.model.shell_command import shell_command
from pacenote.model.task_kinds import reported_tasks, runs_once
from pacenote.report.diagnosis import bound_clause, doubted_findings
from pacenote.report.notes import printable_finding
from pacenote.report.profile import profile_paragraph
from pacenote.report.race_evidence import RaceEvidence
from pacenote.report.returned_numbers import returned_numbers
from pacenote.report.screen import imported as imported_screen
from pacenote.report.screen.answers import answers
from pacenote.report.screen.engine import engine_paragraph
from pacenote.report.screen.screen import Command, Headline, Limit, Paragraph, Screen, StoredRace
from pacenote.report.screen.setup import setup_paragraph
from pacenote.report.screen.task_tables import COLUMNS, footnotes, race_notes, task_tables
from pacenote.report.summary import build_report
from pacenote.units import format_change, format_count, format_seconds, format_share

_MAIN_SHARES = 3
"""Number of uses of the cores that are named."""

_FINDINGS = 2
"""Number of findings that are shown."""

_MAX_ERRORS = 3
"""Maximum number of kinds of errors."""


class RaceLocation(Struct, frozen=True):
    """Where a race is stored, as shown to the user, and its state."""

    folder: str
    """Path of its folder."""

    short_id: str
    """The shortest text that commands accept as its id."""

    state: RaceState
    """Whether the race is still running, or how it ended."""

    program: str = "pacenote"
    """What the user enters to start Pacenote."""


def build_screen(record: RaceRecord, location: RaceLocation, evidence: RaceEvidence | None = None) -> Screen:
    """Returns the last screen of a race, which may have been interrupted or may still be running. Without
    evidence, it has only what the record has.
    """
    evidence = evidence or RaceEvidence()
    reported, timeline = reported_tasks(record), evidence.observed.timeline
    if record.imported is not None:
        return _imported_screen(record, record.imported, location)
    engine = engine_paragraph(record, evidence.observed)
    paragraphs = (
        _other_tasks(reported),
        engine,
        profile_paragraph(evidence.profiles),
        setup_paragraph(record),
    )
    return Screen(
        headline=_headline(record, location.state),
        answers=answers(record, reported),
        findings=_findings(record, reported),
        errors=error_lines(record.tasks),
        limits=limit_lines(evidence.diagnosis),
        columns=COLUMNS,
        tables=task_tables(record, reported, timeline),
        footnotes=(
            *returned_numbers(record, reported),
            *footnotes(record, reported, timeline),
            *race_notes(record),
        ),
        paragraphs=tuple(paragraph for paragraph in paragraphs if paragraph.groups),
        results=stored_race(record, location),
        commands=tuple(
            _commands(record, location, has_findings=bool(evidence.diagnosis and evidence.diagnosis.findings))
        ),
        summary=_summary(record, location.state),
    )


def _imported_screen(record: RaceRecord, imported: ImportedResults, location: RaceLocation) -> Screen:
    return Screen(
        headline=_headline(record, location.state),
        answers=imported_screen.imported_answers(imported),
        findings=_findings(record, ()),
        errors=(),
        columns=imported_screen.COLUMNS,
        tables=imported_screen.imported_tables(record, imported),
        footnotes=(imported_screen.FOOTNOTE,),
        paragraphs=imported_screen.imported_paragraphs(record, imported),
        results=stored_race(record, location),
        commands=tuple(_commands(record, location)),
        summary=_summary(record, location.state),
    )


def stored_race(record: RaceRecord, location: RaceLocation) -> StoredRace:
    """Returns where to find a race."""
    is_known = record.imported is None or UNSTATED_TIME not in record.imported.unstated
    verb = "started" if is_known else "imported"
    started = f"id {location.short_id}, {verb} {record.timestamp:%Y-%m-%d %H:%M} UTC"
    return StoredRace(location.folder, started)


def saturation_commands(location: RaceLocation) -> tuple[Command, ...]:
    """Returns the commands that the user may enter after a saturation."""
    return (
        Command(
            f"{location.program} {shell_command('report', location.short_id)} --report-format=markdown",
            "all digits and reasons",
        ),
        _list_races(location),
    )


def _list_races(location: RaceLocation) -> Command:
    return Command(f"{location.program} list races", "this race among the others")


def _headline(record: RaceRecord, state: RaceState) -> Headline:
    cluster = record.cluster
    name = cluster.title or f"{cluster.distribution} {cluster.version or ''}"
    engine = f" on {name}" if cluster.distribution else ""
    race = " / ".join(name for name in (record.track.name, record.challenge) if name) + engine
    wall_s = number(record.driver, "wall_s")
    took = f"measured in {format_seconds(round(wall_s))}" if wall_s >= 0.5 else ""
    badge = record.verdict.state if state == "complete" else state
    return Headline(record.verdict.state, badge, single_line(race), took)


def _summary(record: RaceRecord, state: RaceState) -> str:
    """Returns the verdict, the main figure, the errors, and how many tasks the reasons concern."""
    errors = next((answer.text for answer in answers(record, ()) if answer.label == "Errors"), "")
    affected = {name for finding in record.verdict.findings for name in finding.tasks}
    of_all = len(affected & {task.task for task in record.tasks})
    parts = (
        (record.verdict.state if state == "complete" else state).upper(),
        headline(record),
        "" if not errors else "0 errors" if errors == "0" else f"errors: {errors}",
        f"{of_all} of {format_count(len(record.tasks), 'task')} affected" if of_all else "",
    )
    return single_line(" · ".join(part for part in parts if part))


def _findings(record: RaceRecord, reported: Sequence[TaskResult]) -> tuple[Finding, ...]:
    """Returns the reasons of the verdict, in which tasks that no table shows are called administrative."""
    hidden = {task.task for task in record.tasks} - {task.task for task in reported}
    return tuple(
        printable_finding(
            structs.replace(
                finding,
                tasks=tuple(f"{name} (administrative)" if name in hidden else name for name in finding.tasks),
            )
        )
        for finding in record.verdict.findings
    )


def _other_tasks(reported: Sequence[TaskResult]) -> Paragraph:
    """Returns the tasks of which only the duration is of interest."""
    phrases = tuple(
        f"{single_line(task.task)} {format_seconds(task.duration_s)}" for task in reported if runs_once(task)
    )
    return Paragraph("Other", (phrases,) if phrases else ())


def _commands(record: RaceRecord, location: RaceLocation, *, has_findings: bool = False) -> Iterator[Command]:
    report = build_report(record)
    if report.rows:
        figures = format_count(len(report.rows), "figure")
        yield Command(
            f"{location.program} {shell_command('report', location.short_id)} --full",
            f"all {figures} and all notes",
        )
    if has_findings:
        yield Command(
            f"{location.program} {shell_command('diagnose', location.short_id)}",
            "what limited it, with evidence",
        )
    yield _list_races(location)


class _Kind(Struct):
    """Errors with the same label and noun."""

    reason: str
    count: int = 0
    tasks: dict[str, None] = field(default_factory=dict)


def error_lines(tasks: Sequence[TaskResult]) -> tuple[str, ...]:
    """Returns one line for each of the most frequent kinds of errors, with an example."""
    kinds: dict[tuple[str, str], _Kind] = {}
    for task in tasks:
        for group in task.errors:
            kind = kinds.setdefault((group.label, group.counted), _Kind(group.reason))
            kind.count += group.count
            kind.tasks[task.task] = None
    by_count = sorted(kinds.items(), key=lambda item: item[1].count, reverse=True)
    lines = [
        f"{name_tasks(tuple(kind.tasks))}: {format_count(kind.count, noun)}: {label}: {kind.reason}"
        for (label, noun), kind in by_count[:_MAX_ERRORS]
    ]
    if (more := len(by_count) - _MAX_ERRORS) > 0:
        lines.append(f"{format_count(more, 'more kind')} of error")
    return tuple(map(single_line, lines))


def limit_lines(diagnosis: Diagnosis | None) -> tuple[Limit, ...]:
    """Returns what limited a race, one line each; nothing without a diagnosis."""
    return () if diagnosis is None else tuple(_limits(diagnosis))


def _limits(diagnosis: Diagnosis) -> Iterator[Limit]:
    for time in diagnosis.time[:1]:
        if time.shares:
            yield _bottleneck(time)
    for answer in diagnosis.leading[:_FINDINGS]:
        yield _finding(answer)
    if not diagnosis.leading:
        yield from (_limit((text,)) for text in doubted_findings(diagnosis))


def _bottleneck(time: TaskTime) -> Limit:
    """Returns what the cores of the engine did during the task that the diagnosis considers first."""
    where = f"{time.task} on {time.node}" if time.node else time.task
    shares = [f"{format_share(share.share)} {share.cause}" for share in time.shares[:_MAIN_SHARES]]
    return _limit(
        f"{where}: {time.whole}: {', '.join(shares[:number])}" for number in range(len(shares), 0, -1)
    )


def _finding(answer: RuleAnswer) -> Limit:
    title, change = f"{answer.id}: {answer.title}", answer.largest_change
    bound = bound_clause(answer)
    return _limit((
        f"{title}: {answer.text}{bound}",
        f"{title}{bound}",
        *((f"{title} (at most {format_change(change)})",) if change is not None else ()),
        title,
    ))


def _limit(forms: Iterable[str]) -> Limit:
    return Limit(tuple(map(whole_line, forms)))
