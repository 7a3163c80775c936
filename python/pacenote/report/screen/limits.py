"""What limited a race, according to its diagnosis: where the time went, and the most important findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.model.diagnosis import Diagnosis, RuleAnswer, TaskTime
from pacenote.model.printable import whole_line
from pacenote.report.diagnosis import bound_clause, doubted_findings
from pacenote.report.screen.screen import Limit
from pacenote.units import format_change, format_share

_MAIN_SHARES = 3
"""Number of uses of the cores that are named."""

_FINDINGS = 2
"""Number of findings that are shown."""


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
