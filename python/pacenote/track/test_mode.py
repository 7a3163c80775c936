"""`--test-mode`: runs a track briefly and with little data, to check that everything works."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from pacenote.model.track import (
    BUILT_IN_SCHEDULES,
    Challenge,
    Corpus,
    Documents,
    Parallel,
    Task,
    Track,
)
from pacenote.units import OPS, Rate

TEST_MODE_DOCUMENTS = 1000
"""Number of documents that are used from each data file."""

_MAX_PERIOD_S = 10.0


def for_test_mode(track: Track) -> Track:
    """Returns the track for a short trial.

    Files with more than 1,000 documents are replaced by their first 1,000, which Rally's servers also provide
    (`documents-1k.json.bz2`). Tasks run one warm-up iteration and one measured iteration per client, or at
    most ten seconds, without a warm-up period or a target rate.
    """
    return dataclasses.replace(
        track,
        corpora=tuple(_corpus(corpus) for corpus in track.corpora),
        challenges=tuple(_challenge(challenge) for challenge in track.challenges),
    )


def _corpus(corpus: Corpus) -> Corpus:
    documents = tuple(_documents(file) for file in corpus.documents)
    generator = corpus.generator
    if generator is not None:
        most = sum(file.document_count or TEST_MODE_DOCUMENTS for file in documents)
        generator = replace(generator, documents=min(generator.documents, most))
    return replace(corpus, documents=documents, generator=generator)


def _documents(file: Documents) -> Documents:
    if file.document_count is None or file.document_count <= TEST_MODE_DOCUMENTS:
        return file
    plain = PurePosixPath(file.document_file)
    short = str(plain.with_name(f"{plain.stem}-1k{plain.suffix}"))
    packed = file.source_file.removeprefix(file.document_file)
    return replace(
        file,
        source_file=f"{'./' if file.source_file.startswith('./') else ''}{short}{packed}",
        document_count=TEST_MODE_DOCUMENTS,
        compressed_bytes=None,
        uncompressed_bytes=None,
    )


def _challenge(challenge: Challenge) -> Challenge:
    schedule = tuple(
        dataclasses.replace(element, tasks=tuple(_task(task) for task in element.tasks))
        if isinstance(element, Parallel)
        else _task(element)
        for element in challenge.schedule
    )
    return replace(challenge, schedule=schedule)


def _task(task: Task) -> Task:
    changes: dict[str, Any] = {
        "iterations": _at_most(task.iterations, 1),
        "warmup_iterations": _at_most(task.warmup_iterations, 1),
        "time_period": _at_most(task.time_period, _MAX_PERIOD_S),
        "warmup_time_period": _at_most(task.warmup_time_period, 0.0),
        "ramp_up_time_period": None,
        "target_throughput": None,
        "target_interval": None,
    }
    params = {key: value for key, value in task.params.items() if key not in _TARGETS}
    if task.target_throughput is not None or task.target_interval is not None:
        unit = task.target_throughput.unit if task.target_throughput else OPS
        # Schedulers of plug-ins divide by the rate, so there must be one.
        params["target-throughput"] = f"{sys.maxsize} {unit}/s"
        if task.schedule not in BUILT_IN_SCHEDULES:
            changes["target_throughput"] = Rate(float(sys.maxsize), unit)
    for name in ("iterations", "warmup_iterations", "time_period", "warmup_time_period"):
        key = name.replace("_", "-")
        if key in params:
            params[key] = changes[name]
    return dataclasses.replace(task, params=params, **changes)


_TARGETS = ("target-throughput", "target-interval", "ramp-up-time-period")


def _at_most(value: float | None, most: float) -> float | None:
    return None if value is None else min(value, most)
