"""The figures of the race, of the engine's totals, and of races that are compared."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.diagnose.figure_units import FigureTable
from pacenote.figures.catalogue import ENGINE, TASK
from pacenote.figures.metric import Metric


def named_in_rules(metrics: Iterable[Metric]) -> FigureTable:
    """Returns the figures that the catalogue of figures has names in rules for."""
    return {rule.name: (rule.unit, rule.text) for metric in metrics for rule in metric.rules}


RACE_RESULTS: FigureTable = {
    **named_in_rules(TASK),
    "race.test_mode": ("truth", "whether the race only tested the track (--test-mode)"),
    "task.tolerated_error_rate": ("share", "error rate above which the race is void (--max-error-rate)"),
    "task.rejections": (
        "count",
        "operations, or documents of bulks, that were rejected with status 429",
    ),
    "task.overload_share": (
        "share",
        "failures with status 429, 502, 503 or 504, or without a whole answer in time / all failures",
    ),
    "task.paced": ("truth", "whether its operations have a schedule, by a target rate or a scheduler"),
    "task.operations_per_s": ("1/s", "operations that succeeded"),
    "task.documents": ("count", "documents indexed, warm-up included; only of tasks that index"),
    "task.documents_per_operation": ("count", "documents per bulk; only of tasks that index"),
    "task.target_share": ("share", "achieved rate / target rate; only of tasks with a target rate"),
    "task.busy_clients": (
        "count",
        "clients that waited for a reply, on average: rate × mean time, failures included",
    ),
    "task.bytes_out_per_s": ("bytes/s", "bytes written to sockets, warm-up included"),
    "task.bytes_in_per_s": ("bytes/s", "bytes read from sockets, warm-up included"),
    "task.content_ratio": ("ratio", "uncompressed request bodies / bytes written to sockets"),
    "task.compressed": ("truth", "whether the driver compressed the bodies of requests"),
    "task.tls": ("truth", "whether connections were encrypted"),
    "task.took_share": (
        "share",
        "mean time that the engine reports (`took`) / mean service time, of operations for which it does; "
        "missing if that is below 10 ms",
    ),
    "driver.cpu_share": (
        "share",
        "CPU time of the busiest thread that sends requests, of a core: in its busiest ten seconds of the "
        "step of the task (in races of earlier versions, its mean unless the busiest ones are in this step)",
    ),
    "driver.time_share": ("share", "the driver's own work on an operation / service time"),
    "driver.processing_share": ("share", "mean processing time / mean service time - 1"),
    "driver.core_wait_share": (
        "share",
        "time of the step of the task for which the driver thread that waited longest for a core did so; of "
        "a task with few operations on it, only in intervals of 20 ms with 5 ms or more",
    ),
    "driver.clock_gaps_s": ("s", "time in which the driver did not run, or by which its clock was wrong"),
    "machine.steal_share": ("share", "time of all cores that the hypervisor gave to other guests"),
    "machine.busy_share": ("share", "time for which the cores were busy, driver and engine included"),
    "verdict.driver_reasons": (
        "count",
        "reasons of the verdict about the task or the race that the driver or the track's code caused",
    ),
    "verdict.driver_reason": ("text", "the first of them"),
    "verdict.machine_reasons": (
        "count",
        "reasons of the verdict about the task or the race that the machine caused, such as other programs",
    ),
    "verdict.machine_reason": ("text", "the first of them"),
}
"""Figures of race results."""

ENGINE_TOTALS: FigureTable = {
    **named_in_rules(ENGINE),
    "total.indexing_tasks_s": ("s", "measured time of the tasks that index"),
}
"""Figures of the engine's counters before and after the race."""

COMPARISON: FigureTable = {
    "pair.races": ("count", "races that are diagnosed together, both sides"),
    "pair.pairs": ("count", "pairs of races, or races of the smaller side without blocks"),
    "pair.worst_error_rate": ("share", "largest error rate of a task in any race"),
    "pair.error_rate_change": (
        "share",
        "difference of the task's error rate between the sides; of the race, the largest one",
    ),
    "pair.documents_change": ("share", "difference of the indexed documents / the larger number"),
    "pair.store_change": ("share", "difference of the stores' sizes / the larger one"),
    "pair.segments_change": ("count", "difference of the numbers of segments"),
    "pair.searches": ("truth", "whether a task of the races searches"),
    "pair.bound_by_target": ("truth", "whether the task achieves its target rate within 1 % on both sides"),
    "pair.shown": ("text", "what the comparison shows of that metric, in words"),
    "pair.metric": ("text", "the primary metric: the first that decides and is not an error rate"),
    "pair.settings_changed": ("count", "settings, options and versions that differ between the sides"),
    "pair.change": ("share", "relative change of the primary metric, contender against baseline"),
    "pair.change_low": ("share", "lower end of the interval of that change, of 95 % or more"),
    "pair.change_high": ("share", "upper end of the interval of that change, of 95 % or more"),
    "pair.frequency_change": (
        "share",
        "1 - lower / higher frequency of the engine's cores, of the task that kept them busy on both sides "
        "and has the largest difference",
    ),
    "pair.frequency_task": ("text", "that task"),
    "pair.spread": ("share", "standard deviation of the primary metric over races of one configuration"),
}
"""Figures of races that are compared."""
