"""Counts the driver's instructions per operation and compares them with `budget.json`: `make budget`.

Runs a short and a long race under valgrind's callgrind, against a server in a separate process; the
difference between the counts divided by the difference between the numbers of operations is the count per
operation. Unlike a duration, it hardly depends on the load on the machine. A count above the tolerance is a
regression. A count below the tolerance requires a new budget, because the improvement could hide a later
regression. Only the worker thread is counted, not the collector, whose work depends on the duration of the
race. The worker must not allocate memory for each operation.

The exit code is 1 if a count is outside the tolerance. Without valgrind, a message is printed and the exit
code is 0.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from machine import run, temporary_folder
from outcome import BenchmarkError

_HERE = Path(__file__).parent
_BUDGET = _HERE / "budget.json"
_PROGRAM = _HERE.parent / "target" / "release" / "pacenote-instructions"
_TOLERANCE_PERCENT = 5.0
_TOLERATED_ALLOCATIONS = 0.1
"""Tolerated allocations per operation: sending recorded windows allocates a few times per second."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of operation whose instructions are counted."""

    name: str
    """Name of the workload in the `instructions` program."""

    clients: int
    """Number of clients in both races."""

    operations: int
    """Operations of each client in the short race."""


_WORKLOADS = (
    Workload("search", 1, 4000),
    Workload("search-16-clients", 16, 250),
    Workload("search-paced", 1, 150),
    Workload("bulk-100", 1, 800),
)


class PerOperation(NamedTuple):
    """Counts per operation; compared by instructions first."""

    instructions: int
    """Executed instructions."""

    allocations: float
    """Calls of memory allocators."""


@dataclass(frozen=True, slots=True)
class Count:
    """The counts that callgrind took in the worker thread of one race."""

    instructions: int
    """Executed instructions."""

    allocations: int
    """Calls of memory allocators."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares the counts with the budget, or writes a new budget; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--renew", action="store_true", help="write the counts as the new budget")
    given = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("instructions are not counted: valgrind is not installed (apt-get install valgrind)")
        return 0
    budget = {} if given.renew else json.loads(_BUDGET.read_text())["instructions_per_operation"]
    try:
        counted = {each.name: _nearest(each, budget.get(each.name)) for each in _WORKLOADS}
    except BenchmarkError as error:
        print(f"instructions could not be counted: {error}", file=sys.stderr)
        return 1
    allocating = [name for name, count in counted.items() if count.allocations > _TOLERATED_ALLOCATIONS]
    for name in allocating:
        print(f"{name}: {counted[name].allocations:.2f} allocations per operation instead of none")
    instructions = {name: count.instructions for name, count in counted.items()}
    if given.renew:
        document = {"instructions_per_operation": instructions, "counted_with": _tools()}
        _BUDGET.write_text(json.dumps(document, indent=1) + "\n")
        print(f"{_BUDGET.name} has been renewed")
        return 1 if allocating else 0
    return 1 if _outside(instructions) or allocating else 0


def _outside(counted: Mapping[str, int]) -> bool:
    """Prints every count with its budget; returns whether any count is outside the tolerance."""
    budget = json.loads(_BUDGET.read_text())
    outside = False
    for name, count in counted.items():
        allowed = budget["instructions_per_operation"][name]
        percent = 100 * (count / allowed - 1)
        outside = outside or abs(percent) > _TOLERANCE_PERCENT
        compared = f"{count:,} instructions per operation, budget {allowed:,}, {percent:+.1f} %"
        print(f"{name}: {compared}{_advice(percent)}")
    if outside and budget["counted_with"] != _tools():
        print(f"the budget was counted with {budget['counted_with']}, these counts with {_tools()}")
    return outside


def _advice(percent: float) -> str:
    if percent > _TOLERANCE_PERCENT:
        return ": OVER BUDGET. Find the cause, or renew the budget with a reason (make budget BUDGET=--renew)"
    if percent < -_TOLERANCE_PERCENT:
        return ": UNDER BUDGET. Renew the budget (make budget BUDGET=--renew)"
    return ""


def _nearest(workload: Workload, allowed: int | None) -> PerOperation:
    """Returns the count closest to the budget `allowed`, or the median of three counts if it is None.

    A count outside the tolerance is repeated at most twice: the effect of a busy machine varies between runs,
    while that of the code does not.
    """
    counts = [_per_operation(workload)]
    while len(counts) < 3 and (
        allowed is None or abs(counts[-1].instructions / allowed - 1) > _TOLERANCE_PERCENT / 100
    ):
        counts.append(_per_operation(workload))
    if allowed is None:
        return sorted(counts)[len(counts) // 2]
    return min(counts, key=lambda count: abs(count.instructions - allowed))


def _per_operation(workload: Workload) -> PerOperation:
    """Counts two races and returns the difference per additional operation."""
    with temporary_folder() as folder, _server(workload.clients) as port:
        few = _count(workload, workload.operations, port, folder / "few")
        many = _count(workload, 3 * workload.operations, port, folder / "many")
    additional = 2 * workload.operations * workload.clients
    return PerOperation(
        round((many.instructions - few.instructions) / additional),
        (many.allocations - few.allocations) / additional,
    )


@contextmanager
def _server(clients: int) -> Iterator[int]:
    """Runs a server that answers when all of `clients` clients have sent a request; yields its port."""
    with subprocess.Popen([_PROGRAM, "serve", str(clients)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _count(workload: Workload, operations: int, port: int, folder: Path) -> Count:
    """Runs a race under callgrind. Raises BenchmarkError unless there is exactly one profile of a worker."""
    folder.mkdir()
    profile = folder / "profile"
    counting = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={profile}"]
    run([*counting, str(_PROGRAM), "race", str(port), workload.name, str(operations), str(folder)])
    # One file per thread, numbered in the order in which the threads started.
    texts = (path.read_text() for path in folder.glob(f"{profile.name}-*"))
    workers = [text for text in texts if "client_loop::ClientLoop" in text]
    if len(workers) != 1:
        raise BenchmarkError(f"{len(workers)} profiles of worker threads instead of one")
    return _read(workers[0])


def _read(profile: str) -> Count:
    """Reads the counts from the profile of one thread."""
    total = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if total is None:
        raise BenchmarkError("callgrind wrote a profile without a total")
    return Count(int(total[1]), _allocations(profile))


def _allocations(profile: str) -> int:
    """Counts the calls of memory allocators in a profile.

    In a profile, a line names the callee (after the first time, only by its number), and the next line
    contains the number of calls.
    """
    allocators = {
        number
        for number, name in re.findall(r"^c?fn=\((\d+)\) (.+)$", profile, re.MULTILINE)
        if name in {"malloc", "calloc", "realloc", "posix_memalign"}
    }
    calls = re.findall(r"^cfn=\((\d+)\).*\ncalls=(\d+)", profile, re.MULTILINE)
    return sum(int(times) for number, times in calls if number in allocators)


def _tools() -> dict[str, Any]:
    """Returns what the counts depend on besides the code: the tools, the C library and the machine."""
    outputs = (run([tool, "--version"]).output.strip() for tool in ("valgrind", "rustc"))
    valgrind, rustc = (" ".join(re.findall(r"\d+\.\d+[.\d]*", text)[:1]) for text in outputs)
    return {
        "valgrind": valgrind,
        "rustc": rustc,
        "libc": platform.libc_ver()[1],
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
