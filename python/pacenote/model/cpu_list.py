"""Sets of CPUs in the form of the kernel: `0-3,6`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

MAX_CPU = 8191
"""The highest number of a CPU that Linux supports."""

_PART = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


def parse_cpus(text: str) -> tuple[int, ...]:
    """Returns the CPUs of a list such as `0-3,6`, sorted. Raises ValueError."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last > MAX_CPU or first > last:
            raise ValueError(f"'{text}' is not a list of CPUs such as 0-3,6")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def recorded_cpus(text: str | None) -> frozenset[int]:
    """Returns the CPUs that a record of any origin states; none if it states none, or what is not a list."""
    with suppress(ValueError):
        return frozenset(parse_cpus(text)) if text else frozenset()
    return frozenset()


def format_cpus(cpus: Iterable[int]) -> str:
    """Returns a list of CPUs such as `0-3,6`."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and ranges[-1][-1] == cpu - 1:
            ranges[-1][1:] = [cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, cpu_range)) for cpu_range in ranges)
