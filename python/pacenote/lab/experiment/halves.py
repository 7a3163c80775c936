"""The halves of this machine on which the two engines of a duet race at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.model.cpu_list import format_cpus, parse_cpus
from pacenote.model.experiment import Half

_SYS = Path("/sys")
_DRIVER_SHARE = 4
"""One core in so many of a half is that of the driver, if the half has more than one."""


def machine_halves(usable: Iterable[int] | None = None, sys: Path = _SYS) -> tuple[Half, ...]:
    """Returns the two halves of the CPUs that this process may use.

    The hardware threads of a core are in the same half, and so are those of a package if it is one of two. An
    odd core is in neither. Raises UsageError with fewer than 2 cores.
    """
    cores = _cores(os.sched_getaffinity(0) if usable is None else usable, sys / "devices/system/cpu")
    size = len(cores) // 2
    if size == 0:
        raise UsageError(
            "a duet needs 2 cores, one for each engine with its driver, but only 1 may be used here",
            hint='race the variants one after the other, with design = "pair"',
        )
    return _half(cores[:size]), _half(cores[-size:])


def _cores(usable: Iterable[int], cpus: Path) -> list[tuple[int, ...]]:
    """Returns the hardware threads of each core, sorted by package and number."""
    cores: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for cpu in sorted(usable):
        topology = cpus / f"cpu{cpu}/topology"
        try:
            threads = parse_cpus(_text(topology / "thread_siblings_list"))
            package = int(_text(topology / "physical_package_id"))
        except ValueError:
            threads, package = (cpu,), 0
        cores.setdefault((package, threads), []).append(cpu)
    return [tuple(cores[key]) for key in sorted(cores)]


def _half(cores: list[tuple[int, ...]]) -> Half:
    """The driver has cores of its own unless there is only one."""
    drivers = max(1, len(cores) // _DRIVER_SHARE)
    nodes = cores[:-drivers] or cores
    return Half(_cpus(nodes), _cpus(cores[-drivers:]))


def _cpus(cores: list[tuple[int, ...]]) -> str:
    return format_cpus(cpu for core in cores for cpu in core)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
