"""Builds the page of a race from its record and from what was observed beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.model.diagnosis import Diagnosis
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import RaceObservations
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.task_kinds import reported_tasks, runs_once
from pacenote.report.diagnosis import diagnosis_sections
from pacenote.report.page.flame_drawing import FlameDrawing
from pacenote.report.page.page import (
    Block,
    Item,
    ItemList,
    KeyFigure,
    PageCell,
    PageColumn,
    PageTable,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.page.race import facts, machine, operations, profile, questions, tasks
from pacenote.report.page.race.operations import TimedTask
from pacenote.report.page.race.stalls import find_stalls
from pacenote.report.page.time_charts import TimeAxis
from pacenote.report.page.tone import Tone
from pacenote.report.recording.hot_methods import NodeProfile
from pacenote.report.returned_numbers import returned_numbers
from pacenote.report.rows import note_lines
from pacenote.report.screen.answers import answers, attempts
from pacenote.report.screen.build import RaceLocation, build_screen
from pacenote.report.screen.task_tables import race_notes
from pacenote.report.summary import build_report
from pacenote.units import format_count, format_number

SETTINGS_BYTES = 40_000
"""About how many bytes the settings in force have on a page."""

_BADGES: Mapping[str, Tone] = {"valid": "good", "suspect": "doubtful", "void": "wrong"}
_NO_SERIES = "There is no timeline: the race has no series of its operations"


class PageSources(Struct, frozen=True):
    """What a page is built from."""

    record: RaceRecord
    """The race, which says of itself what is missing if it is not complete."""

    location: RaceLocation
    """Where it is stored, and its state."""

    observed: RaceObservations = field(default_factory=RaceObservations)
    """What was observed over time."""

    snapshot: RaceSnapshot | None = None
    """The configuration, or None if it was not stored."""

    diagnosis: Diagnosis | None = None
    """The diagnosis, or None if there is none."""

    diagnosis_problem: str = "the race has not ended"
    """Why there is no diagnosis."""

    profiles: tuple[NodeProfile, ...] = ()
    """What the recordings of the JVMs show, by node; none if no JVM was recorded."""

    command: str = ""
    """The command that runs the race again; empty if it is not known."""

    command_notes: tuple[str, ...] = ()
    """What the command does not repeat, or why it is not known."""


def build_page(sources: PageSources, settings_bytes: int = SETTINGS_BYTES) -> ReportPage:
    """Returns the page of a race, whatever is missing of it."""
    record, observed = sources.record, sources.observed
    screen = build_screen(record, sources.location)
    timed = operations.timed_tasks(record.tasks, observed.timeline)
    stalls = find_stalls(record.tasks, observed)
    reported = reported_tasks(record)
    slowest = tasks.slowest_figure(reported)
    return ReportPage(
        title=f"{screen.headline.race} · {screen.headline.badge}",
        badge=screen.headline.badge,
        tone=_BADGES.get(screen.headline.badge, "wrong"),
        heading=screen.headline.race,
        subtitle=" · ".join(part for part in (screen.headline.duration, screen.results.description) if part),
        figures=tuple(_figures(sources, slowest)),
        questions=(
            questions.validity(record, sources.location.state, sources.diagnosis),
            questions.limits(sources.diagnosis, sources.diagnosis_problem),
            questions.slowest(slowest, tasks.slowest_figure(reported, is_supported=True)),
            questions.standstills(stalls, timed),
            questions.repetition(sources.command, sources.command_notes),
        ),
        sections=tuple(section for section in _sections(sources, timed, settings_bytes) if section.blocks),
        axis=TimeAxis(
            max(task.end_s for task in timed),
            operations.bands(timed),
            tuple((stall.from_s, stall.to_s) for stall in stalls),
        )
        if timed
        else None,
        footer=" · ".join((
            f"Pacenote {record.environment.pacenote or ''}".strip(),
            f"race {record.race_id}",
            sources.location.folder,
        )),
    )


def _figures(sources: PageSources, slowest: KeyFigure | None) -> Iterator[KeyFigure]:
    record = sources.record
    if record.imported is not None:
        screen = build_screen(record, sources.location)
        for answer in screen.answers:
            yield KeyFigure(answer.label, answer.text, tone="wrong" if answer.is_wrong else "")
        return
    speed = tasks.speed_figure(reported_tasks(record))
    yield from (figure for figure in (speed, slowest) if figure is not None)
    for answer in answers(record, ()):
        if answer.label == "Errors":
            detail = f"of {attempts(record)}"
            yield KeyFigure("Errors", answer.text, detail, "wrong" if answer.is_wrong else "good")


def _sections(sources: PageSources, timed: tuple[TimedTask, ...], settings_bytes: int) -> Iterator[Section]:
    record = sources.record
    yield Section("timeline", "Timeline", tuple(_timeline(sources, timed)))
    yield Section("tasks", "Tasks", tuple(_tasks(record)))
    if curves := tasks.curve_chart(timed):
        yield Section("percentiles", "Percentiles", (curves[1], curves[0]))
    if (errors := tasks.error_table(record.tasks)) is not None:
        yield Section("errors", "Errors", (errors,))
    yield Section("diagnosis", "Diagnosis", tuple(_diagnosis(sources)))
    profiled = profile.profile_blocks(sources.profiles, record.race_id)
    yield Section("profile", "Hottest methods", tuple(profiled))
    if record.imported is None:
        yield Section("engine", "Engine", tuple(facts.engine_blocks(record)))
    yield Section("environment", "Environment", tuple(facts.environment_blocks(record)))
    if record.imported is None:
        blocks = tuple(facts.settings_blocks(sources.snapshot, settings_bytes))
        yield Section("settings", "Settings in force", blocks, is_printed=False)
    yield Section("figures", "All figures", tuple(_all_figures(record)), is_printed=False)


def _timeline(sources: PageSources, timed: tuple[TimedTask, ...]) -> Iterator[Block]:
    observed, timeline = sources.observed, sources.observed.timeline
    missing = [Text(f"{single_line(text)}.", "quiet") for text in observed.missing]
    known = {task.result.task for task in timed}
    running = sorted(set(timeline.tasks) - known) if timeline else []
    if running:
        missing.append(
            Text(f"Not shown, because it has not ended: {single_line(', '.join(running))}.", "quiet")
        )
    if timeline is None or not timed:
        yield from missing or [Text(f"{_NO_SERIES}.")]
        return
    parts = timeline.parts(task.result for task in timed)
    of_machine = machine.machine_charts(sources.record, observed, parts)
    # Tasks that ran once have a band, but a single operation is no line.
    timed = tuple(task for task in timed if not runs_once(task.result)) or timed
    heat = operations.heat_map(timed, timeline)
    arrivals = operations.arrival_table(timed, observed, timeline.length_s)
    yield from operations.operation_charts(timed, timeline.length_s)
    if heat:
        yield heat[1]
    yield from operations.late_chart(timed)
    yield from operations.arrival_charts(arrivals) if arrivals else ()
    yield from operations.error_chart(timed)
    yield from of_machine[1] if of_machine else ()
    yield operations.operation_table(timed, timeline.length_s)
    if heat:
        yield heat[0]
    if arrivals:
        yield arrivals
    if of_machine:
        yield of_machine[0]
    yield from missing


def _tasks(record: RaceRecord) -> Iterator[Block]:
    if record.imported is not None:
        yield from tasks.imported_task_tables(record)
        return
    reported = reported_tasks(record)
    if not reported:
        yield Text("No task has ended.")
        return
    yield tasks.task_table(record, reported)
    yield Text(tasks.NOTE, "quiet")
    yield from (Text(text) for text in returned_numbers(record, reported))
    yield from (Text(note) for note in tasks.backlog_notes(record, reported))
    yield from (Text(f"{note}.") for note in race_notes(record))
    shown = {task.task for task in reported}
    hidden = [single_line(task.task) for task in record.tasks if task.task not in shown]
    if hidden:
        yield Text(f"Administrative, not listed: {', '.join(hidden)}.", "quiet")


def _diagnosis(sources: PageSources) -> Iterator[Block]:
    if sources.diagnosis is None:
        yield Text(f"Not diagnosed: {single_line(sources.diagnosis_problem)}.")
        return
    for section in diagnosis_sections(sources.diagnosis):
        items = tuple(
            Item(item.title, item.details, "wrong" if item.severe else "") for item in section.items
        )
        silent = section.title.startswith(("Ruled out", "Not applicable"))
        yield ItemList(section.title, items, is_folded=silent)


def _all_figures(record: RaceRecord) -> Iterator[Block]:
    report = build_report(record)
    rows = tuple(
        (
            PageCell(row.metric),
            PageCell(row.task),
            PageCell("" if row.value is None else f"{format_number(row.value)}{row.mark}", row.value),
            PageCell(row.unit),
        )
        for row in report.rows
    )
    if rows:
        columns = tuple(
            PageColumn(heading, heading == "Value") for heading in ("Metric", "Task", "Value", "Unit")
        )
        caption = f"All {format_count(len(rows), 'figure')}, with the names that Rally gives them"
        groups = (RowGroup("", rows),)
        yield PageTable("data-figures", caption, columns, groups, is_sortable=True, is_folded=True)
    yield from (Text(note.text, "quiet") for note in note_lines(report) if note.label == "Footnote")


def without_details(page: ReportPage) -> ReportPage:
    """Returns a page without the table of all figures, the settings and the flame graph, for a race with very
    many tasks.
    """
    left_out = Text("Left out, so that the page stays small: `pacenote report RACE --full` prints it.")
    return replace(page, sections=tuple(_without_details(section, left_out) for section in page.sections))


def _without_details(section: Section, left_out: Text) -> Section:
    if section.id in ("figures", "settings"):
        return replace(section, blocks=(left_out,))
    blocks = tuple(block for block in section.blocks if not isinstance(block, FlameDrawing))
    return replace(section, blocks=blocks)
