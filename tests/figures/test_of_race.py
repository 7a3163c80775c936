"""The figures of a race: only those of the metrics that are asked for are made, and with short names."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.errors import PacenoteError
from pacenote.figures.catalogue import ENGINE, METRICS
from pacenote.figures.of_race import part_names, race_figures, task_figures
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import ValueSummary
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, SystemMetrics, TransformFigure
from pacenote.model.target_rate import TargetRate
from support.records import bulk, paced, part, record, task

MEASURED = record(
    tasks=(
        bulk(parts=(part("search"),), values={"recall": ValueSummary(10, 0.9, 0.8, 1.0)}),
        paced("term"),
    ),
    targets={"term": TargetRate(1_000.0, "ops", 1_000.0)},
    saturation=RecordedSaturation("term", "between 10 ops/s and 20 ops/s", 10.0, 20.0, "engine"),
)
IMPORTED = record(
    tasks=(),
    imported=ImportedResults(
        *("rally", "summary", "report.csv", "0" * 64),
        values=(
            ImportedValue("99th percentile service time", "term", 4.0, "ms"),
            ImportedValue("Mean Throughput", "term", 800.0, "ops/s"),
            ImportedValue("error rate", "term", 0.5, "%"),
            ImportedValue("Store size", "", 3.0, "GB"),
        ),
    ),
)


def test_each_metric_can_be_asked_for_alone():
    for race in (MEASURED, IMPORTED):
        every = list(race_figures(race))
        for metric in METRICS.values():
            own = [figure for figure in every if figure.metric is metric]
            assert list(race_figures(race, {metric})) == own, metric.key
        assert list(race_figures(race, ())) == []


def test_the_races_of_this_test_have_figures_of_all_metrics():
    of_lists = {metric for metric in ENGINE if metric.part}
    known = {figure.metric for race in (MEASURED, IMPORTED) for figure in race_figures(race)}
    assert set(METRICS.values()) - known == of_lists


def _strings(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the places of all texts, and of all keys, of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*keys, key)
        yield from _strings(item, (*keys, key))


def _with_long(document: Any, keys: tuple[Any, ...], *, as_key: bool) -> Any:
    """Returns a copy of a document with a long text, or a long key, at a place."""
    changed = copy.deepcopy(document)
    container = changed
    for key in keys[:-1]:
        container = container[key]
    if as_key and isinstance(container, dict):
        container["A" * 2_000] = container.pop(keys[-1])
    else:
        container[keys[-1]] = "A" * 2_000
    return changed


@pytest.mark.parametrize("kind", ["own", "imported"])
def test_no_figure_repeats_a_long_name(kind: str) -> None:
    system = SystemMetrics(
        ml_processing_time=(MlProcessingTime("job", 1.0, 2.0, 3.0, 4.0),),
        total_transform_search_times=(TransformFigure("transform", 1.0, "ms"),),
        disk_usage_total=(FieldUsage("index", "field", 5.0),),
    )
    own = replace(MEASURED, system=system, documents=(DocumentCheck("index", 3, 3),))
    document = json.loads(json.dumps((own if kind == "own" else IMPORTED).to_document()))
    places = [
        (keys, as_key)
        for part in ("tasks", "results", "documents", "target-rates", "saturation", "imported")
        for keys in _strings(document.get(part), (part,))
        for as_key in (False, True)
    ]
    assert len(places) > 40
    read = 0
    for keys, as_key in places:
        with contextlib.suppress(PacenoteError):
            race = RaceRecord.from_document(_with_long(document, keys, as_key=as_key))
            read += 1
            for figure in race_figures(race):
                names = (figure.task, figure.operation, figure.part, figure.unit)
                assert max(map(len, names)) < 2_000, keys
    assert read


@pytest.mark.parametrize(
    ("operations", "names"),
    [
        ([("x", "search"), ("y", "search")], ("x", "y")),
        ([("x", "search"), ("x", "sleep"), ("y", "search")], ("x (search)", "x (sleep)", "y")),
        # The same operation twice has one name, which may equal that of a different one with its type.
        ([("x", "search"), ("x", "search")], ("x", "x")),
        (
            [("x", "search"), ("x", "sleep"), ("x (sleep)", "bulk")],
            ("x (search)", "x (sleep)", "x (sleep) (bulk)"),
        ),
    ],
)
def test_sub_operations_of_several_types_with_one_name_are_told_apart(operations, names):
    parts = [part(name, operation_type=operation_type) for name, operation_type in operations]
    assert part_names(parts) == names
    figures = task_figures(task(parts=tuple(parts)))
    assert {figure.part for figure in figures if figure.part} == set(names)
