"""No bound of a bundled rule exceeds what its mechanism can explain in the window, whatever was observed.

Throughput can rise by S / (1 - S) at most, where S is the part of the window, or of the processors, that the
mechanism takes. Where the work for each operation remains the same, it cannot rise by more than the idle
processors can do. Of a time, no more can be saved than the mechanism's part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random

import pytest

from pacenote.diagnose.expression import names_of
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rule import Rule
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.diagnose.window_answer import bound_of

TASK = Window("load")
RACES = 300
MOST = 0.95
"""The largest part that a bound assumes to be saved."""

RULES = {rule.id: rule for rule in bundled_rules() if rule.kind == "diagnosis" and rule.bound}

WORKS = ("indexing", "merge", "refresh", "flush", "search")
"""What threads of the engine do."""

Observed = Mapping[str, float]


def threads(*names: str) -> Callable[[Observed], float]:
    """Returns the part of the processors that these threads can have used: they report elapsed time."""
    return lambda of: min(
        sum(of[f"node.{name}_share"] for name in names) / of["node.cores"], of["node.cpu_share"]
    )


def operations(of: Observed) -> float:
    return of["task.operations_per_s"] * of["task.window_s"]


THROUGHPUT: Mapping[str, Callable[[Observed], float]] = {
    "H1": lambda of: of["gc.stop_share"] + of["gc.concurrent_cpu_share"],
    "H3": lambda of: of["memory.wait_share"] + of["disk.some_wait_share"],
    "H11": lambda of: of["gc.pause_share"],
    "H13": lambda of: of["gc.explicit_collections"] * of["gc.pause_max_ms"] / 1000 / of["task.window_s"],
    **dict.fromkeys(("H6", "H9", "A3", "A4"), lambda of: of["gc.stop_share"]),
    "A1": lambda of: of["gc.stop_share"] * of["allocation.top_site_share"],
    "A2": lambda of: of["gc.stop_share"] * of["allocation.outside_share"],
    "I1": threads("merge", "refresh", "flush"),
    "I2": threads("flush"),
    "I3": lambda of: of["node.indexing_throttled_share"],
    "I4": threads("refresh", "merge"),
    "I5": lambda of: of["cpu.idle_share"] / (1 - of["cpu.other_share"]),
    "I6": lambda of: of["task.rejections"] / (of["task.rejections"] + of["task.documents"]),
    **dict.fromkeys(("D1", "D2", "D3", "D4"), lambda of: of["disk.some_wait_share"]),
    "C1": lambda of: of["profile.compression_share"],
    "C2": lambda of: 0.28 * of["disk.some_wait_share"],
    "K1": lambda of: min(of["cpu.idle_share"], of["cpu.wait_share"]),
    "K2": lambda of: (
        of["cpu.throttled_share"] / (of["cpu.throttled_share"] + max(of["cpu.engine_share"], 0.05))
    ),
    "K4": lambda of: max(1 - of["cpu.frequency_hz"] / of["cpu.frequency_first_hz"], 0),
    "O1": lambda of: min(of["cpu.wait_share"], of["cpu.lacked_share"]),
    "O2": lambda of: 1 - 1 / of["cluster.cpu_imbalance"],
    "O3": lambda of: of["node.replica_share"],
    "P2": lambda of: of["memory.wait_share"],
    "H14": lambda of: of["node.breaker_trips"] / (of["node.breaker_trips"] + operations(of)),
    "Q4": lambda of: of["task.rejections"] / (of["task.rejections"] + operations(of)),
    "I8": lambda of: of["disk.some_wait_share"],
    "O4": lambda of: of["cluster.pending_tasks"] / of["task.busy_clients"],
    "O6": lambda of: of["cluster.update_share"],
    "O5": lambda of: of["node.replica_share"],
}
"""The part S that the mechanism of a rule takes."""

SAME_WORK = frozenset({"H3", "I3", "I6", "D1", "D2", "D3", "D4", "C2", "K1", "O2", "P2", "H14", "Q4", "I8"})
"""Rules whose advice does not make an operation cheaper for the processors."""

TIMES: Mapping[str, Callable[[Observed], float]] = {
    "H7": lambda of: of["gc.pause_p99_ms"] / of["task.service_p99_ms"],
    "H8": lambda of: of["gc.pause_p99_ms"] / of["task.service_p99_ms"],
    "H10": lambda of: of["gc.stop_max_ms"] / of["task.service_p99_ms"],
    "D5": lambda of: of["disk.some_wait_share"] / min(of["task.busy_clients"], 1),
    "P1": lambda of: of["disk.some_wait_share"] / min(of["task.busy_clients"], 1),
    "Q3": lambda of: 1 - of["engine.nodes"] / of["engine.shards"],
    "Q5": lambda of: of["node.search_share"] / of["task.busy_clients"],
    "Q6": lambda of: of["node.search_share"] / of["task.busy_clients"] * (1 - 1 / of["node.segments"]),
    "Q7": lambda of: of["node.deleted_documents"] / (of["node.deleted_documents"] + of["node.documents"]),
    "Q8": lambda of: of["node.script_compilations_per_min"] / 60 / of["task.operations_per_s"],
    "Q9": lambda of: of["profile.script_share"] * of["task.took_share"],
    "Q2": lambda of: max(
        1 - of[f"node.{cache}_hit_share"] if of[f"node.{cache}_evictions"] else 0
        for cache in ("request_cache", "query_cache")
    ),
}
"""The part of the time that the mechanism of a rule takes."""


def observed(random: Random) -> dict[str, float]:
    """Returns figures that fit together: shares of the processors add up to 1, and threads, which wait for
    processors and disks too, report more time than they use.
    """
    parts = [random.expovariate(1) ** 2 + 1e-3 for _ in range(4)]
    idle, other, driver, engine = (part / sum(parts) for part in parts)
    cores = random.choice((1, 2, 4, 16))
    waiting = random.choice((1.0, 1.0, 3.0, 30.0))
    works = [random.expovariate(1) ** 3 + 1e-4 for _ in WORKS]
    work = [engine * cores * part / sum(works) * waiting for part in works]
    share = random.random
    stop = share() ** 3
    return {
        **{"cpu.idle_share": idle, "cpu.other_share": other, "cpu.driver_share": driver},
        **{"cpu.engine_share": engine, "node.cpu_share": engine, "node.cores": cores},
        **{f"node.{name}_share": part for name, part in zip(WORKS, work, strict=True)},
        **{"cpu.wait_share": share(), "cpu.lacked_share": share(), "cpu.throttled_share": share() * idle},
        # Of several shards, each of which is throttled for some time.
        "node.indexing_throttled_share": share() * random.choice((1, 5)),
        **{"disk.some_wait_share": share(), "memory.wait_share": share()},
        **{"gc.stop_share": stop, "gc.pause_share": stop * share(), "gc.concurrent_cpu_share": share() * 0.5},
        **{"gc.explicit_collections": random.randrange(5), "gc.pause_max_ms": 10 ** (4 * share())},
        **{"gc.pause_p99_ms": 10 ** (3 * share()), "gc.stop_max_ms": 10 ** (4 * share())},
        **{"task.service_p99_ms": 10 ** (4 * share()), "task.window_s": 60.0},
        **{"task.busy_clients": 0.01 + 4 * share(), "task.documents": random.randrange(1, 1000)},
        "task.rejections": random.randrange(100_000),
        **{"allocation.top_site_share": share(), "allocation.outside_share": share()},
        **{"profile.compression_share": share(), "node.replica_share": share()},
        **{"cluster.cpu_imbalance": 1 + 2 * share(), "cluster.pending_tasks": 5 * share() ** 3},
        **{"engine.nodes": 1, "engine.shards": random.randrange(1, 400), "engine.replicas": 0},
        **{"node.segments": random.randrange(1, 4000), "node.breaker_trips": random.randrange(1000)},
        **{"node.documents": random.randrange(1, 1000), "node.deleted_documents": random.randrange(1000)},
        **{"node.script_compilations_per_min": 100 * share(), "task.operations_per_s": 10 * share() + 0.02},
        **{"task.took_share": share(), "profile.script_share": share(), "cluster.update_share": share()},
        **{"cpu.frequency_hz": (2 + share()) * 1e9, "cpu.frequency_first_hz": (2 + 2 * share()) * 1e9},
        "cpu.frequency_fall_share": share() - 0.3,
        **{f"node.{cache}_hit_share": share() for cache in ("request_cache", "query_cache")},
        **{f"node.{cache}_evictions": random.choice((0, 0, 7)) for cache in ("request_cache", "query_cache")},
    }


def bound(rule: Rule, evidence: Evidence) -> float:
    limit = bound_of(rule, evidence, TASK)
    assert isinstance(limit, float), (rule.id, limit)
    return limit


@cache
def races(*, paced: bool = False) -> tuple[tuple[dict[str, float], Evidence], ...]:
    """Returns the figures of many races, each with the evidence that has them."""
    random = Random(7)
    observations = []
    for _ in range(RACES):
        figures = observed(random)
        builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
        for name, value in figures.items():
            builder.set(TASK, name, value)
        builder.set(TASK, "task.paced", paced)
        observations.append((figures, builder.build()))
    return tuple(observations)


def test_each_rule_with_a_bound_states_what_its_mechanism_takes() -> None:
    assert not THROUGHPUT.keys() & TIMES.keys()
    assert {*THROUGHPUT, *TIMES, "I7"} == RULES.keys()
    assert {name for name, rule in RULES.items() if rule.metric in ("p50", "p99")} == TIMES.keys()


@pytest.mark.parametrize("name", THROUGHPUT)
def test_no_bound_of_throughput_exceeds_what_its_mechanism_explains(name: str) -> None:
    largest = 0.0
    for figures, evidence in races():
        part = min(THROUGHPUT[name](figures), MOST)
        most = part / (1 - part)
        if name in SAME_WORK:
            busy = 1 - figures["cpu.idle_share"] - figures["cpu.other_share"]
            most = min(most, figures["cpu.idle_share"] / max(busy, 1 - MOST))
        limit = bound(RULES[name], evidence)
        assert 0 <= limit <= most + 1e-9, figures
        largest = max(largest, limit)
    assert largest > 0, "the evidence must reach what the rule is about"


@pytest.mark.parametrize("name", TIMES)
def test_no_bound_of_a_time_exceeds_what_its_mechanism_explains(name: str) -> None:
    largest = 0.0
    for figures, evidence in races():
        limit = bound(RULES[name], evidence)
        assert 0 <= limit <= min(TIMES[name](figures), MOST) + 1e-9, figures
        largest = max(largest, limit)
    assert largest > 0, "the evidence must reach what the rule is about"


@pytest.mark.parametrize(
    "name", sorted(name for name, rule in RULES.items() if rule.bound and rule.bound.time)
)
def test_of_a_task_with_a_schedule_not_more_than_the_mechanism_takes_can_be_saved(name: str) -> None:
    """That is the longest pauses, or for O4 the clients that wait for changes of the cluster's state, and for
    K4 how much slower the processors were in the end.
    """
    for figures, evidence in races(paced=True):
        pauses = figures["gc.pause_p99_ms"] / figures["task.service_p99_ms"]
        parts = {
            "K4": max(figures["cpu.frequency_fall_share"], 0),
            "O4": figures["cluster.pending_tasks"] / figures["task.busy_clients"],
        }
        most = parts.get(name, pauses)
        assert 0 <= bound(RULES[name], evidence) <= min(most, MOST) + 1e-9


def test_larger_bulks_bring_at_most_the_time_for_which_nothing_is_indexed() -> None:
    """All clients that wait, or all cores if these are fewer, index all the time, as fast as they did."""
    for figures, evidence in races():
        able = min(figures["task.busy_clients"], figures["node.cores"])
        limit = bound(RULES["I7"], evidence)
        assert (
            0
            <= limit
            <= max(able - figures["node.indexing_share"], 0) / max(figures["node.indexing_share"], 0.001)
            + 1e-9
            or figures["node.indexing_share"] < 0.001
        )


@pytest.mark.parametrize("name", ["C2", "D4", "I8"])
def test_a_rule_about_waits_for_disks_states_and_expects_the_waits_that_bound_it(name: str) -> None:
    """All threads wait for less time than any of them, which is what can be saved at most."""
    rule = RULES[name]
    assert rule.bound is not None
    used = set(names_of(rule.bound.value))
    assert used & {"disk.some_wait_share", "disk.wait_share"} == {"disk.some_wait_share"}
    assert "disk.some_wait_share" in {each.figure for each in rule.mechanism}
