"""Counts the driver's instructions per operation and holds them against `budget.json`: `make budget`.

A race of few operations and one of more run under valgrind's callgrind, the server in a process of its own;
what the second took more, by operation, is the figure. Unlike times it hardly depends on who else uses the
machine. More than the budget is a regression; less by as much asks for a new budget, or what was won may be
lost unseen. Counted is the thread that drives, not the collector, whose work depends on how many seconds the
race took. That thread may allocate nothing per operation.

The exit code is 1 when a figure is outside, and 0 also where there is no valgrind, which is said.
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
from typing import Any

from machine import run, temporary_folder
from outcome import BenchmarkError

_HERE = Path(__file__).parent
_BUDGET = _HERE / "budget.json"
_PROGRAM = _HERE.parent / "target" / "release" / "pacenote-instructions"
_TOLERANCE_PERCENT = 5.0
_FEW_ALLOCATIONS = 0.1
"""Allocations per operation that are none: a few per second hand over what was recorded."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation, as the program knows it, and how many a client carries out in the shorter race."""

    name: str
    clients: int
    operations: int


_KINDS = (
    Kind("search", 1, 4000),
    Kind("search-16-clients", 16, 250),
    Kind("search-paced", 1, 150),
    Kind("bulk-100", 1, 800),
)


@dataclass(frozen=True, slots=True)
class Count:
    """What the worker did in a race."""

    instructions: int
    allocations: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts, compares or renews, and returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--renew", action="store_true", help="write what is counted as the new budget")
    given = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("instructions are not counted: there is no valgrind (apt-get install valgrind)")
        return 0
    budget = {} if given.renew else json.loads(_BUDGET.read_text())["instructions_per_operation"]
    try:
        counted = {kind.name: _nearest(kind, budget.get(kind.name)) for kind in _KINDS}
    except BenchmarkError as error:
        print(f"instructions could not be counted: {error}", file=sys.stderr)
        return 1
    allocating = [name for name, (_, allocations) in counted.items() if allocations > _FEW_ALLOCATIONS]
    for name in allocating:
        print(f"{name}: {counted[name][1]:.2f} allocations per operation instead of none")
    instructions = {name: each for name, (each, _) in counted.items()}
    if given.renew:
        document = {"instructions_per_operation": instructions, "counted_with": _tools()}
        _BUDGET.write_text(json.dumps(document, indent=1) + "\n")
        print(f"{_BUDGET.name} is renewed")
        return 1 if allocating else 0
    return 1 if _outside(instructions) or allocating else 0


def _outside(counted: Mapping[str, int]) -> bool:
    """Prints every figure beside its budget; whether one is outside."""
    budget = json.loads(_BUDGET.read_text())
    outside = False
    for name, each in counted.items():
        allowed = budget["instructions_per_operation"][name]
        percent = 100 * (each / allowed - 1)
        outside = outside or abs(percent) > _TOLERANCE_PERCENT
        compared = f"{each:,} instructions per operation, budget {allowed:,}, {percent:+.1f} %"
        print(f"{name}: {compared}{_advice(percent)}")
    if outside and budget["counted_with"] != _tools():
        print(f"the budget was counted with {budget['counted_with']}, this is {_tools()}")
    return outside


def _advice(percent: float) -> str:
    if percent > _TOLERANCE_PERCENT:
        return ": OVER THE BUDGET. Find out why, or renew it and say why (make budget BUDGET=--renew)"
    if percent < -_TOLERANCE_PERCENT:
        return ": UNDER THE BUDGET. Renew it (make budget BUDGET=--renew)"
    return ""


def _nearest(kind: Kind, allowed: int | None) -> tuple[int, float]:
    """Instructions and allocations per operation. A count outside the budget is repeated, twice at most, and
    the nearest is taken: what a busy machine does to it is not there every time, what the code does is. For a
    new budget the middle of three is taken.
    """
    counts = [_per_operation(kind)]
    while len(counts) < 3 and (
        allowed is None or abs(counts[-1][0] / allowed - 1) > _TOLERANCE_PERCENT / 100
    ):
        counts.append(_per_operation(kind))
    if allowed is None:
        return sorted(counts)[len(counts) // 2]
    return min(counts, key=lambda count: abs(count[0] - allowed))


def _per_operation(kind: Kind) -> tuple[int, float]:
    """Instructions and allocations of one more operation."""
    with temporary_folder() as folder, _serving(kind.clients) as port:
        few = _count(kind, kind.operations, port, folder / "few")
        many = _count(kind, 3 * kind.operations, port, folder / "many")
    more = 2 * kind.operations * kind.clients
    return (
        round((many.instructions - few.instructions) / more),
        (many.allocations - few.allocations) / more,
    )


@contextmanager
def _serving(clients: int) -> Iterator[int]:
    """The port of a server that answers so many clients in step."""
    with subprocess.Popen([_PROGRAM, "serve", str(clients)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _count(kind: Kind, operations: int, port: int, folder: Path) -> Count:
    folder.mkdir()
    profile = folder / "profile"
    counting = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={profile}"]
    run([*counting, str(_PROGRAM), "race", str(port), kind.name, str(operations), str(folder)])
    # One file per thread, numbered as they were started.
    texts = (path.read_text() for path in folder.glob(f"{profile.name}-*"))
    driving = [text for text in texts if "client_loop::ClientLoop" in text]
    if len(driving) != 1:
        raise BenchmarkError(f"{len(driving)} threads have a driver's profile instead of one")
    return _read(driving[0])


def _read(profile: str) -> Count:
    """What a thread did."""
    total = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if total is None:
        raise BenchmarkError("callgrind has written a profile without a total")
    return Count(int(total[1]), _allocations(profile))


def _allocations(profile: str) -> int:
    """How often memory was asked for. A call is a line that names the callee, by number after the first time,
    and one with how often.
    """
    allocators = {
        number
        for number, name in re.findall(r"^c?fn=\((\d+)\) (.+)$", profile, re.MULTILINE)
        if name in {"malloc", "calloc", "realloc", "posix_memalign"}
    }
    calls = re.findall(r"^cfn=\((\d+)\).*\ncalls=(\d+)", profile, re.MULTILINE)
    return sum(int(times) for number, times in calls if number in allocators)


def _tools() -> dict[str, Any]:
    """What the figures depend on beside the code."""
    said = (run([tool, "--version"]).output.strip() for tool in ("valgrind", "rustc"))
    valgrind, rustc = (" ".join(re.findall(r"\d+\.\d+[.\d]*", text)[:1]) for text in said)
    return {
        "valgrind": valgrind,
        "rustc": rustc,
        "libc": platform.libc_ver()[1],
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
