"""Reads parts of what the driver reports about itself (`driver` in `race.json`), in any version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pacenote.model.codec import MAX_INTEGER


def listed(values: Mapping[str, object], key: str) -> Sequence[object]:
    """Returns a list of the report; an empty one for what is not a list."""
    found = values.get(key)
    return found if isinstance(found, list | tuple) else ()


def threads_of(driver: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yields the names and the records of the driver's threads."""
    for position, thread in enumerate(listed(driver, "threads")):
        if isinstance(thread, Mapping):
            yield str(thread.get("name", position)), thread


def part(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Returns an object of the report; an empty one for what is not an object."""
    found = values.get(key)
    return found if isinstance(found, Mapping) else {}


def number(values: Mapping[str, object], key: str) -> float:
    """Returns a number that the driver can have measured; 0 for others and for what is not a number."""
    value = values.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) <= MAX_INTEGER else 0.0
