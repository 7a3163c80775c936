"""Samples are read from the files that races write."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from pacenote.errors import StoreError
from pacenote.metrics_store.samples import SampleFile, StoredSample

SAMPLE = StoredSample("t", "o", "search", False, 3, "normal", 1, 2, 3, 4, True, 200, "", None)


def write(path, samples: list[StoredSample]) -> None:
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    columns = {name: [getattr(sample, name) for sample in samples] for name in StoredSample._fields}
    parquet.write_table(arrow.table({**columns, "further": [0] * len(samples)}), path, row_group_size=2)


def test_samples_are_read_in_order_with_the_columns_that_are_needed(tmp_path):
    samples = [SAMPLE._replace(client=number, details='{"a": 1}' if number else None) for number in range(5)]
    write(tmp_path / "samples.parquet", samples)
    assert list(SampleFile(tmp_path / "samples.parquet")) == samples


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(StoreError, match=r"cannot read .*missing.parquet: .*no such file"):
        SampleFile(tmp_path / "missing.parquet")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(StoreError, match=r"cannot read .*damaged.parquet"):
        list(SampleFile(tmp_path / "damaged.parquet"))
