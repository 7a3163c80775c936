"""The data files that a challenge reads; only these are prepared before a race."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems
from pacenote.model.track import Challenge, CorpusFile, Task, Track
from pacenote.operations.corpus_files import select_files
from pacenote.operations.registry import find_type
from pacenote.plan.resolve import FILE_READER

SourceFiles = Callable[[Task], Sequence[CorpusFile]]
"""Returns the data files that the parameter source of a task reads."""


def no_source_files(task: Task) -> Sequence[CorpusFile]:  # noqa: ARG001
    """Returns no files: the `SourceFiles` of a track without parameter sources in Python."""
    return ()


def required_files(
    track: Track, challenge: Challenge, source_files: SourceFiles = no_source_files
) -> tuple[CorpusFile, ...]:
    """Returns the data files that a challenge reads, without duplicates, in the order of the track.

    These are the files of tasks that index documents, and those that `source_files` returns for tasks with a
    parameter source in Python (its attribute `corpora` in Rally).
    """
    required = [file for task in challenge.tasks() for file in _task_files(task, track, source_files)]
    return tuple(file for file in track.corpus_files() if file in required)


def _task_files(task: Task, track: Track, source_files: SourceFiles) -> Sequence[CorpusFile]:
    params = task.operation.params
    if params.get("param-source") not in (None, FILE_READER):
        return source_files(task)
    operation_type = find_type(task.operation.type)
    if operation_type is None or not operation_type.indexes_documents:
        return ()
    # Problems of the parameters are reported when the plan is built.
    return select_files(FieldReader(params, task.operation.key_path, Problems()), track)
