"""The verdict on an imported race: rules for the figures that its file has.

Such a race is never valid, because its file does not show whether the load generator was the bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from pacenote.model.finding import Finding
from pacenote.model.imported import ImportedResults, ImportedTask, imported_tasks
from pacenote.model.messages import list_with_rest
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.units import format_count, format_range

WAITING_FACTOR = 2.0
"""If the median latency is this many times the median service time, most of it is waiting."""

_MIN_WAIT_MS = 10.0
"""Shortest difference of both in milliseconds that counts: timers of a busy load generator are late, too."""

_SHOWN = 3
"""Number of figures that a finding shows."""

_ORDER = ("min", "median", "max")


def imported_verdict(record: RaceRecord, imported: ImportedResults) -> Verdict:
    """Returns the verdict on an imported race.

    It is void if an error rate is above `max_error_rate`, if nothing was measured of a task, or if its
    figures contradict each other; otherwise it is suspect.
    """
    tasks = imported_tasks(imported.values)
    void = (
        *_excessive_error_rates(tasks, record.max_error_rate),
        *_not_measured(tasks),
        *_contradictions(tasks, imported),
        *_wrong_differences(imported),
    )
    suspect = (
        *_unknown_error_rates(tasks),
        *_waiting(tasks),
        *_times_of_zero(tasks),
        *_averages(imported),
        _unknown_driver(imported),
    )
    return Verdict("void" if void else "suspect", (*void, *suspect))


def _excessive_error_rates(tasks: Iterable[ImportedTask], limit: float) -> Iterator[Finding]:
    failing = [task for task in tasks if (task.error_rate or 0.0) > limit]
    indexing = [task for task in failing if task.indexes]
    others = [task for task in failing if not task.indexes]
    for affected, consequence in (
        (indexing, ": documents are missing, so later tasks searched less data"),
        (others, ""),
    ):
        if affected:
            share = format_range(((task.error_rate or 0.0) * 100 for task in affected), "{:.4g} %".format)
            yield Finding(
                f"{share} of the operations failed (limit {limit * 100:.4g} %){consequence}",
                "engine",
                tasks=_names(affected),
            )


def _not_measured(tasks: Iterable[ImportedTask]) -> Iterator[Finding]:
    if empty := [task for task in tasks if not task.is_measured]:
        yield Finding("nothing was measured: there is no throughput and no time", tasks=_names(empty))


def _contradictions(tasks: Iterable[ImportedTask], imported: ImportedResults) -> Iterator[Finding]:
    wrong = [(task, first) for task in tasks if (first := next(_wrong_figures(task), ""))]
    if wrong:
        shown = [f"{first} of {task.task}" if len(wrong) > 1 else first for task, first in wrong]
        yield Finding(
            f"the figures contradict each other: {list_with_rest(shown, _SHOWN)}",
            "user",
            _original(imported),
            _names(task for task, _ in wrong),
        )


def _wrong_differences(imported: ImportedResults) -> Iterator[Finding]:
    if imported.contradictions:
        shown = list_with_rest(imported.contradictions, _SHOWN)
        yield Finding(f"the column Diff contradicts the values: {shown}", "user", _original(imported))


def _original(imported: ImportedResults) -> str:
    """Returns what to do about wrong figures; the document of a race is the original itself."""
    if imported.form == "race":
        return "repeat the race: the file is damaged or was changed"
    return f"import race.json of {imported.tool_name}"


def _wrong_figures(task: ImportedTask) -> Iterator[str]:
    """Yields the figures of a task that cannot be true."""
    if task.error_rate is not None and not 0 <= task.error_rate <= 1:
        yield f"error rate {task.error_rate * 100:.4g} %"
    rates = [(f"{which} throughput", task.throughput[which]) for which in _ORDER if which in task.throughput]
    times = ([(f"p{q:g} {kind}", own[q]) for q in sorted(own)] for kind, own in task.percentiles.items())
    for series in (rates, *times):
        yield from (f"{name} {value:.6g}" for name, value in series if value < 0)
        for (low, smaller), (high, larger) in pairwise(series):
            if smaller > larger:
                yield f"{high} {larger:.6g} is below {low} {smaller:.6g}"


def _times_of_zero(tasks: Iterable[ImportedTask]) -> Iterator[Finding]:
    if odd := [task for task in tasks if any(0.0 in own.values() for own in task.percentiles.values())]:
        yield Finding("a time is 0 ms, which no request takes", "user", "check the file", _names(odd))


def _unknown_error_rates(tasks: Iterable[ImportedTask]) -> Iterator[Finding]:
    if unknown := [task for task in tasks if task.error_rate is None]:
        yield Finding("the error rate is not known", tasks=_names(unknown))


def _waiting(tasks: Iterable[ImportedTask]) -> Iterator[Finding]:
    """Yields findings about tasks whose requests waited: their latency depends on the length of the task."""
    waiting = []
    for task in tasks:
        latency, service = (task.percentiles.get(kind, {}).get(50.0) for kind in ("latency", "service time"))
        if latency is None or service is None or latency - service < _MIN_WAIT_MS:
            continue
        if latency >= WAITING_FACTOR * service > 0:
            waiting.append((task, latency / service))
    if waiting:
        factors = format_range((factor for _, factor in waiting), "{:.3g}".format)
        yield Finding(
            f"the median latency is {factors} times the service time: requests waited, as they do when the "
            "engine does not keep up with the target rate",
            "unknown",
            "compare service time and throughput, or lower the target rate",
            _names(task for task, _ in waiting),
        )


def _averages(imported: ImportedResults) -> Iterator[Finding]:
    if imported.averaged_runs:
        yield Finding(
            f"the figures are averages of {format_count(imported.averaged_runs, 'race')}: an average of "
            "percentiles is not a percentile",
            "user",
            "import the files of the single races",
        )


def _unknown_driver(imported: ImportedResults) -> Finding:
    return Finding(
        f"{imported.tool_name} did not record whether requests were late or lost, and whether the load "
        "generator was the bottleneck"
    )


def _names(tasks: Iterable[ImportedTask]) -> tuple[str, ...]:
    return tuple(task.task for task in tasks)
