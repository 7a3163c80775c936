"""The results of a race that another tool ran, as its file states them: `pacenote import`.

Such a race has no samples and no totals, only figures. They have the names and units of Rally's current
report. What the file does not state stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import Integer, Name, Number, Stored
from pacenote.model.sample_counts import SAMPLES_NEEDED

ImportedTool = Literal["rally", "opensearch-benchmark", "unknown"]
"""The tool that ran a race; both write the same summary tables, which do not name it."""

ImportedForm = Literal["race", "summary", "comparison"]
"""The kind of file: the document of a race, its summary, or a table that compares two races."""

TIME_KINDS = ("latency", "service time", "processing time")
"""The times of which reports have percentiles, as metrics name them."""

ERROR_RATE = "error rate"
"""The metric with the share of failed operations, in %."""

THROUGHPUT = "Throughput"
"""The last word of the four metrics of throughput."""

UNSTATED_TIME = "time of the race"
"""The fact in `ImportedResults.unstated` for a race whose timestamp is that of its import."""

_PERCENTILE = re.compile(rf"(\d+(?:\.\d+)?)th percentile ({'|'.join(TIME_KINDS)})")
_THROUGHPUT = re.compile(rf"(Min|Mean|Median|Max) {THROUGHPUT}")
_LEAST_COUNTS = ((99.99, 10_000), (99.9, 1_000), (99.0, 100), (90.0, 10))
"""A percentile, and the number of samples from which Rally and OpenSearch Benchmark report it."""

_TOOL_NAMES: Mapping[ImportedTool, str] = {
    "rally": "Rally",
    "opensearch-benchmark": "OpenSearch Benchmark",
    "unknown": "Rally or OpenSearch Benchmark",
}

_UNKNOWN_KEYS = frozenset({
    *(
        "seed",
        "pacing",
        "client",
        "other-clients",
        "target-rates",
        "max-shortfall",
        "corpora",
        "plan",
        "tasks",
        "steps",
    ),
    *("documents", "documents-unchecked", "driver", "telemetry", "telemetry-errors", "saturation", "system"),
    *(
        "starting-state",
        "snapshot",
        "sources",
        "unreported",
        "rally-version",
        "rally-revision",
        "multi-cluster",
    ),
})
"""Keys of `race.json` about which an imported race has no facts."""


class ImportedValue(Stored, frozen=True):
    """One figure."""

    metric: Name
    """Its name in Rally's current report, such as `99th percentile service time`."""

    task: Name
    """Name of the task; empty for a figure of the whole race."""

    value: Number
    """The figure in `unit`."""

    unit: Name
    """The unit; empty for a count, or if the file does not state it."""


class ImportedResults(Stored, frozen=True):
    """Where an imported race comes from, and its figures."""

    tool: ImportedTool
    """The tool that ran the race."""

    form: ImportedForm
    """The kind of file."""

    file: str
    """Path of the file."""

    sha256: str
    """SHA-256 of the file, as hexadecimal digits."""

    tool_version: str | None = None
    """Version of the tool, or None if the file does not state it."""

    side: Literal["", "baseline", "contender"] = ""
    """Which race of a comparison it is; empty for any other file."""

    unstated: tuple[str, ...] = ()
    """Facts that the file does not state, such as `track`."""

    contradictions: tuple[str, ...] = ()
    """Rows of a comparison whose difference is not that of their values, one text each."""

    averaged_runs: Integer = 0
    """Number of races of which the figures are averages; 0 for the figures of one race."""

    values: tuple[ImportedValue, ...] = ()
    """The figures, in the order of the file."""

    @property
    def tool_name(self) -> str:
        """The name of the tool."""
        return _TOOL_NAMES[self.tool]

    @property
    def source(self) -> str:
        """Tool, kind of file and file, as a report shows them."""
        version = f" {self.tool_version}" if self.tool_version else ""
        form = {"race": "race", "summary": "summary", "comparison": f"{self.side} of a comparison"}[self.form]
        return f"{self.file} ({form}, {self.tool_name}{version}, SHA-256 {self.sha256[:12]})"


class ImportedTask(Struct, frozen=True):
    """The figures of one task."""

    task: str
    """Name of the task."""

    unit: str = ""
    """Unit of its work, such as `docs`; empty if unknown."""

    throughput: Mapping[str, float] = field(default_factory=dict)
    """Work per second, by `min`, `mean`, `median` and `max`, as far as it is known."""

    percentiles: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """Milliseconds by kind of time and percentile (0 to 100)."""

    error_rate: float | None = None
    """Failed operations divided by all operations, from 0 to 1; None if unknown."""

    @property
    def indexes(self) -> bool:
        """Whether the task indexes documents."""
        return self.unit == "docs"

    @property
    def rate(self) -> float | None:
        """The mean throughput or, if the file does not have it, the median; None if unknown."""
        return self.throughput.get("mean", self.throughput.get("median"))

    @property
    def times(self) -> Mapping[float, float]:
        """The percentiles of latency or, if unknown, of service time."""
        return self.percentiles.get("latency") or self.percentiles.get("service time") or {}

    @property
    def is_measured(self) -> bool:
        """Whether there is a figure that says how fast the task was."""
        return bool(self.throughput or any(self.percentiles.values()))

    def supports(self, kind: str, q: float) -> bool:
        """Returns whether the task has enough samples for a percentile: high percentiles show how many there
        are at least. If that is not known, returns False.
        """
        shown = self.percentiles.get(kind, {})
        least = next((count for other, count in _LEAST_COUNTS if other in shown), 0)
        return q in SAMPLES_NEEDED and least >= SAMPLES_NEEDED[q]


def imported_tasks(values: Iterable[ImportedValue]) -> tuple[ImportedTask, ...]:
    """Returns the tasks with their figures, in the order of the values."""
    values_by_task: dict[str, list[ImportedValue]] = {}
    for value in values:
        if _is_of_task(value):
            values_by_task.setdefault(value.task, []).append(value)
    return tuple(_task(name, values_of_task) for name, values_of_task in values_by_task.items())


def percentile_of(metric: str) -> tuple[str, float] | None:
    """Returns the kind of time and the percentile (0 to 100) of a metric, or None if it is another one."""
    match = _PERCENTILE.fullmatch(metric)
    return (match[2], float(match[1])) if match else None


def throughput_of(metric: str) -> str | None:
    """Returns `min`, `mean`, `median` or `max` for a metric of throughput, and None for another one."""
    match = _THROUGHPUT.fullmatch(metric)
    return match[1].lower() if match else None


def without_unknown(document: Mapping[str, Any], imported: ImportedResults) -> dict[str, Any]:
    """Returns the `race.json` of an imported race without the keys about which nothing is known."""
    known = {key: value for key, value in document.items() if key not in _UNKNOWN_KEYS}
    options = {key: document["options"][key] for key in ("plugin_params", "team_revision")}
    results = {"op_metrics": [_op_metrics(task) for task in imported_tasks(imported.values)]}
    return known | {"options": options, "results": results}


def _is_of_task(value: ImportedValue) -> bool:
    named = value.metric == ERROR_RATE or percentile_of(value.metric) or throughput_of(value.metric)
    return bool(value.task and named)


def _task(name: str, values: Iterable[ImportedValue]) -> ImportedTask:
    unit, throughput, error_rate = "", dict[str, float](), None
    percentiles: dict[str, dict[float, float]] = {}
    for value in values:
        if which := throughput_of(value.metric):
            throughput[which], unit = value.value, value.unit.removesuffix("/s")
        elif time := percentile_of(value.metric):
            percentiles.setdefault(time[0], {})[time[1]] = value.value
        else:
            error_rate = value.value / 100
    return ImportedTask(name, unit, throughput, percentiles, error_rate)


def _op_metrics(task: ImportedTask) -> dict[str, Any]:
    """Returns Rally's `op_metrics` of a task, without what is not known."""
    times = {
        kind.replace(" ", "_"): {str(q).replace(".", "_"): value for q, value in by_q.items()}
        | {"unit": "ms"}
        for kind, by_q in task.percentiles.items()
    }
    throughput = {**task.throughput, "unit": f"{task.unit}/s"} if task.throughput else {}
    rate = {} if task.error_rate is None else {"error_rate": task.error_rate}
    return {"task": task.task, "throughput": throughput, **times, **rate}
