"""The figures that come first on the screen: how fast, how slow, how many errors, which targets were kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.model.headline import indexing_rate, main_indexing, median_latency_ms, slowest_task
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import indexes
from pacenote.report.screen.screen import Answer
from pacenote.units import format_count, format_seconds
from pacenote.verdict.determine import targets_not_kept


def answers(record: RaceRecord, reported: Sequence[TaskResult]) -> tuple[Answer, ...]:
    """Returns the answers of a race; those that it cannot give are omitted."""
    return (
        *_indexing(reported),
        *_slowest(reported),
        *_errors(record),
        *_targets(record),
        *_documents(record),
    )


def _indexing(reported: Sequence[TaskResult]) -> Iterator[Answer]:
    task = main_indexing(reported)
    if task:
        rate = indexing_rate(task)
        others = sum(map(indexes, reported)) > 1
        yield Answer("Indexing", single_line(f"{rate} ({task.task})" if others else rate))


def _slowest(reported: Sequence[TaskResult]) -> Iterator[Answer]:
    task = slowest_task(reported)
    if task and (ms := median_latency_ms(task)) is not None:
        yield Answer("Slowest p50", f"{single_line(task.task)} {format_seconds(ms / 1000)}")


def _errors(record: RaceRecord) -> Iterator[Answer]:
    if not record.tasks:
        return
    failed = _failures(record)
    counts = [format_count(each.failed, each.noun) for each in failed if each.failed]
    yield Answer("Errors", " and ".join(counts) or "0", is_wrong=bool(counts))


def attempts(record: RaceRecord) -> str:
    """Returns of how many documents and operations the answer about errors has the failed ones; of how many
    operations if there were none.
    """
    failed = [each for each in _failures(record) if each.failed]
    if not failed:
        return format_count(sum(task.accounting.operations for task in record.tasks), "operation")
    return " and ".join(format_count(each.attempted, each.noun) for each in failed)


class _Failures(Struct, frozen=True):
    """Failures of one kind."""

    noun: str
    """What is counted, in the singular."""

    failed: int
    """How many failed."""

    attempted: int
    """How many there were."""


def _failures(record: RaceRecord) -> tuple[_Failures, _Failures]:
    """Returns the documents of tasks of which documents failed, and the operations of all others."""
    rejected = [task for task in record.tasks if indexes(task) and task.work.failed]
    others = [task for task in record.tasks if task not in rejected]
    return (
        _Failures(
            "document",
            sum(task.work.failed for task in rejected),
            sum(task.work.done + task.work.failed for task in rejected),
        ),
        _Failures(
            "operation",
            sum(task.accounting.failed for task in others),
            sum(task.accounting.operations for task in others),
        ),
    )


def _targets(record: RaceRecord) -> Iterator[Answer]:
    # A task of which nothing was measured has neither kept its rate nor missed it.
    asked = [task for task in record.tasks if task.task in record.targets and task.window_operations]
    if asked:
        kept = len(asked) - len(targets_not_kept(record))
        yield Answer("Target rates", f"{kept} of {len(asked)} kept", is_wrong=kept < len(asked))


def _documents(record: RaceRecord) -> Iterator[Answer]:
    counted = [
        check for check in record.documents if check.acknowledged is not None and check.counted is not None
    ]
    if not counted:
        return
    # A check may be about several indices, whose documents cannot be told apart.
    names = {name for check in counted for name in check.names}
    number = len(names) + sum(check.unnamed for check in counted)
    indices = format_count(number, "index", "indices")
    acknowledged = sum(check.acknowledged or 0 for check in counted)
    in_engine = sum(check.counted or 0 for check in counted)
    unknown = sum(check.unknown for check in counted)
    if not unknown and not any(check.differs for check in counted):
        yield Answer("Documents", f"{in_engine:,} acknowledged and counted in {indices}")
        return
    unexpected = any(check.differs and not check.difference_expected for check in counted)
    without_reply = f"{unknown:,} sent without a reply, " if unknown else ""
    text = f"{acknowledged:,} acknowledged, {without_reply}{in_engine:,} counted in {indices}"
    yield Answer("Documents", text, is_wrong=unexpected)
