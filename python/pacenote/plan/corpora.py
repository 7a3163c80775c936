"""Which data a challenge needs: only that is prepared before a race."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems
from pacenote.model.track import Challenge, Corpus, Documents, Task, Track
from pacenote.operations.types.bulk import select_documents
from pacenote.plan.resolve import FILE_READER

Selected = Sequence[tuple[Corpus, Documents]]
"""Data files with the corpora they belong to."""


def no_documents(task: Task) -> Selected:  # noqa: ARG001
    """What parameter sources written in Python index, where there are none."""
    return ()


def needed_documents(
    track: Track, challenge: Challenge, sourced: Callable[[Task], Selected] = no_documents
) -> tuple[tuple[Corpus, Documents], ...]:
    """The data files that the challenge indexes, each once, in the track's order.

    Those of its bulk tasks, and those that `sourced` says of tasks whose parameters come from Python (what
    Rally calls the attribute `corpora` of a parameter source).
    """
    selected: list[tuple[Corpus, Documents]] = []
    for task in challenge.tasks():
        selected.extend(pair for pair in _of_task(task, track, sourced) if pair not in selected)
    return tuple(
        (corpus, documents)
        for corpus in track.corpora
        for documents in corpus.documents
        if (corpus, documents) in selected
    )


def _of_task(task: Task, track: Track, sourced: Callable[[Task], Selected]) -> Selected:
    params = task.operation.params
    if params.get("param-source") not in (None, FILE_READER):
        return sourced(task)
    if task.operation.type != "bulk":
        return ()
    # What is wrong with the parameters is reported when the plan is built.
    return select_documents(FieldReader(params, task.operation.key_path, Problems()), track)
