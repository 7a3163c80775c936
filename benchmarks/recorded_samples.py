"""Writes the samples of a race without running it."""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NS = 10**9
_TEXTS = ("task", "operation", "operation_type", "sample_type", "unit", "error_class")
_FLAGS = ("part", "success")
_SMALLER = {"client": "uint32", "driver": "uint32", "status": "uint16"}


def write_samples(file: Path, tasks: Sequence[str], seconds: int, rate: int) -> None:
    """Writes `samples.parquet` for tasks that run for so many seconds at so many searches per second, with
    the columns of the core and a row group for each task.
    """
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    columns = _columns(seconds * rate, rate)
    fields = [arrow.field(name, _type(arrow, name), nullable=False) for name in ("task", *columns)]
    schema = arrow.schema([*fields, ("details", arrow.string())])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for task in tasks:
            rows = {"task": [task] * (seconds * rate), **columns, "details": [None] * (seconds * rate)}
            writer.write_table(arrow.table(rows, schema))


def _type(arrow: Any, name: str) -> Any:
    if name in _TEXTS:
        return arrow.string()
    return arrow.bool_() if name in _FLAGS else getattr(arrow, _SMALLER.get(name, "int64"))()


def _columns(count: int, rate: int) -> dict[str, list[Any]]:
    """Returns all columns but those of the task and of details."""
    draw = random.Random(1)
    due = [number * _NS // rate for number in range(count)]
    took = [draw.randrange(5, 30) for _ in due]
    done = [at + 1000 + ms * _NS // 1000 for at, ms in zip(due, took, strict=True)]
    texts = {"operation": "search", "operation_type": "search", "sample_type": "normal", "unit": "ops"}
    numbers = {"driver": 0, "weight": 1, "status": 200, "bytes_out": 120, "bytes_in": 900}
    return {
        **{name: [text] * count for name, text in texts.items()},
        **{name: [number] * count for name, number in numbers.items()},
        "error_class": [""] * count,
        "part": [False] * count,
        "success": [True] * count,
        "client": [number % 8 for number in range(count)],
        "due_ns": due,
        "sent_ns": [at + 1000 for at in due],
        "done_ns": done,
        "processing_ns": [end - at for at, end in zip(due, done, strict=True)],
        "took_ms": took,
    }
