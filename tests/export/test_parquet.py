"""Exports as Parquet, read by pyarrow."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pacenote.errors import StoreError
from pacenote.export.document import exported_race
from pacenote.export.parquet import ParquetFormat
from support.records import bulk, record, task, times


def test_rows_have_their_types_and_lead_to_the_files(tmp_path):
    (tmp_path / "race-1").mkdir()
    (tmp_path / "race-1" / "series.parquet").write_bytes(b"")
    file = ParquetFormat(tmp_path / "races.parquet", tmp_path / "x")
    for name in ("race-1", "race-2"):
        race = record(name, tasks=(bulk("\ud800 ü"), task(service_time=times(50))))
        file.race(exported_race(race, "complete", tmp_path / name))
    file.end()
    table = pq.read_table(tmp_path / "races.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["race_time"] == "timestamp[ms, tz=UTC]"
    assert (types["value"], types["low"], types["supported"]) == ("double", "double", "bool")
    assert {types[name] for name in ("task", "metric", "samples")} == {"string"}
    rows = table.to_pylist()
    assert {row["race_id"] for row in rows} == {"race-1", "race-2"}
    p99 = [row for row in rows if (row["metric"], row["statistic"]) == ("service_time", "p99")]
    assert [(row["value"], row["supported"]) for row in p99 if row["task"] == "search"] == [(8.0, False)] * 2
    assert {row["task"] for row in rows} == {"", "\ufffd ü", "search"}
    assert rows[0]["race_time"] == datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
    series = {row["race_id"]: row["series"] for row in rows}
    assert series == {"race-1": str(tmp_path / "race-1" / "series.parquet"), "race-2": None}


def test_many_rows_are_several_row_groups(tmp_path):
    file = ParquetFormat(tmp_path / "races.parquet", tmp_path / "x", group_rows=10)
    race = exported_race(record(), "complete", tmp_path)
    for _ in range(3):
        file.race(race)
    file.end()
    written = pq.ParquetFile(tmp_path / "races.parquet")
    assert written.num_row_groups == 3
    assert written.metadata.num_rows == 3 * len(race.figures)


def test_a_file_that_cannot_be_written_is_an_error_in_one_line():
    with pytest.raises(StoreError, match=r"^cannot write the export to a: No such file or directory$"):
        ParquetFormat(Path("/proc/no/such"), Path("a"))
    file = ParquetFormat(Path("/dev/full"), Path("b"))
    file.race(exported_race(record(), "complete", Path("/races")))
    with pytest.raises(StoreError, match=r"^cannot write the export to b: No space left on device$"):
        file.end()
