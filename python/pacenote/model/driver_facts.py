"""Reads parts of what the driver reports about itself (`driver` in `race.json`), in any version."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.model.cpu_list import MAX_CPU

_MAX_INTEGER = 2**64 - 1
"""The largest whole number that the driver reports: it counts with 64 bits."""

_LAST_NS = 7_258_118_400_000_000_000
"""The year 2200, in nanoseconds since 1970: ten years later, a time still fits into 64 bits."""


class OwnCores(Struct, frozen=True):
    """The cores that the driver may use during a race, or all of its machine; 0 for what is not known."""

    numbers: tuple[int, ...] | None
    """Their numbers; None for all of the machine, and if only the use of all is known."""

    stolen_share: float
    """Share of their time that the hypervisor gave to other guests."""

    most_stolen_share: float
    """The same, of the ten seconds with the highest one."""

    most_stolen_from_s: float
    """When these began, in seconds since the driver started."""


def listed(values: Mapping[str, object], key: str) -> Sequence[object]:
    """Returns a list of the report; an empty one for what is not a list."""
    value = values.get(key)
    return value if isinstance(value, list | tuple) else ()


def threads_of(driver: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yields the names and the records of the driver's threads."""
    for position, thread in enumerate(listed(driver, "threads")):
        if isinstance(thread, Mapping):
            yield str(thread.get("name", position)), thread


def part(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Returns an object of the report; an empty one for what is not an object."""
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def number(values: Mapping[str, object], key: str) -> float:
    """Returns a number that the driver can have measured; 0 for others and for what is not a number."""
    value = values.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) <= _MAX_INTEGER else 0.0


class LateJoins(Struct, frozen=True):
    """Clients that were still in another task of their parallel element when others began this one: they
    skipped what they had missed of their own schedules, or were missing from the schedule that they share.
    """

    clients: int
    """Number of these clients."""

    missed_s: float
    """Time of the task that they missed, in seconds, summed over them."""

    missed_measured_s: float | None
    """The part of it in the measured window, in seconds, if that begins at a planned time or waits for the
    backlog of the warm-up; otherwise all of it. None if an older version did not record it.
    """

    latest_s: float
    """When the last of them joined, in seconds since the task began."""


def late_joins(driver: Mapping[str, object], task_index: int) -> LateJoins | None:
    """Returns the clients that joined a task late, by its position in the plan; None if there were none, or
    if an older version did not record them.
    """
    for joins in listed(driver, "late_joins"):
        if isinstance(joins, Mapping) and joins.get("index") == task_index:
            return LateJoins(
                clients=int(number(joins, "clients")),
                missed_s=number(joins, "missed_s"),
                missed_measured_s=number(joins, "missed_measured_s")
                if "missed_measured_s" in joins
                else None,
                latest_s=number(joins, "latest_s"),
            )
    return None


def started_ns(driver: Mapping[str, object]) -> int | None:
    """Returns when the first task of the race began, in nanoseconds since 1970; None if that is not known."""
    value = driver.get("started_unix_ns")
    return value if type(value) is int and 0 <= value < _LAST_NS else None


def cpu_count(driver: Mapping[str, object]) -> int:
    """Returns the number of CPUs that the driver may use; 0 if it is unknown. Earlier versions recorded only
    the numbers of CPUs that are not all of the machine.
    """
    cores = part(driver, "cpus")
    return int(number(cores, "count")) or len(listed(cores, "numbers"))


def own_cores(driver: Mapping[str, object]) -> OwnCores:
    """Returns what happened to the cores that the driver may use. Earlier versions recorded it of all cores
    of the machine.
    """
    cores = part(driver, "cpus")
    cpus = [cpu for cpu in listed(cores, "numbers") if isinstance(cpu, int) and 0 <= cpu <= MAX_CPU]
    return _cores(cores or part(driver, "machine"), tuple(cpus) or None)


def cores_around(driver: Mapping[str, object], cpus: Collection[int]) -> OwnCores:
    """Returns what happened to the cores that the driver may use, if it may use these, or else to all of the
    machine; without `cpus`, all are meant.
    """
    own = own_cores(driver)
    if own.numbers is None or (cpus and set(cpus) <= set(own.numbers)):
        return own
    return _cores(part(driver, "machine"), None)


def _cores(cores: Mapping[str, object], numbers: tuple[int, ...] | None) -> OwnCores:
    window = part(cores, "most_stolen")
    return OwnCores(
        numbers=numbers,
        stolen_share=number(cores, "stolen_share"),
        most_stolen_share=number(window, "share"),
        most_stolen_from_s=number(window, "from_s"),
    )
