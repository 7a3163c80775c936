"""The answer of a diagnosis on one screen: the cause, how sure it is, what to try, and what it can bring."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.diagnosis import Diagnosis, RuleAnswer, TaskTime
from pacenote.model.finding import name_tasks
from pacenote.model.printable import whole_line
from pacenote.report.diagnosis import (
    DiagnosisItem,
    DiagnosisSection,
    doubted_findings,
    missing_text,
)
from pacenote.units import format_change, format_count, format_share

_OTHERS = 2
"""Number of other findings that are named."""

_MAIN_SHARES = 3
"""Number of uses of the cores that are named."""

_NODES = ("cluster.cpu_node", "cluster.write_node", "cluster.heap_node")
"""Figures that name a node, that of which the time of the cores tells most first."""


def diagnosis_answer(diagnosis: Diagnosis) -> tuple[DiagnosisSection, ...]:
    """Returns what fits on a screen: why the race is to be doubted, if it is, the first cause in full, the
    next ones by name, and where the time went during the task and on the node of the cause.
    """
    titles = (*_doubts(diagnosis), *_no_cause(diagnosis))
    sections = [DiagnosisSection(whole_line(title), ()) for title in titles]
    for answer in diagnosis.leading[:1]:
        sections.append(DiagnosisSection("Cause", (_cause(answer),)))
    others = [answer for answer in diagnosis.findings if answer not in diagnosis.leading[:1]]
    if others:
        sections.append(DiagnosisSection(whole_line(_others(others)), ()))
    sections += [DiagnosisSection(whole_line(_time(time)), ()) for time in _time_of_cause(diagnosis)]
    return tuple(sections)


def _doubts(diagnosis: Diagnosis) -> Iterator[str]:
    """Yields why the race cannot be trusted, in one line each."""
    if diagnosis.verdict != "valid":
        first = f": {diagnosis.reasons[0]}" if diagnosis.reasons else ""
        yield f"The race is {diagnosis.verdict}{first}{_more(len(diagnosis.reasons), 'reason')}"
    elif diagnosis.warnings:
        names = (f"{answer.id}, {answer.title}" for answer in diagnosis.warnings)
        yield f"The diagnosis warns: {'; '.join(names)}"
    if diagnosis.unread:
        yield f"A file is damaged: {diagnosis.unread[0]}{_more(len(diagnosis.unread), 'file')}"


def _more(count: int, noun: str) -> str:
    return f" (and {format_count(count - 1, f'other {noun}')})" if count > 1 else ""


def _no_cause(diagnosis: Diagnosis) -> Iterator[str]:
    """Yields that there is no cause that leads, and why."""
    if diagnosis.leading:
        return
    if diagnosis.findings:
        yield f"No cause is certain: {next(doubted_findings(diagnosis))}"
        return
    voiding = (answer for answer in diagnosis.warnings if answer.id in _voiding(diagnosis))
    why = next((f": {answer.id}: {answer.text}" for answer in voiding), "")
    ruled_out, unknown = len(diagnosis.ruled_out), len(diagnosis.not_applicable)
    counted = f"{format_count(ruled_out, 'rule')} ruled out, {unknown} not applicable"
    yield f"No cause was found{why} ({counted})"


def _voiding(diagnosis: Diagnosis) -> frozenset[str]:
    """Returns the ids of the validity rules that made others inapplicable."""
    return frozenset(
        answer.text.partition(" fired: ")[0]
        for answer in diagnosis.not_applicable
        if " fired: " in answer.text
    )


def _cause(answer: RuleAnswer) -> DiagnosisItem:
    details = ((label, whole_line(text)) for label, text in _details(answer) if text)
    return DiagnosisItem(whole_line(f"{answer.id}: {answer.title}"), tuple(details), answer.severe)


def _details(answer: RuleAnswer) -> Iterator[tuple[str, str]]:
    where = f" (node {answer.node})" if answer.node else ""
    yield "found", f"{answer.text}{where}"
    if len(answer.tasks) > 1:
        yield "tasks", name_tasks(answer.tasks)
    sources = dict.fromkeys(item.source for item in answer.evidence)
    seen = f" from {', '.join(sources)}" if sources else ""
    yield "how sure", f"confidence {format_share(answer.confidence)}{seen}"
    for doubt in answer.doubts[:1]:
        yield "doubt", doubt
    for advice in answer.advice[:1]:
        yield "try", advice.text
    for reason in answer.withheld[:1]:
        yield "no advice", reason
    yield "can bring", _gain(answer)


def _gain(answer: RuleAnswer) -> str:
    if answer.largest_change is not None:
        return f"at most {format_change(answer.largest_change)} of {answer.metric}"
    lacking = missing_text(answer.missing[:1])
    return f"not known: {lacking}" if lacking else "not known: nothing bounds it"


def _others(answers: list[RuleAnswer]) -> str:
    """Returns the other findings in a line: the first ones with what they can bring, the rest by id."""
    named = [f"{answer.id}, {answer.title}{_bracket(answer)}" for answer in answers[:_OTHERS]]
    return f"Also found: {'; '.join([*named, *(answer.id for answer in answers[_OTHERS:])])}"


def _bracket(answer: RuleAnswer) -> str:
    change = answer.largest_change
    parts = [] if change is None else [f"at most {format_change(change)}"]
    parts += ["in doubt"] if answer.doubtful else []
    return f" ({', '.join(parts)})" if parts else ""


def _time_of_cause(diagnosis: Diagnosis) -> tuple[TaskTime, ...]:
    """Returns where the time went during the task and on the node of the first cause, or of the first task
    and node of which it is known if there is no cause or it names neither; nothing if it is not known there.
    """
    times = [time for time in diagnosis.time if time.shares]
    for cause in diagnosis.leading[:1]:
        node = cause.node or _busiest_node(cause)
        times = [time for time in times if not cause.tasks or time.task == cause.tasks[0]]
        times = [time for time in times if not node or time.node in ("", node)]
    return tuple(times[:1])


def _busiest_node(cause: RuleAnswer) -> str:
    """Returns the node that the figures of a cause about the whole cluster name; empty if they name none."""
    named = {item.name: str(item.value) for item in cause.evidence if item.name in _NODES}
    return next((named[name] for name in _NODES if name in named), "")


def _time(time: TaskTime) -> str:
    where = f"{time.task} on {time.node}" if time.node else time.task
    shares = (f"{format_share(share.share)} {share.cause}" for share in time.shares[:_MAIN_SHARES])
    return f"{where}: {time.whole}: {', '.join(shares)}"
