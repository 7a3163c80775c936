"""Reads the documents of races: Rally's `race.json`, `test_run.json` and `test_execution.json` of OpenSearch
Benchmark, of all versions.

A key that is missing or has another type than expected is treated as not stated, because it differs between
versions; only a document without results is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pacenote.errors import PacenoteError
from pacenote.figures.catalogue import ENGINE
from pacenote.figures.metric import VALUE
from pacenote.importers.found_race import FoundRace, RaceFacts
from pacenote.importers.headers import parse_timestamp
from pacenote.importers.metrics import imported_value, is_figure_of_task
from pacenote.importers.names import MAX_FIGURES, UnreadFigures, public_name
from pacenote.importers.numbers import figure_of, is_no_value
from pacenote.model.foreign_messages import shown_value
from pacenote.model.imported import ERROR_RATE, TIME_KINDS, ImportedTool, ImportedValue
from pacenote.model.printable import shortened, whole_line

FILE_NAMES = ("race.json", "test_run.json", "test_execution.json", "aggregated_test_run.json")
"""Names of the documents that both tools store."""

MAX_TASKS = 5_000
"""Number of tasks that a race may have."""

_RACE_IDS = ("race-id", "trial-id", "test-run-id", "test-execution-id")
_TIMESTAMPS = ("race-timestamp", "trial-timestamp", "test-run-timestamp", "test-execution-timestamp")
_CARS = ("car", "cluster-config-instance", "provision-config-instance")

_NUMBERS = re.compile(r"\d[\d_.]*", re.ASCII)
"""A key such as `99_9`, of a percentile; in Rally's first versions it had a dot."""

_MAX_TEXT = 16 << 10
"""Number of characters of a text that are read; names have at most 300."""

_SHOWN_VALUE = 40
"""Number of characters of a value that a message shows."""


def is_race_document(document: object) -> bool:
    """Returns whether a JSON document is one of a race."""
    return isinstance(document, Mapping) and any(key in document for key in (*_RACE_IDS, *_TIMESTAMPS))


def races_in_document(document: Mapping[str, Any]) -> tuple[tuple[FoundRace, ...], tuple[str, ...]]:
    """Returns the race of a document, or the part of each cluster if the race had several, and a sentence for
    each figure that cannot be read.

    Raises PacenoteError if it has no results, or too many.
    """
    if "format" in document and "verdict" in document:
        raise PacenoteError(
            "it is a race of Pacenote",
            hint="copy its folder into the folder `races` below PACENOTE_HOME",
        )
    facts, stored = _facts(document), document.get("results")
    clusters: list[Any] = stored if isinstance(stored, list) else [stored]
    races, unread = [], UnreadFigures()
    left = MAX_FIGURES
    for results in clusters:
        figures = _values(results, unread) if isinstance(results, Mapping) else ()
        values = tuple(islice(figures, left + 1))
        left -= len(values)
        if left < 0:
            raise PacenoteError(f"the race has more than {MAX_FIGURES:,} figures")
        if any(map(is_figure_of_task, values)):
            name = _text(results, "cluster_name") or ""
            races.append(
                FoundRace(form="race", facts=facts, values=values, cluster=name if len(clusters) > 1 else "")
            )
    if not races:
        what = "results without any task" if stored else "no results"
        raise PacenoteError(f"the race has {what}", hint="it did not finish, or measured nothing")
    return tuple(races), unread.texts()


def _facts(document: Mapping[str, Any]) -> RaceFacts:
    is_osb = "benchmark-version" in document or "workload" in document
    tool: ImportedTool = "opensearch-benchmark" if is_osb else "rally"
    cluster = _mapping(document, "cluster")
    tags = {**_mapping(document, "user-tags"), **_single_tag(document)}
    averaged = tags.get("aggregation-of-runs")
    return RaceFacts(
        tool=tool,
        tool_version=_text(document, "benchmark-version", "rally-version"),
        race_id=_text(document, *_RACE_IDS),
        timestamp=parse_timestamp(_text(document, *_TIMESTAMPS) or ""),
        track=_text(document, "track", "workload"),
        track_revision=_text(document, "track-revision", "workload-revision"),
        track_params=_mapping(document, "track-params", "workload-params"),
        challenge=_text(document, "challenge", "test_procedure"),
        car=tuple(_names(document)),
        car_params=_mapping(
            document, "car-params", "cluster-config-instance-params", "provision-config-instance-params"
        ),
        plugin_params=_mapping(document, "plugin-params"),
        team_revision=_text(cluster, "team-revision", "cluster-config-revision", "provision-config-revision"),
        pipeline=_text(document, "pipeline"),
        user_tags={name: value for name, value in tags.items() if name != "aggregation-of-runs"},
        environment=_text(document, "environment"),
        version=_text(cluster, "distribution-version"),
        flavor=_text(cluster, "distribution-flavor"),
        build_hash=_text(cluster, "revision"),
        averaged_runs=len(averaged) if isinstance(averaged, list) else 0,
    )


def _single_tag(document: Mapping[str, Any]) -> Mapping[str, object]:
    """Returns the tag of Rally's first versions, which had only one: `name:value`."""
    name, colon, value = (_text(document, "user-tag") or "").partition(":")
    return {name: value} if colon else {"tag": name} if name else {}


def _names(document: Mapping[str, Any]) -> Iterator[str]:
    stored = next((document[key] for key in _CARS if document.get(key)), None)
    if isinstance(stored, str):
        yield from stored.split("+")
    elif isinstance(stored, list):
        yield from (one for one in stored if isinstance(one, str))


def _text(document: Mapping[str, Any], *keys: str) -> str | None:
    value = next((document[key] for key in keys if document.get(key) not in (None, "")), None)
    return whole_line(shortened(str(value), _MAX_TEXT)) if isinstance(value, str | int | float) else None


def _mapping(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return next((document[key] for key in keys if isinstance(document.get(key), Mapping)), {})


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return figure_of(value)


def _values(results: Mapping[str, Any], unread: UnreadFigures) -> Iterator[ImportedValue]:
    """Yields the figures, and adds those that cannot be read to `unread`."""
    for metric, task, value, unit in _figures(results):
        if value is None or (isinstance(value, str) and is_no_value(value)):
            continue
        number = _number(value)
        value_or_problem = (
            f"'{shortened(shown_value(value), _SHOWN_VALUE)}' is not a figure that can be read"
            if number is None
            else imported_value(metric, task, number, unit)
        )
        if isinstance(value_or_problem, ImportedValue):
            yield value_or_problem
        else:
            unread.add(metric, task, value_or_problem)


_Figure = tuple[str, str, object, str]
"""Metric, task, value and unit. The names are those of `public_name`: many figures have the same."""


def _figures(results: Mapping[str, Any]) -> Iterator[_Figure]:
    yield from _system_figures(results)
    stored = results.get("op_metrics")
    if isinstance(stored, list) and len(stored) > MAX_TASKS:
        raise PacenoteError(f"the race has more than {MAX_TASKS:,} tasks")
    for entry in stored if isinstance(stored, list) else []:
        if isinstance(entry, Mapping) and (task := _task(entry)):
            yield from _task_figures(entry, task)
    recalls = results.get("correctness_metrics")
    for entry in recalls if isinstance(recalls, list) else []:
        if isinstance(entry, Mapping) and (task := _task(entry)):
            for name in (key for key in entry if str(key).startswith("recall@")):
                yield public_name(f"Mean {name}"), task, _mapping(entry, name).get("mean"), ""


def _task(entry: Mapping[str, Any]) -> str:
    return public_name(_text(entry, "task", "operation") or "")


def _unit(spread: Mapping[str, Any], default: str) -> str:
    return public_name(_text(spread, "unit") or default)


def _system_figures(results: Mapping[str, Any]) -> Iterator[_Figure]:
    for metric in ENGINE:
        if metric.row is None or metric.part:
            continue
        if metric.statistics == (VALUE,):
            yield metric.row.label, "", results.get(metric.result), metric.unit
            continue
        spread = _mapping(results, metric.result)
        unit = _unit(spread, metric.unit)
        for which in metric.statistics:
            yield metric.row.named(which.capitalize()), "", spread.get(which), unit
    yield "Doc count", "", results.get("docs_count"), ""


def _task_figures(entry: Mapping[str, Any], task: str) -> Iterator[_Figure]:
    for key in ("throughput", *(kind.replace(" ", "_") for kind in TIME_KINDS)):
        if entry.get(key) is not None and not isinstance(entry[key], Mapping):
            yield key, task, shown_value(entry[key]) or "nothing", ""
    throughput = _mapping(entry, "throughput")
    unit = _unit(throughput, "")
    for which in ("min", "mean", "median", "max"):
        # The averages of OpenSearch Benchmark have other names for the smallest and the largest value.
        value = throughput.get(which, throughput.get(f"overall_{which}"))
        yield f"{which.capitalize()} Throughput", task, value, unit
    for kind in TIME_KINDS:
        times = _mapping(entry, kind.replace(" ", "_"))
        unit = _unit(times, "ms")
        for key in sorted(filter(_NUMBERS.fullmatch, map(str, times)), key=_percentile_order):
            metric = f"{key.replace('_', '.').removesuffix('.0')}th percentile {kind}"
            yield public_name(metric), task, times.get(key), unit
    stated = entry.get("error_rate")
    rate = _number(stated)
    yield ERROR_RATE, task, stated if rate is None else rate * 100, "%"


def _percentile_order(key: str) -> float:
    """Returns the percentile of a key such as `99_9`; a key that is not one comes last."""
    try:
        return float(key.replace("_", "."))
    except ValueError:
        return math.inf
