"""The part of the service time that the engine reports is read from the samples of a race."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Window
from pacenote.diagnose.race_facts import add_engine_times, race_builder
from pacenote.errors import StoreError
from pacenote.evidence.driver_files import MOST_GROUPS, engine_times
from pacenote.model.engine_time import EngineTime
from pacenote.model.result import OperationTotals
from support.records import bulk, paced, record

MS = 1_000_000

Row = tuple[str, str, bool, bool, int, int]
"""Task, sample type, whether it is a sub-operation, success, `took` and service time in ms."""


def write(file: Path, rows: Sequence[Row], rows_of_group: int = 1000) -> None:
    """Writes the columns that are read, as the core writes them."""
    names = ("task", "sample_type", "part", "success", "took_ms", "service_ms")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns["weight"] = (5,) * len(rows)
    columns["unit"] = tuple("pages" if task == "pages" else "docs" for task in columns["task"])
    columns["sent_ns"] = tuple(range(len(rows)))
    columns["done_ns"] = tuple(sent + ms * MS for sent, ms in enumerate(columns.pop("service_ms")))
    kinds = {bool: pyarrow.bool_(), int: pyarrow.int64(), str: pyarrow.string()}
    fields = [pyarrow.field(name, kinds[type(own[0])], nullable=False) for name, own in columns.items()]
    arrays = [pyarrow.array(own, field.type) for own, field in zip(columns.values(), fields, strict=True)]
    table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))
    pyarrow.parquet.write_table(table, file, row_group_size=rows_of_group, compression="zstd")


def test_only_measured_operations_that_succeeded_and_have_a_took_count(tmp_path: Path) -> None:
    file = tmp_path / "samples.parquet"
    write(
        file,
        [
            ("index", "normal", False, True, 30, 40),
            ("index", "normal", False, True, 9, 20),
            ("index", "warmup", False, True, 1000, 1000),
            ("index", "normal", False, False, 1000, 1000),
            ("index", "normal", True, True, 1000, 1000),
            ("index", "normal", False, True, -1, 1000),
            ("term", "normal", False, True, 1, 3),
        ],
    )
    assert engine_times(file) == {"index": EngineTime(2, 2, 39, 60 * MS), "term": EngineTime(1, 1, 1, 3 * MS)}


def test_each_page_of_a_search_is_a_reply(tmp_path: Path) -> None:
    """The engine reports whole milliseconds of each page."""
    file = tmp_path / "samples.parquet"
    write(file, [("pages", "normal", False, True, 0, 10), ("pages", "normal", False, True, 2, 20)])
    (time,) = engine_times(file).values()
    assert time == EngineTime(2, 10, 2, 30 * MS)
    assert time.took_share == pytest.approx((2 + 10 * 0.5) / 30)


def test_of_a_long_file_some_groups_are_read_that_are_spread_over_it(tmp_path: Path) -> None:
    file = tmp_path / "samples.parquet"
    groups = 4 * MOST_GROUPS
    write(file, [("index", "normal", False, True, number, 100) for number in range(groups)], 1)
    (engine_time,) = engine_times(file).values()
    assert engine_time.operations == MOST_GROUPS
    assert engine_time.took_ms / MOST_GROUPS == pytest.approx(groups / 2, rel=0.15)


@pytest.mark.parametrize("rows_of_group", [100, 400, 1200])
def test_every_task_of_a_long_file_has_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_of_group: int
) -> None:
    file = tmp_path / "samples.parquet"
    tasks = [f"search-{number}" for number in range(12)]
    write(file, [(task, "normal", False, True, 7, 10) for task in tasks for _ in range(100)], rows_of_group)
    monkeypatch.setattr("pacenote.evidence.driver_files.MOST_TIMES", 240)
    assert engine_times(file) == dict.fromkeys(tasks, EngineTime(20, 20, 140, 200 * MS))


@pytest.mark.parametrize("content", [None, b"", b"PAR1 but nothing else", b"PAR1" + bytes(60) + b"PAR1"])
def test_a_file_that_is_missing_or_damaged_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "samples.parquet"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StoreError, match=str(file)):
        engine_times(file)


def test_the_share_allows_for_milliseconds_that_are_not_rounded_up() -> None:
    race = record(tasks=(bulk(), paced()))
    builder = race_builder(race)
    times = {bulk().task: EngineTime(10, 10, 395, 500 * MS), "term": EngineTime(9, 9, 9, 80 * MS)}
    add_engine_times(builder, times, ())
    evidence = builder.build()
    assert evidence.value(Window(bulk().task), "task.took_share") == pytest.approx(0.8)
    short = evidence.value(Window("term"), "task.took_share")
    assert isinstance(short, Unknown)
    assert short.reasons[0][1] == "service times below 10 ms are too short for whole milliseconds"
    assert EngineTime(1, 1, 30, 20 * MS).took_share == 1.0


@pytest.mark.parametrize(("operation_type", "share"), [("bulk", 0.5), ("search", 0.45)])
def test_the_share_allows_for_the_replies_of_bulks_that_were_sent_again(
    operation_type: str, share: float
) -> None:
    """Of what is tried again as a whole, only the last reply counts."""
    counts = OperationTotals(100, 100, 0, 0, 200, 0, 100, 300)
    task = bulk(operation_type=operation_type, accounting=counts)
    builder = race_builder(record(tasks=(task,)))
    add_engine_times(builder, {task.task: EngineTime(10, 10, 85, 200 * MS)}, (task,))
    assert builder.build().value(Window(task.task), "task.took_share") == pytest.approx(share)
