"""The CPUs that nodes and the driver may use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from pacenote.errors import EngineError, UsageError
from pacenote.model.cpu_list import format_cpus, parse_cpus
from pacenote.model.node_options import NodeOptions


def usable_cpus() -> frozenset[int]:
    """Returns the CPUs that this process may use."""
    return frozenset(os.sched_getaffinity(0))


def cpus_of_process(pid: int) -> frozenset[int]:
    """Returns the CPUs that a process may use, as its affinity and its control group allow; empty if that is
    not known, because the process has ended.
    """
    with contextlib.suppress(OSError):
        return frozenset(os.sched_getaffinity(pid))
    return frozenset()


def online_cpus(sys: Path = Path("/sys")) -> frozenset[int]:
    """Returns the CPUs of the machine that are online; none if the kernel does not say."""
    with contextlib.suppress(OSError, ValueError):
        return frozenset(parse_cpus((sys / "devices/system/cpu/online").read_text().strip()))
    return frozenset()


def check_cpus(cpus: Iterable[int], option: str) -> None:
    """Raises UsageError for CPUs that this process may not use."""
    usable = usable_cpus()
    missing = sorted(set(cpus) - usable)
    if missing:
        named = f"CPU {missing[0]} does" if len(missing) == 1 else f"CPUs {format_cpus(missing)} do"
        raise UsageError(
            f"{option}: {named} not exist or may not be used here",
            hint=f"choose from {format_cpus(usable)}",
        )


def overlap_warnings(nodes: NodeOptions, driver: Sequence[int]) -> tuple[str, ...]:
    """Returns a warning if CPUs were selected for nodes or the driver, and both may use some of them."""
    if not nodes.cpus and not driver:
        return ()
    usable = usable_cpus()
    of_driver = frozenset(driver) or usable
    of_nodes = frozenset(cpu for cpus in nodes.cpus for cpu in cpus) or usable
    shared = of_driver & of_nodes
    if not shared:
        return ()
    other, rest = ("--driver-cpus", usable - of_nodes) if nodes.cpus else ("--node-cpus", usable - of_driver)
    hint = f"; {other}={format_cpus(rest)} separates them" if rest else ""
    return (f"the driver and the nodes share CPU {format_cpus(shared)}, so each slows the other down{hint}",)


@contextlib.contextmanager
def on_cpus(cpus: Sequence[int]) -> Generator[None, None, None]:
    """Lets all threads of this process, and those that they start, use only these CPUs during the block; an
    empty list has no effect. Raises EngineError.
    """
    if not cpus:
        yield
        return
    before = {thread: os.sched_getaffinity(thread) for thread in _threads()}
    try:
        for thread in before:
            _use(thread, cpus)
        yield
    finally:
        # Threads that were started in the meantime get the CPUs of the main thread.
        usable = before[os.getpid()]
        for thread in _threads():
            _use(thread, before.get(thread, usable))


def _use(thread: int, cpus: Iterable[int]) -> None:
    try:
        os.sched_setaffinity(thread, cpus)
    except ProcessLookupError:
        pass  # The thread has ended.
    except OSError as failure:
        raise EngineError(
            f"--driver-cpus: the kernel does not allow CPU {format_cpus(cpus)}: {failure.strerror}",
            hint="omit --driver-cpus",
        ) from failure


def _threads() -> list[int]:
    return [int(task.name) for task in Path("/proc/self/task").iterdir()]
