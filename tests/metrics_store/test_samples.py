"""Samples are read from the files that races write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from pacenote.errors import StoreError
from pacenote.metrics_store.samples import SampleFile, StoredSample

SAMPLE = StoredSample("t", "o", "search", False, 3, "normal", 1, 2, 3, 4, True, 200, "", None)

KINDS = {bool: pyarrow.bool_(), int: pyarrow.int64(), str: pyarrow.string()}
"""Types of columns, by the type of a value."""

FIELDS = [
    pyarrow.field(name, KINDS.get(type(value), pyarrow.string()), nullable=value is None)
    for name, value in SAMPLE._asdict().items()
]
SMALLER = {"client": pyarrow.uint32(), "status": pyarrow.uint16()}
SCHEMA = pyarrow.schema([
    *(field.with_type(SMALLER.get(field.name, field.type)) for field in FIELDS),
    ("weight", pyarrow.int64()),
])
"""The columns that are read, as the core writes them, and one more."""


def write(file: Path, samples: Sequence[StoredSample], rows_of_group: int = 2) -> None:
    rows = [{**sample._asdict(), "weight": 1} for sample in samples]
    table = pyarrow.Table.from_pylist(rows, SCHEMA)
    pyarrow.parquet.write_table(table, file, row_group_size=rows_of_group, compression="zstd")


@pytest.mark.parametrize(("repeats", "rows_of_group"), [(20, 2), (1000, 10_000), (1000, 4000)])
def test_samples_are_read_in_order_with_the_columns_that_are_needed(tmp_path, repeats, rows_of_group):
    failed = SAMPLE._replace(success=False, error_class="timeout", status=0, sample_type="warmup")
    detailed = SAMPLE._replace(task="später", part=True, client=2**32 - 1, details='{"a": 1}')
    samples = [SAMPLE, failed, detailed, failed, SAMPLE] * repeats
    write(tmp_path / "samples.parquet", samples, rows_of_group)
    assert list(SampleFile(tmp_path / "samples.parquet")) == samples


def test_a_file_without_samples_has_none(tmp_path):
    write(tmp_path / "samples.parquet", [])
    assert not list(SampleFile(tmp_path / "samples.parquet"))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(StoreError, match=r".*missing.parquet does not exist"):
        list(SampleFile(tmp_path / "missing.parquet"))
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(StoreError, match=r".*damaged.parquet is damaged: "):
        list(SampleFile(tmp_path / "damaged.parquet"))


def test_a_file_of_which_the_second_part_is_damaged_ends_with_an_error(tmp_path):
    file = tmp_path / "samples.parquet"
    write(file, [SAMPLE] * 4)
    group = pyarrow.parquet.ParquetFile(file).metadata.row_group(1)
    begin = group.column(SCHEMA.get_field_index("due_ns")).dictionary_page_offset
    data = bytearray(file.read_bytes())
    data[begin : begin + 8] = b"\xff" * 8
    file.write_bytes(data)
    samples = iter(SampleFile(file))
    assert [next(samples), next(samples)] == [SAMPLE, SAMPLE]
    with pytest.raises(StoreError, match=r"samples.parquet is damaged: "):
        next(samples)
