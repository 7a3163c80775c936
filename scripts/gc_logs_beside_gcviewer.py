"""Reads a folder of GC logs with `pacenote gc` and with GCViewer, and prints a table of their differences.

    python scripts/gc_logs_beside_gcviewer.py --clone LOGS GCVIEWER.jar > differences.md

LOGS is a folder with logs of any JVMs, outside of this repository; files that neither program reads are
counted. `--clone` first clones the public test data of GCViewer, garbagecat and gctoolkit into it with git,
unless they are there.
GCVIEWER.jar is `com.github.chewiebug:gcviewer:1.36` of Maven Central, and `java` must be in the path. Number,
sum and longest of the pauses are compared: GCViewer sums the three pauses of a collection of ZGC to one, and
counts lines of concurrent phases as pauses of 0 s, so that a difference is a question, not a fault.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import EvidenceError
from pacenote.evidence.gc_log import GcLogReader

_FORGE = "https://github.com"

_REPOSITORIES = ("chewiebug/GCViewer", "mgm3746/garbagecat", "microsoft/gctoolkit-testdata")

_TIMEOUT_S = 120
"""Seconds after which GCViewer is stopped."""

_MOST_BYTES = 200 << 20
"""Size in bytes above which a file is not read."""

_SAME_LONGEST_S = 0.002
"""Seconds by which the longest pauses may differ: GCViewer prints tenths of milliseconds."""

_SAME_SUM_S = 0.0051
"""Seconds by which sums may differ: GCViewer prints hundredths of seconds."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The pauses that a program finds in a file."""

    count: int
    """Their number."""

    sum_s: float
    """Their sum in seconds."""

    longest_s: float
    """The longest in seconds."""

    def is_same(self, other: Pauses) -> bool:
        """Returns whether two programs agree."""
        return (
            self.count == other.count
            and abs(self.sum_s - other.sum_s) <= max(_SAME_SUM_S, 0.001 * other.sum_s)
            and abs(self.longest_s - other.longest_s) <= _SAME_LONGEST_S
        )

    def __str__(self) -> str:
        return f"{self.count}, {self.sum_s:.3f} s, {self.longest_s * 1000:.1f} ms"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a program says about a file."""

    pauses: Pauses | None
    """The pauses; None if it does not read the file, or does not state pauses."""

    note: str
    """Why not, or what the program says is missing."""


def clone(folder: Path, forge: str = _FORGE) -> None:
    """Clones the newest revision of the public logs into a folder, each unless its folder exists. Raises
    CalledProcessError, and leaves nothing of a repository that could not be cloned.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for repository in _REPOSITORIES:
        target = folder / repository.partition("/")[2]
        if not target.exists():
            source = f"{forge}/{repository}"
            command = ["git", "clone", "--quiet", "--depth=1", "--", source, str(target)]
            subprocess.run(command, check=True)


def pacenote_reading(file: Path) -> Reading:
    """Returns what Pacenote says, summed over all runs of a JVM."""
    try:
        reader = GcLogReader([file])
        statistics = [log.statistics for log in reader.logs()]
        problems = reader.read_input().problems
    except EvidenceError as error:
        return Reading(None, error.message.removeprefix(f"{file}: "))
    note = "; ".join(problem.replace(f"{file}", file.name) for problem in problems)
    if all(found.pause_count is None and found.pauses is None for found in statistics):
        return Reading(None, note or "the log states no pauses")
    pauses = [found.pauses for found in statistics if found.pauses is not None]
    longest_ms = max((found.max_ms for found in pauses), default=0.0)
    total_s = sum(found.total_s for found in pauses)
    return Reading(Pauses(sum(found.count for found in pauses), total_s, longest_ms / 1000), note)


def gcviewer_reading(file: Path, jar: Path) -> Reading:
    """Returns what GCViewer says."""
    with tempfile.TemporaryDirectory(prefix="pacenote-gcviewer-") as folder:
        summary = Path(folder) / "summary.csv"
        command = [
            "java",
            "-Duser.language=en",
            "-Djava.awt.headless=true",
            "-jar",
            str(jar),
            str(file),
            str(summary),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            return Reading(None, f"no answer within {_TIMEOUT_S} s")
        if not summary.is_file():
            return Reading(None, "not read")
        rows = (line.split(";") for line in summary.read_text(errors="replace").splitlines())
        values = {row[0].strip(): row[1].strip() for row in rows if len(row) > 1}
    try:
        count = int(values.get("pauseCount", "0"))
        sum_s, longest_s = (_number(values.get(name, "0")) for name in ("accumPause", "maxPause"))
    except ValueError:
        return Reading(None, "its summary has no pauses")
    return Reading(Pauses(count, sum_s, longest_s) if count else None, "" if count else "no pause found")


def _number(text: str) -> float:
    return 0.0 if text == "n.a." else float(text.replace(",", "").replace("'", ""))


def differences(folder: Path, jar: Path, counts: Counter[str]) -> Iterator[str]:
    """Yields a row for each file about which the programs do not say the same, and counts all of them."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        if ".git" in file.relative_to(folder).parts:
            continue
        if file.stat().st_size > _MOST_BYTES:
            counts["too large"] += 1
            continue
        ours, theirs = pacenote_reading(file), gcviewer_reading(file, jar)
        if ours.pauses is None and theirs.pauses is None:
            counts["read by neither"] += 1
        elif ours.pauses is not None and theirs.pauses is not None and ours.pauses.is_same(theirs.pauses):
            counts["same"] += 1
        else:
            both = ours.pauses is not None and theirs.pauses is not None
            only = "only Pacenote" if theirs.pauses is None else "only GCViewer"
            counts["different" if both else only] += 1
            note = ours.note.replace("|", "\\|")
            cells = (
                file.relative_to(folder),
                ours.pauses or "-",
                theirs.pauses or f"- ({theirs.note})",
                note,
            )
            yield f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", metavar="LOGS", type=Path, help="a folder of GC logs")
    parser.add_argument("jar", metavar="GCVIEWER.jar", type=Path, help="the jar of GCViewer")
    parser.add_argument("--clone", action="store_true", help="clone public logs into this folder first")
    options = parser.parse_args()
    if options.clone:
        clone(options.logs)
    counts: Counter[str] = Counter()
    sys.stdout.write("| file | Pacenote | GCViewer | Pacenote says |\n| :--- | :--- | :--- | :--- |\n")
    for row in differences(options.logs, options.jar.resolve(), counts):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    sys.stdout.write("\n" + "".join(f"- {name}: {count}\n" for name, count in counts.most_common()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
