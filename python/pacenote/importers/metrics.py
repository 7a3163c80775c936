"""Gives the figures of all versions of Rally and OpenSearch Benchmark the names and units of Rally's current
report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pacenote.model.imported import ERROR_RATE, THROUGHPUT, ImportedValue, percentile_of, throughput_of

_TIMES = {
    "ns": 1e-6,
    "us": 1e-3,
    "µs": 1e-3,
    "μs": 1e-3,
    "ms": 1.0,
    "msec": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "second": 1e3,
    "seconds": 1e3,
    "m": 60e3,
    "min": 60e3,
    "mins": 60e3,
    "minutes": 60e3,
    "h": 3600e3,
}
"""Units of time in milliseconds."""

_SIZES = {
    "b": 1.0,
    "bytes": 1.0,
    "kb": 1024.0,
    "kib": 1024.0,
    "mb": 1024.0**2,
    "mib": 1024.0**2,
    "gb": 1024.0**3,
    "gib": 1024.0**3,
    "tb": 1024.0**4,
    "tib": 1024.0**4,
}
"""Units of size in bytes; Rally's GB are 1024³ bytes."""

_UNITS: tuple[Mapping[str, float], ...] = (_TIMES, _SIZES)

_SHARD_KINDS = "indexing|indexing throttle|merge|merge throttle|refresh|flush"
_OLD_TOTAL = re.compile(rf"(?:Total )?({_SHARD_KINDS}) time", re.IGNORECASE)
_OLD_PER_SHARD = re.compile(rf"(Min|Median|Max) ({_SHARD_KINDS}) time per shard", re.IGNORECASE)
_PER_SHARD = re.compile(
    rf"(Min|Median|Max) cumulative ({_SHARD_KINDS}) time across primary shards?", re.IGNORECASE
)
_TOTAL = re.compile(rf"Cumulative ({_SHARD_KINDS}) (time|count) of primary shards", re.IGNORECASE)
_COLLECTOR = re.compile(
    r"Total (Young Gen|Old Gen|ZGC Cycles|ZGC Pauses) GC(?: (time|count))?", re.IGNORECASE
)
_PIPELINES = re.compile(r"Total Ingest Pipeline (count|time|failed)", re.IGNORECASE)
_NAMED_PERCENTILE = re.compile(r"\d(?:th|st|nd|rd)?[- ]percentile", re.IGNORECASE)
_KIND_OF_TIME = "(latency|service[- _]time|processing[- _]time)"
_PERCENTILE = re.compile(rf"(\d+(?:\.\d+)?)(?:th|st|nd|rd)?[- ]percentile[- ]{_KIND_OF_TIME}", re.IGNORECASE)
_SHORT_PERCENTILE = re.compile(rf"p(\d+(?:\.\d+)?)[- ]{_KIND_OF_TIME}", re.IGNORECASE)
_THROUGHPUT = re.compile(r"(min|mean|median|max)(?:imum)?[- ]throughput", re.IGNORECASE)
_WITH_UNIT = re.compile(r"(.+?) ?\[(docs/s|ops/s|ms|s|min|%|[KMG]B)\]")
_OLD_PERCENTILE = re.compile(r"(?:Query latency )?(.+?) ?\((\d+(?:\.\d+)?) percentile\)", re.IGNORECASE)
_OLD_THROUGHPUT = re.compile(r"(Min|Median|Max) (Indexing) Throughput", re.IGNORECASE)
_ERROR_RATE = re.compile(r"error[- _]rate", re.IGNORECASE)
_SHOWN_UNIT = 20
"""Number of characters of a unit that a message shows."""

_SIZE_NAMES = {"dataset size", "store size", "translog size", "index size"}
_PERIODS = {"/s": 1.0, "/sec": 1.0, "/second": 1.0, "/min": 1 / 60, "/h": 1 / 3600}
"""Periods of rates, per second."""


def first_versions(metric: str) -> tuple[str, str, str] | None:
    """Returns metric, task and unit of a metric of the first versions of Rally, whose tables had only this
    column, such as `Query latency term (50.0 percentile) [ms]`; None for a metric of another version.
    """
    match = _WITH_UNIT.fullmatch(metric)
    if match is None:
        return None
    name, unit = match[1], match[2]
    if task := _OLD_PERCENTILE.fullmatch(name):
        return f"{task[2]}th percentile latency", task[1], unit
    if task := _OLD_THROUGHPUT.fullmatch(name):
        return f"{task[1]} Throughput", task[2].lower(), unit
    return name, "", unit


def imported_value(metric: str, task: str, value: float, unit: str) -> ImportedValue | str:
    """Returns a figure under its current name and in its current unit, or why it is none."""
    name, expected = canonical_metric(" ".join(metric.split()))
    if _is_no_percentile(name):
        return "it is not a percentile from 0 to 100"
    if expected is None:
        return ImportedValue(name, task, value, unit)
    if throughput_of(name):
        return _rate(ImportedValue(name, task, value, unit))
    if not unit or unit == expected:
        return ImportedValue(name, task, value, expected)
    factor = _factor(unit, expected)
    if factor is None:
        return f"'{unit[:_SHOWN_UNIT]}' is not a unit of it"
    return ImportedValue(name, task, value * factor, expected)


def _is_no_percentile(name: str) -> bool:
    """Returns whether a metric is called a percentile, but cannot be one."""
    percentile = percentile_of(name)
    return percentile[1] > 100 if percentile else _NAMED_PERCENTILE.search(name) is not None


def canonical_metric(metric: str) -> tuple[str, str | None]:
    """Returns the current name of a metric and its unit: empty for a count, None if the metric is unknown."""
    if match := _PERCENTILE.fullmatch(metric) or _SHORT_PERCENTILE.fullmatch(metric):
        kind = re.sub("[-_]", " ", match[2].lower())
        return f"{float(match[1]):g}th percentile {kind}", "ms"
    if match := _THROUGHPUT.fullmatch(metric):
        return f"{match[1].capitalize()} {THROUGHPUT}", "docs/s"
    if _ERROR_RATE.fullmatch(metric):
        return ERROR_RATE, "%"
    if match := _PER_SHARD.fullmatch(metric) or _OLD_PER_SHARD.fullmatch(metric):
        return f"{match[1].capitalize()} cumulative {match[2].lower()} time across primary shards", "min"
    if match := _OLD_TOTAL.fullmatch(metric):
        return f"Cumulative {match[1].lower()} time of primary shards", "min"
    if match := _TOTAL.fullmatch(metric):
        unit = "min" if match[2].lower() == "time" else ""
        return f"Cumulative {match[1].lower()} {match[2].lower()} of primary shards", unit
    if match := _COLLECTOR.fullmatch(metric):
        # Before Rally 2.1, the name of the time had no last word.
        what = (match[2] or "time").lower()
        return f"Total {match[1]} GC {what}", "s" if what == "time" else ""
    if match := _PIPELINES.fullmatch(metric):
        what = match[1].lower()
        return f"Total Ingest Pipeline {what}", "s" if what == "time" else ""
    if metric.lower() in _SIZE_NAMES:
        return metric.capitalize(), "GB"
    if metric.lower().startswith("heap used for "):
        return f"Heap used for {metric[len('heap used for ') :].lower()}", "MB"
    return ("Segment count", "") if metric.lower() == "segment count" else (metric, None)


def is_known(metric: str) -> bool:
    """Returns whether a metric is one of Rally's report."""
    if first_versions(metric) is not None:
        return True
    return canonical_metric(" ".join(metric.split()))[1] is not None


def is_figure_of_task(value: ImportedValue) -> bool:
    """Returns whether a figure says how fast a task was, or how many operations failed."""
    named = value.metric == ERROR_RATE or throughput_of(value.metric) or percentile_of(value.metric)
    return bool(value.task and named)


def _rate(value: ImportedValue) -> ImportedValue:
    """Returns a throughput per second; a unit without a period is one of Rally's first versions."""
    for period, factor in _PERIODS.items():
        if value.unit.lower().endswith(period):
            unit = f"{value.unit[: -len(period)].strip()}/s"
            return ImportedValue(value.metric, value.task, value.value * factor, unit)
    return value


def _factor(unit: str, expected: str) -> float | None:
    """Returns by what a value in `unit` is multiplied, or None if both do not measure the same."""
    for units in _UNITS:
        if unit.lower() in units and expected.lower() in units:
            return units[unit.lower()] / units[expected.lower()]
    if expected == "%" and unit.lower() in ("percent", "pct"):
        return 1.0
    return None
