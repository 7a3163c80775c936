"""The questions that a reader has first, with their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.diagnosis import Diagnosis, TaskTime
from pacenote.model.finding import name_tasks
from pacenote.model.printable import single_line, whole_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import RaceState
from pacenote.model.task_kinds import runs_once
from pacenote.report.diagnosis import headline_findings
from pacenote.report.notes import printable_finding
from pacenote.report.page.numbers import clock
from pacenote.report.page.page import KeyFigure, PageCommand, Question, Text
from pacenote.report.page.race.operations import TimedTask
from pacenote.report.page.race.stalls import MOST_STALLS, Stall, is_examined
from pacenote.report.screen.answers import answers
from pacenote.units import format_count, format_rate, format_seconds, format_share

_MOST_NAMED = 3
"""Number of tasks up to which all tasks without a stall are named."""

_SHOWN_STALLS = 3
_WHOLE_SECONDS = 2.0
"""By how much a stall may be longer than the whole seconds in it."""

_MAIN_SHARES = 3
_CHECKED = ("Target rates", "Documents")


def validity(record: RaceRecord, state: RaceState, diagnosis: Diagnosis | None) -> Question:
    """Returns whether the results may be used, and what the diagnosis warns of."""
    reasons = [*_reasons(record, state)]
    if diagnosis is not None and (titles := [f"{each.id}, {each.title}" for each in diagnosis.warnings]):
        reasons.append(Text(f"The diagnosis warns: {whole_line('; '.join(titles))}.", "doubtful"))
    checked = [
        Text(f"{answer.label}: {answer.text}.", "wrong" if answer.is_wrong else "")
        for answer in answers(record, record.tasks)
        if answer.label in _CHECKED
    ]
    return Question("Is the race valid?", (*reasons, *checked))


def _reasons(record: RaceRecord, state: RaceState) -> Iterator[Text]:
    verdict = record.verdict
    if state != "complete":
        yield Text(f"The race is {state}: its results are incomplete.", "wrong")
    elif record.imported is not None:
        tool = record.imported.tool_name
        yield Text(f"It is {verdict.state}, as far as the file of {tool} tells: it has no samples to check.")
    elif verdict.state == "valid":
        yield Text(
            "Yes. No check of the driver, the machine, the tasks or the documents found anything wrong."
        )
    else:
        is_void = verdict.state == "void"
        what = "do not use its results" if is_void else "use its results with care"
        yield Text(f"It is {verdict.state}: {what}.", "wrong" if is_void else "doubtful")
    for finding in map(printable_finding, verdict.findings):
        tasks = f"{name_tasks(finding.tasks)}: " if finding.tasks else ""
        yield Text(f"{tasks}{finding.text}.")
    for advice in dict.fromkeys(
        single_line(finding.advice) for finding in verdict.findings if finding.advice
    ):
        yield Text(f"Try: {advice}.")


def limits(diagnosis: Diagnosis | None, reason: str) -> Question:
    """Returns what the diagnosis found; `reason` is why there is none."""
    question = "What limited it?"
    if diagnosis is None:
        return Question(question, (Text(f"Not diagnosed: {single_line(reason)}."),))
    texts = [*(f"{text}." for text in headline_findings(diagnosis))]
    if not texts:
        ruled_out, unknown = len(diagnosis.ruled_out), len(diagnosis.not_applicable)
        texts.append(
            f"No cause was found: {format_count(ruled_out, 'cause is', 'causes are')} ruled out, {unknown} "
            "cannot be checked or do not apply."
        )
    texts += [whole_line(_time_text(time)) for time in diagnosis.time[:1] if time.shares]
    return Question(question, tuple(map(Text, texts)))


def _time_text(time: TaskTime) -> str:
    shares = ", ".join(f"{format_share(each.share)} {each.cause}" for each in time.shares[:_MAIN_SHARES])
    return f"During {time.task}, the {time.whole} went to: {shares}."


def slowest(figure: KeyFigure | None, supported: KeyFigure | None) -> Question:
    """Returns p99 of the slowest task, and of the slowest one that has enough operations for it."""
    texts = [f"{figure.value}, {figure.detail}." if figure else "Not known: no task has enough operations."]
    if supported is not None and supported != figure:
        texts.append(f"Of those with enough operations: {supported.value}, {supported.detail}.")
    return Question("What was p99 of the slowest task?", tuple(map(Text, texts)))


def standstills(stalls: Sequence[Stall], tasks: Sequence[TimedTask]) -> Question:
    """Returns when tasks stood still."""
    question = "When did it stall?"
    if not tasks:
        return Question(question, (Text("Not known: there is no series of the operations."),))
    longest = sorted(stalls, key=lambda stall: -stall.length_s)[:_SHOWN_STALLS]
    texts = [_stall_text(stall) for stall in sorted(longest, key=lambda stall: stall.from_s)]
    if len(stalls) > len(longest):
        shorter = format_count(len(stalls) - len(longest), "shorter stall")
        more = ", and the shortest are left out" if len(stalls) == MOST_STALLS else ""
        texts.append(f"{shorter} are marked in the charts{more}.")
    several = [task for task in tasks if not runs_once(task.result)] or tasks
    examined = [task for task in several if is_examined(task.result, task.line)]
    if not texts and examined:
        named = name_tasks(tuple(task.name for task in examined))
        is_long = len(examined) == len(several) > _MOST_NAMED
        texts.append(f"Never, in any of the {len(examined)} tasks." if is_long else f"Never, in {named}.")
    if others := tuple(task.name for task in several if task not in examined):
        texts.append(f"Not known, because too few operations ended: {name_tasks(others)}.")
    slow = max(
        ((point.times.max_ms or 0.0, task, point) for task in several for point in task.line.points),
        key=lambda each: each[0],
    )
    if slow[0]:
        at = clock(slow[1].result.started_s + slow[2].from_s)
        texts.append(f"The slowest operation took {format_seconds(slow[0] / 1000)}: {slow[1].name} at {at}.")
    return Question(question, tuple(map(Text, texts)))


def _on(node: str) -> str:
    return f" on {node}" if node else ""


def _stall_text(stall: Stall) -> str:
    rate = stall.operations / stall.length_s
    collected = (
        f"; {format_seconds(stall.gc_ms / 1000)} of garbage collection pauses{_on(stall.gc_node)}"
        if stall.gc_ms
        else "; no garbage collection pause"
        if stall.gc_ms == 0
        else ""
    )
    # Stalls are found by whole seconds; the operations that they held up show how long they were. Latency
    # that is much longer has waited before the stall, too.
    longest_s = (stall.longest_ms or 0.0) / 1000
    is_held_up = stall.length_s <= longest_s <= stall.length_s + _WHOLE_SECONDS
    held_up = f"; the longest operation took {format_seconds(longest_s)}" if is_held_up else ""
    return (
        f"At {clock(stall.from_s)} for {format_seconds(stall.length_s)}: {single_line(stall.task)} at "
        f"{format_rate(rate)} of usually {format_rate(stall.usual_per_s)} operations per second{held_up}"
        f"{collected}."
    )


def repetition(command: str, notes: Sequence[str]) -> Question:
    """Returns how to run the race again; `command` is empty if that is not known, and a note says why."""
    blocks = (PageCommand(command),) if command else ()
    return Question("How do I run it again?", (*blocks, *map(Text, notes)))
