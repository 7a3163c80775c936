"""A diagnosis as sections of text, which a terminal and Markdown show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.model.diagnosis import Diagnosis, MissingFigure, RuleAnswer, TaskTime
from pacenote.model.finding import name_tasks
from pacenote.model.printable import whole_line
from pacenote.units import format_change, format_count, format_share

_LEAST_EXCESS = 0.005
"""Smallest excess of CPU time over the whole that is worth a line."""

_SHOWN_MISSING = 4
"""Largest number of missing figures that are listed for one answer."""


class DiagnosisItem(Struct, frozen=True):
    """One thing that a section lists."""

    title: str
    """What it is, in one line."""

    details: tuple[tuple[str, str], ...] = ()
    """Labels with their texts; an empty label continues the one before."""

    severe: bool = False
    """Whether it is shown as severe."""


class DiagnosisSection(Struct, frozen=True):
    """A part of the diagnosis."""

    title: str
    """What it lists."""

    items: tuple[DiagnosisItem, ...]
    """What it lists; empty if the title says everything."""


def diagnosis_sections(diagnosis: Diagnosis) -> tuple[DiagnosisSection, ...]:
    """Returns the sections of a whole diagnosis."""
    sections: list[DiagnosisSection | None] = [
        _unread(diagnosis.unread),
        _validity(diagnosis),
        _section("Findings, by the largest possible improvement", "no rule fired", diagnosis.findings),
        _time(diagnosis.time),
    ]
    silent = [answer for answer in diagnosis.validity if not answer.is_fired]
    ruled_out = [*(each for each in silent if each.state == "ruled out"), *diagnosis.ruled_out]
    unknown = [*(each for each in silent if each.state == "not applicable"), *diagnosis.not_applicable]
    sections += [_silent("ruled out", ruled_out), _silent("not applicable", unknown)]
    return tuple(section for section in sections if section is not None)


def headline_findings(diagnosis: Diagnosis, most: int = 2) -> tuple[str, ...]:
    """Returns the most important findings, one line each: what was found, and how much it can matter.
    Findings that a validity rule doubts are only counted, and only if there are no others.
    """
    lines = tuple(
        whole_line(f"{answer.id}: {answer.title}: {answer.text}{bound_clause(answer)}")
        for answer in diagnosis.leading[:most]
    )
    return lines or tuple(doubted_findings(diagnosis))


def doubted_findings(diagnosis: Diagnosis) -> Iterator[str]:
    """Yields a line with the number of findings that are in doubt, and why, if there are any."""
    doubted = [answer for answer in diagnosis.findings if answer.doubtful]
    if doubted:
        verb = "is" if len(doubted) == 1 else "are"
        yield whole_line(f"{format_count(len(doubted), 'finding')} {verb} in doubt: {doubted[0].doubts[0]}")


def _unread(texts: Sequence[str]) -> DiagnosisSection | None:
    if not texts:
        return None
    return DiagnosisSection(
        "Damaged files, without whose figures rules are not applicable",
        tuple(DiagnosisItem(whole_line(text)) for text in texts),
    )


def _validity(diagnosis: Diagnosis) -> DiagnosisSection:
    """Returns the verdict of the race with its reasons, and the validity rules that fired."""
    items = tuple(map(_fired, diagnosis.warnings))
    if diagnosis.verdict != "valid":
        reasons = tuple(("reason", whole_line(reason)) for reason in diagnosis.reasons)
        verdict = DiagnosisItem(f"the race is {diagnosis.verdict}", reasons)
        return DiagnosisSection("Validity", (verdict, *items))
    if items:
        return DiagnosisSection("Validity (the verdict of the race is valid)", items)
    return DiagnosisSection("Validity: the race is valid, and no validity rule fired", ())


def _section(title: str, nothing: str, answers: Sequence[RuleAnswer]) -> DiagnosisSection:
    if not answers:
        return DiagnosisSection(f"{title.partition(',')[0]}: {nothing}", ())
    return DiagnosisSection(title, tuple(map(_fired, answers)))


def _fired(answer: RuleAnswer) -> DiagnosisItem:
    title = f"{answer.id}: {answer.title}"
    details = [(label, whole_line(text)) for label, text in _details(answer) if text]
    return DiagnosisItem(whole_line(title), tuple(details), answer.severe)


def _details(answer: RuleAnswer) -> Iterator[tuple[str, str]]:
    """Yields what is shown of a rule that fired."""
    where = f" (node {answer.node})" if answer.node else ""
    yield "found", f"{answer.text}{where}"
    yield "tasks", name_tasks(answer.tasks)
    if answer.metric:
        yield "bound", _bound_text(answer)
    for advice in answer.advice:
        yield "try" if answer.metric else "advice", advice.text
    for reason in answer.withheld:
        yield "no advice", reason
    yield "expect", ", ".join(f"{one.figure} {one.direction} (now {one.now})" for one in answer.expected)
    shown = (f"{item.name} {item.text} ({item.source})" for item in answer.evidence)
    yield "evidence", ", ".join(shown)
    for doubt in answer.doubts:
        yield "doubt", doubt
    yield "source", answer.source


def _bound_text(answer: RuleAnswer) -> str:
    confidence = f"; confidence {format_share(answer.confidence)}" if answer.confidence < 1 else ""
    if answer.largest_change is None:
        lacking = missing_text(answer.missing)
        return f"the largest improvement is not known{f': {lacking}' if lacking else ''}{confidence}"
    change = format_change(answer.largest_change)
    return f"at most {change} of {answer.metric}{bound_conditions(answer)}{confidence}"


def bound_conditions(answer: RuleAnswer) -> str:
    """Returns what the bound of an answer assumes, and what it does not include."""
    assumes = f", if {answer.assumes}" if answer.assumes else ""
    return f"{assumes}{f'; not included: {answer.excludes}' if answer.excludes else ''}"


def bound_clause(answer: RuleAnswer) -> str:
    """Returns how much a finding can matter, in brackets; empty if nothing bounds it."""
    if answer.largest_change is None:
        return ""
    assumes = f", if {answer.assumes}" if answer.excludes else ""
    return f" (at most {format_change(answer.largest_change)} of {answer.metric}{assumes})"


def missing_text(missing: Sequence[MissingFigure]) -> str:
    """Returns which figures are missing, with those that lack for the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for figure in missing:
        by_reason.setdefault(figure.reason, []).append(figure.name)
    return "; ".join(
        f"{', '.join(names[:_SHOWN_MISSING])}"
        f"{f' and {len(names) - _SHOWN_MISSING} more' if len(names) > _SHOWN_MISSING else ''}: {reason}"
        for reason, names in by_reason.items()
    )


def _excess_text(excess: float) -> str:
    whole = format_share(1 + excess)
    return f"the counters of busy cores add up to {whole}: some of the shares are too small"


def _silent(state: str, answers: Sequence[RuleAnswer]) -> DiagnosisSection | None:
    if not answers:
        return None
    title = f"{state.capitalize()}: {format_count(len(answers), 'rule')}"
    items = []
    for answer in answers:
        text = missing_text(answer.missing) or answer.text
        items.append(DiagnosisItem(whole_line(f"{answer.id}: {answer.title}: {text}")))
    return DiagnosisSection(title, tuple(items))


def _time(times: Sequence[TaskTime]) -> DiagnosisSection:
    whole = next((each.whole for each in times if not each.of_all_cores), "time of all cores")
    title = f"Where the {whole} goes"
    if not times:
        return DiagnosisSection(f"{title}: no figures of the cores were recorded", ())
    items = []
    for task_time in times:
        shares = ", ".join(f"{format_share(share.share)} {share.cause}" for share in task_time.shares)
        details = [("shares", shares), ("unexplained", format_share(task_time.unexplained))]
        if task_time.excess >= _LEAST_EXCESS:
            details.append(("doubt", _excess_text(task_time.excess)))
        if task_time.waits:
            waits = ", ".join(f"{format_share(wait.share)} {wait.cause}" for wait in task_time.waits)
            details.append(("besides", waits))
        if task_time.missing:
            details.append(("not known", missing_text(task_time.missing)))
        node = f" on {task_time.node}" if task_time.node else ""
        shown = tuple((label, whole_line(text)) for label, text in details)
        items.append(DiagnosisItem(whole_line(f"{task_time.task}{node}"), shown))
    return DiagnosisSection(title, tuple(items))
