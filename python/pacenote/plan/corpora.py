"""The data files that a challenge reads; only these are prepared before a race."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems
from pacenote.model.track import Challenge, CorpusFile, Task, Track
from pacenote.operations.types.bulk import select_files
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

    These are the files of its bulk tasks, and those that `source_files` returns for tasks with a parameter
    source in Python (its attribute `corpora` in Rally).
    """
    required = [file for task in challenge.tasks() for file in _task_files(task, track, source_files)]
    return tuple(file for file in track.corpus_files() if file in required)


def _task_files(task: Task, track: Track, source_files: SourceFiles) -> Sequence[CorpusFile]:
    params = task.operation.params
    if params.get("param-source") not in (None, FILE_READER):
        return source_files(task)
    if task.operation.type != "bulk":
        return ()
    # Problems of the parameters are reported when the plan is built.
    return select_files(FieldReader(params, task.operation.key_path, Problems()), track)
