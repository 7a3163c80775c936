"""The rules that come with Pacenote: each fires, is ruled out and is not applicable, and the field reports'
figures lead to the findings of their authors.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from diagnose import more_rule_cases as more
from diagnose import rule_cases as cases
from diagnose.everyday_rule_cases import EVERYDAY_CASES
from diagnose.rule_cases import Figures, RuleCase
from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rule import NOT_OBSERVED, Rule
from pacenote.diagnose.rules_file import bundled_rules, with_own_rules
from pacenote.model.diagnosis import RuleAnswer
from pacenote.model.task_kinds import WorkKind

RULES = {rule.id: rule for rule in bundled_rules() if rule.kind == "diagnosis"}
CASES: Mapping[str, RuleCase] = {
    **cases.HEAP_CASES,
    **cases.COLLECTOR_CASES,
    **cases.ALLOCATION_CASES,
    **cases.DISK_CASES,
    **cases.MEMORY_CASES,
    **cases.COMPRESSION_CASES,
    **more.INDEXING_CASES,
    **more.PROCESSOR_CASES,
    **more.NETWORK_CASES,
    **more.CLUSTER_CASES,
    **more.SEARCH_CASES,
    **EVERYDAY_CASES,
}
TASK = "the-task"


def answer(rule: Rule, figures: Figures) -> RuleAnswer:
    kind: WorkKind = "searching" if rule.tasks == "searching" else "indexing"
    builder = EvidenceBuilder("race", [TaskFacts(TASK, kind)])
    for name, value in figures.items():
        builder.set(Window(TASK), name, value)
    diagnosis = diagnose(builder.build(), [rule])
    (only,) = (*diagnosis.findings, *diagnosis.ruled_out, *diagnosis.not_applicable)
    return only


def test_all_rules_have_a_case() -> None:
    assert len(RULES) == 58
    assert CASES.keys() == RULES.keys()
    assert with_own_rules(bundled_rules(), ()), "the rules to which rules refer must exist"


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires_is_ruled_out_and_is_not_applicable(name: str) -> None:
    rule, case = RULES[name], CASES[name]

    fired = answer(rule, case.fires)
    assert (fired.state, fired.tasks, fired.withheld) == ("fired", (TASK,), ())
    assert NOT_OBSERVED not in fired.text, "the case lacks a figure that the finding has"
    assert len(fired.text) < 400
    assert fired.bound == (None if case.bound is None else pytest.approx(case.bound, abs=1e-4))
    assert fired.advice, "a rule that fires must say what to do"
    assert dict(fired.advice[0].options) == dict(case.options)
    assert not any(NOT_OBSERVED in each.text for each in fired.advice)

    ruled_out = answer(rule, {**case.fires, **case.ruled_out})
    assert (ruled_out.state, bool(ruled_out.text)) == ("ruled out", True)

    not_applicable = answer(rule, {**case.fires, **case.not_applicable})
    missing = {figure for figure, value in case.not_applicable.items() if value is None}
    assert not_applicable.state == "not applicable"
    assert bool(missing) == bool(missing & {each.name for each in not_applicable.missing})
    assert bool(missing) or not_applicable.text in {each.otherwise for each in rule.guards}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_without_evidence_is_not_applicable(name: str) -> None:
    nothing = answer(RULES[name], {})
    assert nothing.state == "not applicable"
    assert nothing.text


def test_a_rule_names_its_source_and_a_figure_that_proves_it() -> None:
    for rule in RULES.values():
        assert rule.source
        assert rule.mechanism, rule.id
        assert all(each.figure in FIGURES for each in rule.mechanism)
        assert not rule.title.endswith(".")


def test_cores_that_a_quota_keeps_idle_do_not_ask_for_more_clients() -> None:
    for stopped, state in ((0.005, "fired"), (0.4, "ruled out")):
        rule_answer = answer(RULES["I5"], {**CASES["I5"].fires, "cpu.throttled_periods_share": stopped})
        assert rule_answer.state == state


@pytest.mark.parametrize("name", ["I5", "I7"])
def test_operations_that_wait_for_new_fields_ask_neither_for_clients_nor_for_larger_bulks(name: str) -> None:
    for share, state in ((0.05, "fired"), (0.6, "not applicable")):
        rule_answer = answer(RULES[name], {**CASES[name].fires, "cluster.update_share": share})
        assert rule_answer.state == state
    assert "O6" in rule_answer.text


def test_a_bound_does_not_trust_what_other_programs_used_at_least() -> None:
    """Of 70 %, at least 20 % were those of other programs: all of it may have been."""
    known = {
        "cpu.other_least_share": 0.2,
        "cpu.idle_share": 0,
        "cpu.engine_share": 0.3,
        "cpu.wait_share": 0.9,
    }
    fired = answer(RULES["O1"], known)
    assert fired.text.startswith("programs beside the engine and the driver took at least 20.0 % of the time")
    assert fired.bound == pytest.approx(0.7 / 0.3)


DEFAULT_REFRESH = {**CASES["I4"].fires, "engine.refresh_interval_s": 1, "node.cores": 1}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        # Two races without a fault, with bulks of 500.
        ({"node.refresh_indexing_share": 0.337}, "ruled out"),
        ({"node.refresh_indexing_share": 0.55}, "fired"),
        # Bulks of one document: refreshes are most of the reported time, but 2.5 % of the cores.
        ({"node.refresh_indexing_share": 0.6, "node.refresh_share": 0.025}, "ruled out"),
        (
            {"node.refresh_indexing_share": 0.55, "task.paced": True, "task.target_share": 1.0},
            "not applicable",
        ),
        ({"node.refresh_indexing_share": 0.55, "task.paced": True, "task.target_share": 0.8}, "fired"),
    ],
)
def test_refreshes_are_too_many_only_if_they_cost_more_than_usual(changes: Figures, state: str) -> None:
    assert answer(RULES["I4"], {**DEFAULT_REFRESH, **changes}).state == state


def test_refreshes_bring_at_most_the_time_of_the_processors_that_they_take() -> None:
    """A core of which refreshes and merges take 8.6 %, and indexing 8 %: their quotient is +108 %."""
    few = {"node.refresh_share": 0.061, "node.merge_share": 0.025, "node.indexing_share": 0.08}
    rule_answer = answer(RULES["I4"], {**DEFAULT_REFRESH, "node.refresh_indexing_share": 0.6, **few})
    assert rule_answer.bound == pytest.approx(1 / (1 - 0.086) - 1)


@pytest.mark.parametrize("name", ["D5", "P1"])
def test_what_other_programs_read_is_not_blamed_on_the_engine(name: str) -> None:
    others = {**CASES[name].fires, "disk.read_bytes_per_s": 3e8}
    assert answer(RULES[name], {**others, "disk.engine_read_bytes_per_s": 4096}).state == "ruled out"
    assert answer(RULES[name], {**others, "disk.engine_read_bytes_per_s": None}).state == "not applicable"


@pytest.mark.parametrize(
    ("name", "changes", "state"),
    [
        ("I7", {"task.documents_per_operation": 99}, "fired"),
        # Few documents, but large ones; and an engine that is busy with what few there are.
        ("I7", {"task.bytes_out_per_s": 25 * 1_100_000}, "ruled out"),
        ("I7", {"node.indexing_share": 0.45}, "ruled out"),
        ("I8", {"disk.some_wait_share": 0.1}, "ruled out"),
        ("I8", {"disk.some_wait_share": None}, "fired"),
        ("Q3", {"engine.shards": 101}, "fired"),
        ("Q3", {"node.store_bytes": 300e9}, "ruled out"),
        ("Q3", {"task.took_share": 0.4}, "ruled out"),
        # Aggregations beside no writes, whose ordinals are built once, and after evictions.
        ("Q5", {"node.indexing_share": 0.0}, "ruled out"),
        ("Q5", {"node.indexing_share": 0.0, "node.fielddata_evictions": 3}, "fired"),
        ("Q5", {"node.fielddata_bytes": 1 << 20}, "ruled out"),
        ("Q6", {"node.segments": 151}, "fired"),
        ("Q7", {"node.deleted_documents": 324}, "fired"),
        ("Q8", {"node.script_compilations_per_min": 15.1}, "fired"),
        ("O4", {"cluster.pending_tasks": 1.1}, "fired"),
        ("O5", {"node.replica_pressure_share": 0.1, "node.replica_rejections": 1}, "fired"),
        ("H14", {"node.breaker_trips": 1}, "fired"),
        ("Q4", {"node.search_rejections": 1}, "fired"),
    ],
)
def test_rules_about_everyday_causes_fire_just_above_their_limits(
    name: str, changes: Figures, state: str
) -> None:
    assert answer(RULES[name], {**CASES[name].fires, **changes}).state == state


@pytest.mark.parametrize(
    ("busy", "most"),
    [
        ({"cpu.other_share": 0.5, "cpu.engine_share": 0.2}, 1.0),
        # What other programs used is not known: the engine can become faster at most by the idle part.
        ({"cpu.engine_share": 0.25}, 1.0),
        ({}, 1 / 3),
    ],
)
def test_a_faster_disk_needs_idle_processors(busy: Figures, most: float) -> None:
    figures = {**CASES["D1"].fires, "disk.some_wait_share": 0.9, "cpu.idle_share": 0.25, **busy}
    assert answer(RULES["D1"], figures).bound == pytest.approx(most)


def test_concurrent_work_of_the_collector_counts_as_its_cost() -> None:
    figures = {**CASES["H1"].fires, "gc.stop_share": 0.04}
    for share, state in ((None, "ruled out"), (0.005, "ruled out"), (0.13, "fired")):
        rule_answer = answer(RULES["H1"], {**figures, "gc.concurrent_cpu_share": share})
        assert rule_answer.state == state
    assert rule_answer.bound == pytest.approx(1 / (1 - 0.17) - 1)
    idle = answer(RULES["H1"], {**figures, "gc.concurrent_cpu_share": 0.13, "cpu.idle_share": 0.25})
    assert idle.state == "ruled out", "phases that use idle processors cost nothing"
    assert "concurrent phases took up to 13.0 % of the processors" in rule_answer.text
    unknown = answer(RULES["H1"], {**figures, "gc.stop_share": 0.164})
    assert (unknown.state, "concurrent" in unknown.text) == ("fired", False)


def test_rare_young_collections_do_not_ask_for_another_tenure_age() -> None:
    for share, state in ((0.014, "ruled out"), (0.0629, "fired")):
        assert answer(RULES["H7"], {**CASES["H7"].fires, "gc.young_s_per_s": share}).state == state


def test_one_failed_evacuation_of_many_does_not_mean_that_the_heap_is_full() -> None:
    figures = {**CASES["H6"].fires, **CASES["H6"].ruled_out, "gc.old_after_share": 0.75, "gc.pauses": 26}
    for count, state in ((1, "ruled out"), (2, "fired")):
        assert answer(RULES["H6"], {**figures, "gc.allocation_stalls": count}).state == state


@pytest.mark.parametrize(
    "sign", [{"gc.allocation_stalls": 4}, {"gc.full_collections": 3}, {"gc.stop_share": 0.3}], ids=str
)
def test_a_heap_with_room_after_collections_is_not_used_up_whatever_else_happens(sign: Figures) -> None:
    """A race without a fault, with four of six pauses in which regions were pinned and 10 % in use."""
    quiet = {**CASES["H6"].fires, **CASES["H6"].ruled_out, "gc.pauses": 6, **sign}
    for share, state in ((0.103, "ruled out"), (0.7, "ruled out"), (0.71, "fired")):
        assert answer(RULES["H6"], {**quiet, "gc.old_after_share": share}).state == state
        pool = {**quiet, "gc.old_after_share": None, "node.old_pool_share": share}
        assert answer(RULES["H6"], pool).state == state
    unknown = answer(RULES["H6"], {**quiet, "gc.old_after_share": None})
    assert unknown.text == "how full the heap was after collections is not known"


@pytest.mark.parametrize("name", ["N1", "N2", "N3"])
def test_packets_of_other_programs_are_not_those_of_nodes_on_loopback(name: str) -> None:
    rule_answer = answer(RULES[name], {**CASES[name].fires, "network.is_loopback": True})
    assert (rule_answer.state, rule_answer.text) == ("not applicable", "all requests stay on this host")


def test_the_largest_heap_is_half_of_the_memory_and_below_the_limit_of_compressed_pointers() -> None:
    case = CASES["H1"].fires
    for heap, memory, advice in (
        (1, 2, None),
        (1, 4, "2g"),
        (16, 128, "30g"),
        (30, 256, {}),
    ):
        rule_answer = answer(
            RULES["H1"],
            {**case, "jvm.heap_max_bytes": heap * cases.GB, "host.memory_bytes": memory * cases.GB},
        )
        if advice is None:
            assert (rule_answer.advice, "(H3)" in rule_answer.withheld[0]) == ((), True)
        else:
            (given,) = rule_answer.advice
            assert given.options == (advice and {"car-params": {"heap_size": advice}})
