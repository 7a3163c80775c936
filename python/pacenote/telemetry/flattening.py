"""Numbers in the documents of an engine, with the units and kinds that their names state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pacenote.model.telemetry_sample import SampleKind
from pacenote.telemetry.sampler import MAX_NAME, SampledValue

_UNITS = (
    ("_in_millis", "ms"), ("_millis", "ms"), ("_in_nanos", "ns"), ("_nanos", "ns"), ("_micros", "us"),
    ("_in_bytes", "B"), ("_bytes", "B"), ("_kilobytes", "KiB"), ("_percent", "%"), (".percent", "%"),
    ("_percentage", "%"),
)  # fmt: skip
"""Ends of names, with the units of their values."""

_COUNTER = re.compile(
    r"(?:^|[._])(?:total|completed|rejected|rejections|tripped|evictions|hits?_count|miss_count|hits|misses|"
    r"collection_count|collection_time|cache_count|periodic|operations|read_kilobytes|write_kilobytes|"
    r"number_of_elapsed_periods|number_of_times_throttled|time_throttled|usage|(?:rx|tx)_(?:count|size)|"
    r"total_(?:\w+)|\w+_total|\w*time|failed|index_failed)$"
)
"""Names, without their unit, of what only grows while a node runs."""

_GAUGE = re.compile(
    r"(?:^|[._])(?:auto_throttle|total_capacity|uptime|timestamp|heap_\w+|total_virtual|"
    r"total_auto_throttle|(?:mem|swap|fs|data)[._]total)$"
)
"""Names that resemble those of counters."""

_LONGEST_END = 256
"""Characters at the end of a name that tell its kind: the time of the patterns grows with their square."""

_NUMBER = re.compile(r"(-?\d{1,400}(?:\.\d{1,400})?)%?")


def figures(
    document: object, prefix: str = "", separator: str = ".", labels: Mapping[str, str] | None = None
) -> Iterator[SampledValue]:
    """Yields the numbers of a document, named by the keys on the way to them, without those of lists.

    The unit of a value is in its own column, so that `store.size_in_bytes` is `store.size`, unless the
    separator is Rally's underscore: then the names are Rally's. Truth values are 0 or 1, percentages in text
    are numbers, and other text is left out, as are values with longer names than `MAX_NAME`.
    """
    for name, value in _numbers(document, prefix, separator):
        bare, unit = split_unit(name)
        yield SampledValue(name if separator == "_" else bare, value, unit, kind_of(bare), labels or {})


def split_unit(name: str) -> tuple[str, str]:
    """Returns a name of the engine without its unit, and the unit; empty if the name states none."""
    for end, unit in _UNITS:
        if name.endswith(end):
            keeps = unit in ("%", "KiB")
            return (name if keeps else name.removesuffix(end)), unit
    return name, ""


def kind_of(name: str) -> SampleKind:
    """Returns whether a value with this name, without its unit, only grows while its node runs."""
    end = name[-_LONGEST_END:]
    return "counter" if _COUNTER.search(end) and not _GAUGE.search(end) else "gauge"


def number(value: object) -> float | None:
    """Returns a value of a document as a number, or None if it is none."""
    if isinstance(value, int | float):
        return float(value)
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else float(match[1])


def _numbers(document: object, prefix: str, separator: str) -> Iterator[tuple[str, float]]:
    if isinstance(document, Mapping):
        for key, value in document.items():
            if len(prefix) + len(key) > MAX_NAME:
                continue
            name = f"{prefix}{separator}{key}" if prefix else str(key)
            yield from _numbers(value, name, separator)
    elif not isinstance(document, Sequence) or isinstance(document, str):
        value = number(document)
        if value is not None and prefix:
            yield prefix, value
