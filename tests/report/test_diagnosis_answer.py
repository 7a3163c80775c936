"""The answer of a diagnosis on one screen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from diagnose import more_rule_cases as more
from diagnose import rule_cases as cases
from diagnose.everyday_rule_cases import EVERYDAY_CASES
from diagnose.rule_cases import RuleCase
from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.model.diagnosis import (
    Diagnosis,
    EvidenceItem,
    MissingFigure,
    RuleAdvice,
    RuleAnswer,
    TaskTime,
    TimeShare,
)
from pacenote.model.race_record import Verdict
from pacenote.model.task_kinds import WorkKind
from pacenote.report.diagnosis_answer import diagnosis_answer
from pacenote.report.render.diagnosis import diagnosis_lines
from pacenote.report.screen.text import plain_text

ROWS, COLUMNS = 24, 80
COMMANDS = 3
"""Lines that `diagnose` prints after it: an empty one, and two commands."""

HEAP = RuleAnswer(
    id="H1",
    title="the heap is too small",
    state="fired",
    text="stopped for 16.4 %",
    tasks=("load",),
    severe=True,
    evidence=(
        EvidenceItem("gc.stop_share", "16.4 %", "GC log", 0.164),
        EvidenceItem("node.old_pool_share", "40 %", "node counters", 0.4),
    ),
    bound=0.196,
    assumes="no stop is left",
    metric="throughput:load",
    confidence=0.5,
    advice=(RuleAdvice("double the heap to 512m"), RuleAdvice("or something else")),
)
REFRESH = RuleAnswer(
    id="I4",
    title="refreshes",
    state="fired",
    text="often",
    metric="throughput:load",
    missing=(MissingFigure("node.x", "not there"),),
)
TIME = TaskTime("load", "", (TimeShare("indexing", 0.6, "x"), TimeShare("driver", 0.1, "y")), 0.3)


def screen(diagnosis: Diagnosis) -> str:
    return plain_text(diagnosis_lines("Diagnosis of race r1", diagnosis_answer(diagnosis), COLUMNS))


def test_the_first_cause_says_how_sure_it_is_what_to_try_and_what_that_can_bring() -> None:
    assert screen(Diagnosis(races=("r1",), findings=(HEAP, REFRESH), time=(TIME,))) == (
        " Diagnosis of race r1\n\n"
        " Cause\n"
        "  ! H1: the heap is too small\n"
        "      found        stopped for 16.4 %\n"
        "      how sure     confidence 50.0 % from GC log, node counters\n"
        "      try          double the heap to 512m\n"
        "      can bring    at most +19.6 % of throughput:load\n\n"
        " Also found: I4, refreshes\n\n"
        " load: time of all cores: 60.0 % indexing, 10.0 % driver\n"
    )


def test_a_doubted_finding_is_not_the_cause() -> None:
    doubted = replace(HEAP, doubtful=True, doubts=("V6 fired: other work",))
    warning = RuleAnswer(id="V6", title="the machine disturbed the race", state="fired", text="x")
    text = screen(Diagnosis(races=("r1",), validity=(warning,), findings=(REFRESH, doubted)))
    assert "\n Cause\n  - I4: refreshes\n" in text
    assert "      can bring    not known: node.x: not there\n" in text
    assert " Also found: H1, the heap is too small (at most +19.6 %, in doubt)\n" in text
    text = screen(Diagnosis(races=("r1",), validity=(warning,), findings=(doubted,)))
    assert " The diagnosis warns: V6, the machine disturbed the race\n" in text
    assert " No cause is certain: 1 finding is in doubt: V6 fired: other work\n" in text
    assert "\n Cause\n" not in text


def test_a_race_without_a_cause_says_why_in_a_line() -> None:
    assert " No cause was found (0 rules ruled out, 0 not applicable)\n" in screen(Diagnosis(races=("r1",)))
    builder = EvidenceBuilder("r1", [TaskFacts("load", "indexing")], Verdict("suspect"))
    builder.set(Window(), "race.test_mode", True)
    builder.set(Window("load"), "cpu.other_share", 0.87)
    text = " ".join(screen(diagnose(builder.build(), bundled_rules())).split())
    assert "The race is suspect" in text
    assert "No cause was found: V11: test mode uses few documents and operations" in text
    assert "O1" not in text


def test_the_time_is_that_of_the_task_and_the_node_of_the_cause() -> None:
    """Three nodes and two tasks, of which the last ones are those of the cause."""
    nodes, tasks = ("n0", "n1", "n2"), ("warm", "load")
    times = tuple(replace(TIME, task=task, node=node) for task in tasks for node in nodes)
    text = screen(Diagnosis(races=("r1",), findings=(replace(HEAP, node="n2"), REFRESH), time=times))
    assert " load on n2: time of all cores" in text
    assert text.count("time of all cores") == 1
    of_the_race = replace(HEAP, node="n1", tasks=())
    assert " warm on n1: time" in screen(Diagnosis(races=("r1",), findings=(of_the_race,), time=times))
    unknown = Diagnosis(races=("r1",), findings=(replace(HEAP, node="n2"),), time=times[:4])
    assert "time of all cores" not in screen(unknown)
    assert " warm on n0: time" in screen(Diagnosis(races=("r1",), time=times))


def test_the_time_beside_an_uneven_cluster_is_that_of_its_busiest_node() -> None:
    builder = EvidenceBuilder("r1", [TaskFacts("warm", "indexing"), TaskFacts("load", "indexing")])
    builder.set(Window(), "engine.nodes", 3)
    for name, value in {
        "cpu_imbalance": 1.8,
        "cpu_node": "n2",
        "heap_imbalance": 1.1,
        "heap_node": "n0",
    }.items():
        builder.set(Window("load"), f"cluster.{name}", value)
    for task in ("warm", "load"):
        for node in ("n0", "n1", "n2"):
            builder.set(Window(task, node), "node.cpu_share", 0.5)
    text = screen(diagnose(builder.build(), [rule for rule in bundled_rules() if rule.id == "O2"]))
    assert " load on n2: time of all cores" in text, text


CASES: dict[str, RuleCase] = {
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


@pytest.mark.parametrize("name", CASES)
def test_the_answer_fits_on_a_screen_whatever_the_first_cause_is(name: str) -> None:
    (rule,) = (each for each in bundled_rules() if each.id == name)
    kind: WorkKind = "searching" if rule.tasks == "searching" else "indexing"
    builder = EvidenceBuilder("r1", [TaskFacts("index-append", kind)])
    for figure, value in CASES[name].fires.items():
        builder.set(Window("index-append"), figure, value)
    diagnosis = diagnose(builder.build(), [rule])
    crowded = replace(
        diagnosis,
        findings=(*diagnosis.findings, HEAP, REFRESH, replace(REFRESH, id="I5")),
        time=(replace(TIME, task="index-append"),),
        verdict="suspect",
        reasons=(
            "index-append: programs beside engine and driver used 78 % of the processor time of the cores "
            "that the engine may use (limit 20 %): stop them, and repeat the race on a quiet machine",
            "another one",
        ),
    )
    text = screen(crowded)
    assert f": {diagnosis.findings[0].title[:20]}" in text
    assert text.count("\n") + COMMANDS <= ROWS, text
