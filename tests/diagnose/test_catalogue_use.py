"""Every figure decides something: a rule, a bound, what is advised, the division of time, or a view.

To be quoted in the text of a finding is not enough: what only texts quote is listed here with its reason, and
so is what a rule only expects to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pacenote.diagnose import time_shares, window_answer
from pacenote.diagnose.catalogue import FIGURES, RETIRED
from pacenote.diagnose.expression import is_figure, names_of
from pacenote.diagnose.rule import OptionTemplate, Rule, Template
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.report import diagnosis_answer

NAME = re.compile(r"\"([a-z]+\.[a-z_0-9]+)\"")

POOLS = re.compile(r"node\.(?:write|search)_(?:queue|active|readings)")
"""Figures whose names the division of time puts together."""

VIEWS = (time_shares, window_answer, diagnosis_answer)
"""The modules that show figures or decide by them beside the rules."""

_NAMES_IT = "says which one it is, without which the advice cannot be followed"
_REASON = "is the reason of the verdict itself, of which the figures of the rule are the parts"
_EXPECTED = "is what must change if the advice works: the comments of its experiment have it"
_PART_OF_REASON = (
    "is one of several possible causes of the same verdict, each left out if it was not observed"
)
_MEASURED = "is what the report has of the task, so that its reader sees what the finding explains"
_BESIDE = "shows beside the limit of the rule how much of the whole that is"

QUOTED: Mapping[str, str] = {
    **dict.fromkeys(
        ("allocation.top_class", "allocation.top_site", "disk.device", "network.host"), _NAMES_IT
    ),
    **dict.fromkeys(("pair.metric", "pair.frequency_task"), _NAMES_IT),
    **dict.fromkeys(("verdict.driver_reason", "verdict.machine_reason", "pair.shown"), _REASON),
    **dict.fromkeys(("allocation.bytes_per_document", "cluster.updates_per_s", "cpu.user_share"), _EXPECTED),
    **dict.fromkeys(("disk.write_bytes_per_s", "task.content_ratio"), _EXPECTED),
    **dict.fromkeys(
        (
            *(
                "driver.clock_gaps_s",
                "driver.core_wait_share",
                "driver.processing_share",
                "driver.time_share",
            ),
            *("machine.busy_share", "machine.steal_share"),
        ),
        _PART_OF_REASON,
    ),
    **dict.fromkeys(
        (
            *("disk.read_bytes_per_s", "node.flushes_per_min", "pair.races", "pair.worst_error_rate"),
            *(
                "host.swap_bytes",
                "memory.swap_used_bytes",
                "node.transport_bytes_per_s",
                "task.bytes_in_per_s",
            ),
        ),
        _BESIDE,
    ),
    **dict.fromkeys(
        ("driver.lateness_p99_ms", "task.latency_p99_ms", "task.service_p50_ms", "task.throughput"), _MEASURED
    ),
    "cpu.engine_waiting": "shows whether the time that other programs took was missed at all (O1)",
    "cpu.lacked_possible_share": "stands for cpu.lacked_share where that is not known (O1)",
    "cpu.lacked_least_share": "bounds from below what O1 bounds from above with cpu.lacked_share",
    "cpu.system_share": "tells a busy kernel from a lazy scheduler (K1)",
    "disk.request_bytes": "tells many small requests from few large ones (D1)",
    "disk.util_share": "tells a busy device from one that is slow to answer (D4)",
    "engine.data_paths": "shows whether the advice is already followed (D3)",
    "engine.mapping_bytes": "shows what the fields take in the memory of every node (O6)",
    "gc.global_collections": "shows whether old collections are a part of the pauses (H7)",
    "gc.largest_request_bytes": "says how large the regions would have to be (A3)",
    "gc.pause_mean_ms": "tells many short pauses from few long ones (H1)",
    "host.swappiness": "is what the advice changes (P2)",
    "jvm.transparent_huge_pages": "is a usual cause of time in the kernel (H11)",
    "node.heap_share": "is the engine's own reading beside that of the log (H6)",
    "node.old_gc_share": "is the engine's own reading beside that of the log (H6)",
    "node.young_gc_share": "is the engine's own reading beside that of the log (H9)",
    "node.script_cache_evictions": "tells a full cache from texts that always differ (Q8)",
    "pair.change": "is the change that V13 doubts",
    "task.tls": "says whether what is compressed would also be encrypted (C3)",
}
"""Figures that only texts quote, or that a rule only expects to change, with what they are for."""


def deciding_figures(rule: Rule) -> Iterator[str]:
    """Yields the names in all that decides whether a rule fires, what it bounds, and what it advises."""
    expressions = [
        *(guard.test for guard in rule.guards),
        *(caution.when for caution in rule.cautions),
        *(advice.when for advice in rule.advice if advice.when is not None),
        rule.evidence,
    ]
    if rule.severe is not None:
        expressions.append(rule.severe)
    if rule.bound is not None:
        expressions.append(rule.bound.value)
        expressions += [rule.bound.time] if rule.bound.time is not None else []
    for expression in expressions:
        yield from names_of(expression)
    for advice in rule.advice:
        for value in advice.options.values():
            yield from in_option(value)


def in_option(value: OptionTemplate) -> Iterator[str]:
    """Yields the names in an option that is advised."""
    if isinstance(value, Template):
        yield from value.names()
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from in_option(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from in_option(part)


def used_figures() -> set[str]:
    """Returns the figures that decide something."""
    names = {name for rule in bundled_rules() for name in deciding_figures(rule) if is_figure(name)}
    for view in VIEWS:
        names |= set(NAME.findall(Path(str(view.__file__)).read_text()))
    return (names & FIGURES.keys()) | {name for name in FIGURES if POOLS.fullmatch(name)}


def mentioned_figures() -> set[str]:
    """Returns the figures that texts quote, and those that a rule expects to change."""
    names = set[str]()
    for rule in bundled_rules():
        templates = (rule.finding, *(each.text for each in (*rule.advice, *rule.cautions)))
        names |= {name for template in templates for name in template.names()}
        names |= {mechanism.figure for mechanism in rule.mechanism}
    return names


def test_every_figure_decides_something_or_is_quoted_for_a_reason() -> None:
    used = used_figures()
    assert len(used) > 180
    assert sorted(FIGURES.keys() - used - QUOTED.keys()) == [], "a rule must use it, or it is not needed"


def test_what_is_listed_as_quoted_is_quoted_and_decides_nothing() -> None:
    assert sorted(QUOTED.keys() & used_figures()) == [], "it decides something: take it off the list"
    assert sorted(QUOTED.keys() - mentioned_figures()) == [], "no text has it: it is not needed"


def test_figures_that_were_dropped_are_known_as_such() -> None:
    assert RETIRED.keys().isdisjoint(FIGURES)
