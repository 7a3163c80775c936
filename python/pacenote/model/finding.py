"""A reason for a verdict that is not `valid`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from pacenote.model.codec import Number, Stored
from pacenote.model.sample_counts import PERCENTILES

Cause = Literal["engine", "driver", "machine", "track", "code", "user", "pacenote", "unknown"]
"""What caused a finding: the engine or the way to it, the load driver, the machine that the driver runs on,
the track with its data, the track's Python code that the driver waits for (in races of earlier versions, the
track), a choice of the user, Pacenote itself (a bug or a limit), or something unknown.
"""

EVERYTHING = 0.0
"""`Finding.doubtful_from` if no figure can be relied on."""

_THROUGHPUT_SHARE = 0.03
"""Share of the time, or of the operations, from which on a disturbance changes the throughput by as much as
matters.
"""

_SHOWN_TASKS = 8
"""Maximum number of tasks that a sentence names."""

_NAMED_PERCENTILES = re.compile(r": p(\d+)(?: and p\d+)? (?:is|are) doubtful")


class Finding(Stored, frozen=True):
    """One thing that is wrong with a race. The tasks that it concerns share one finding."""

    text: str
    """What is wrong, with its figures; without the names of tasks."""

    cause: Cause = "unknown"
    """What caused it."""

    advice: str = ""
    """What to do about it; empty if nothing can be done."""

    tasks: tuple[str, ...] = ()
    """Names of the tasks that it concerns; empty for the whole race."""

    doubtful_from: Number | None = None
    """Which figures of these tasks it makes doubtful, although the race is not void: the percentiles of times
    from this one on (0 to 100), or all figures if it is 0; None if none is.
    """

    @property
    def makes_doubtful(self) -> bool:
        """Whether it makes figures doubtful; in a comparison, these are void."""
        return self.doubtful_from is not None

    def __str__(self) -> str:
        """Returns one sentence: the tasks, what is wrong, and what to do."""
        return ": ".join(part for part in (name_tasks(self.tasks), self.text, self.advice) if part)


NOT_FINISHED = Finding("the race has not finished")
"""The reason of a race that is still running or was killed."""

INTERRUPTED = Finding("interrupted", "user")
"""The reason of a race that the user has interrupted."""


def aborted(reason: str) -> Finding:
    """Returns the finding of a race that was aborted for this reason."""
    return Finding(f"aborted: {reason}")


def doubtful_after(share: float) -> float:
    """Returns `Finding.doubtful_from` of a disturbance during this share of the time, or of the operations:
    about as many times are wrong, and these may be the longest ones.
    """
    return EVERYTHING if share >= _THROUGHPUT_SHARE else round(100 * (1 - share), 3)


def first_doubtful(doubtful_from: float) -> float:
    """Returns the first percentile of a report that `Finding.doubtful_from` makes doubtful; 0 for all
    figures.
    """
    return doubtful_from and next((q for q in PERCENTILES if q >= doubtful_from), 100.0)


def by_doubt(shares: Mapping[str, float]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yields the tasks, or steps, of which a disturbance makes the same figures doubtful, with
    `Finding.doubtful_from`, the worst first; `shares` has for each the part of it that was disturbed. A long
    disturbance of one of them says nothing about the figures of another one.
    """
    tasks_by_doubt: dict[float, list[str]] = {}
    for name, share in shares.items():
        tasks_by_doubt.setdefault(first_doubtful(doubtful_after(share)), []).append(name)
    for _, names in sorted(tasks_by_doubt.items()):
        yield tuple(names), doubtful_after(max(shares[name] for name in names))


def stored_without_doubt(finding: Finding) -> Finding:
    """Returns a finding that an earlier version stored, which recorded only in words what is doubtful."""
    doubtful_from = None
    if named := _NAMED_PERCENTILES.search(finding.text):
        doubtful_from = float(named[1])
    elif finding.cause == "driver" or "read replies late" in finding.text:
        doubtful_from = EVERYTHING
    elif "slowest replies were read late" in finding.text:
        doubtful_from = 99.0
    return replace(finding, doubtful_from=doubtful_from)


def name_tasks(tasks: tuple[str, ...]) -> str:
    """Returns the names of tasks, of which the first eight are listed."""
    more = len(tasks) - _SHOWN_TASKS
    return ", ".join(tasks[:_SHOWN_TASKS]) + (f" and {more} more" if more > 0 else "")
