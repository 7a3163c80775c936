"""What rules answer, and how findings are ranked."""

import pytest

from diagnose.evidence import evidence_of
from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rules_file import read_rules

RULES = """
[[rule]]
id = "P"
title = "long pauses"
needs = ["gc.live_share"]
evidence = "gc.stop_share > stopped and gc.young_interval_s < 1"
metric = "throughput"
severe = "gc.stop_share > 0.5"
finding = "stopped for {gc.stop_share} of {gc.pauses} pauses"
withheld-by = ["M"]
source = "test"
[rule.parameters]
stopped = {value = 0.05, unit = "share", meaning = "stopped part"}
[rule.bound]
value = "1 / (1 - gc.stop_share) - 1"
assumes = "no pause is left"
excludes = "a larger buffer"
[[rule.mechanism]]
figure = "gc.stop_share"
direction = "falls"
[[rule.guards]]
test = 'jvm.name == "HotSpot"'
otherwise = "the JVM is not HotSpot"
[[rule.advice]]
text = "double the heap to {jvm.heap_max_bytes * 2|heap}"
options = {car-params = {heap_size = "{jvm.heap_max_bytes * 2|heap}"}}
[[rule.advice]]
text = "only for Serial"
when = 'gc.collector == "Serial"'
[[rule.cautions]]
when = "jvm.heap_max_bytes * 4 > host.memory_bytes"
text = "the memory has only {host.memory_bytes}"

[[rule]]
id = "M"
title = "no memory left"
evidence = "memory.available_share < 0.1"
finding = "{memory.available_share} available"
source = "test"
tasks = "searching"

[[rule]]
id = "Q"
title = "queues"
evidence = "node.write_queue > 10 or node.search_queue > 10"
finding = "{node.write_queue} queued"
confidence = 0.2
source = "test"
[rule.bound]
value = "node.write_queue / 100"
assumes = "no queue"

[[rule]]
id = "V"
kind = "validity"
effect = "void"
title = "errors"
evidence = "task.error_rate > 0"
finding = "{task.error_rate} failed"
source = "test"

[[rule]]
id = "D"
kind = "validity"
effect = "doubt"
title = "stolen time"
evidence = "machine.steal_share > 0.02"
finding = "{machine.steal_share} stolen"
source = "test"

[[rule]]
id = "T"
kind = "validity"
effect = "throughput"
title = "bound by its target"
evidence = "task.target_share > 0.99"
finding = "{task.target_share} achieved"
source = "test"
"""

GC = {"stop_share": 0.2, "young_interval_s": 0.5, "live_share": 0.3, "pauses": 100}
HOTSPOT = {"name": "HotSpot", "heap_max_bytes": 1 << 30}
MEMORY = {"memory_bytes": 8 << 30}


@pytest.fixture(name="rules")
def rules_of_the_test(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    return read_rules(tmp_path)


def answers(rules, evidence):
    """Returns the answers by id."""
    diagnosis = diagnose(evidence, rules)
    together = (*diagnosis.validity, *diagnosis.findings, *diagnosis.ruled_out, *diagnosis.not_applicable)
    assert len(together) == len(rules)
    return {answer.id: answer for answer in together}


def test_a_rule_that_fires_has_its_figures_bound_advice_and_expectations(rules):
    answer = answers(rules, evidence_of(gc=GC, jvm=HOTSPOT, host=MEMORY))["P"]
    assert (answer.state, answer.text) == ("fired", "stopped for 20.0 % of 100 pauses")
    assert answer.tasks == ("load",)
    assert answer.bound == pytest.approx(0.25)
    assert (answer.assumes, answer.excludes) == ("no pause is left", "a larger buffer")
    assert (answer.metric, answer.severe) == ("throughput:load", False)
    assert [(item.name, item.text, item.source) for item in answer.evidence] == [
        ("gc.stop_share", "20.0 %", "GC log"),
        ("gc.young_interval_s", "500 ms", "GC log"),
        ("gc.live_share", "30.0 %", "GC log"),
    ]
    assert [(each.text, each.options) for each in answer.advice] == [
        ("double the heap to 2g", {"car-params": {"heap_size": "2g"}})
    ]
    assert [(each.figure, each.direction, each.now) for each in answer.expected] == [
        ("gc.stop_share", "falls", "20.0 %")
    ]


@pytest.mark.parametrize(
    ("changes", "state", "text"),
    [
        ({"gc": GC | {"stop_share": 0.03}}, "ruled out", "gc.stop_share is 3.0 %, not above 5.0 %"),
        ({"gc": GC | {"young_interval_s": 4}}, "ruled out", "gc.young_interval_s is 4 s, not below 1 s"),
        ({"jvm": {"name": "OpenJ9"}}, "not applicable", "the JVM is not HotSpot"),
        ({"jvm": {"name": None}}, "not applicable", "jvm.name is not known: the test says so"),
        ({"gc": GC | {"stop_share": None}}, "not applicable", "gc.stop_share is not known: the test says so"),
        ({"gc": GC | {"live_share": None}}, "not applicable", "gc.live_share is not known: the test says so"),
        (
            {"gc": GC | {"live_share": None, "stop_share": 0.03}},
            "ruled out",
            "gc.stop_share is 3.0 %, not above 5.0 %",
        ),
        (
            {"task": {"error_rate": 0.01}},
            "not applicable",
            "V fired: errors",
        ),
        ({"task": {"target_share": 1.0}}, "not applicable", "T fired: bound by its target"),
    ],
)
def test_a_rule_that_does_not_fire_says_why(rules, changes, state, text):
    answer = answers(rules, evidence_of(**{"gc": GC, "jvm": HOTSPOT, "host": MEMORY, **changes}))["P"]
    assert (answer.state, answer.text) == (state, text)
    assert answer.bound is None
    assert answer.advice == ()


def test_a_rule_about_other_tasks_is_not_applicable(rules):
    by_rule = answers(rules, evidence_of(memory={"available_share": 0.01}))
    assert (by_rule["M"].state, by_rule["M"].text) == ("not applicable", "no task searches")
    assert answers(rules, EvidenceBuilder("r").build())["P"].text == "no task was measured"


def test_alternatives_that_are_all_false_are_all_named(rules):
    answer = answers(rules, evidence_of(node={"write_queue": 3, "search_queue": 4}))["Q"]
    assert answer.text == "node.write_queue is 3, not above 10 and node.search_queue is 4, not above 10"


def test_advice_is_withheld_if_a_caution_or_another_rule_is_against_it(rules):
    small = {"memory_bytes": 2 << 30}
    answer = answers(rules, evidence_of(gc=GC, jvm=HOTSPOT, host=small))["P"]
    assert (answer.state, answer.advice) == ("fired", ())
    assert answer.withheld == ("the memory has only 2.0 GiB",)
    scarce = {"available_share": 0.05}
    answer = answers(rules, evidence_of("searching", gc=GC, jvm=HOTSPOT, host=MEMORY, memory=scarce))["P"]
    assert answer.withheld == ("M fired: no memory left",)
    answer = answers(rules, evidence_of(gc=GC, jvm=HOTSPOT))["P"]
    assert answer.advice
    assert answer.doubts == (
        "not checked, because host.memory_bytes is not known: ((jvm.heap_max_bytes * 4) > host.memory_bytes)",
    )


def test_findings_are_ranked_by_their_bounds_weighed_with_confidence(rules):
    evidence = evidence_of(gc=GC, jvm=HOTSPOT, host=MEMORY, node={"write_queue": 50})
    outcome = diagnose(evidence, rules)
    assert [(answer.id, answer.bound, answer.confidence) for answer in outcome.findings] == [
        ("P", pytest.approx(0.25), 1.0),
        ("Q", pytest.approx(0.5), 0.2),
    ]
    doubtful = evidence_of(gc=GC, jvm=HOTSPOT, host=MEMORY, machine={"steal_share": 0.1})
    outcome = diagnose(doubtful, rules)
    assert [answer.id for answer in outcome.warnings] == ["D"]
    assert (outcome.findings[0].confidence, outcome.findings[0].doubts) == (0.5, ("D fired: stolen time",))


def test_the_worst_task_and_node_speak_for_a_rule(rules):
    builder = EvidenceBuilder("r", [TaskFacts("a", "indexing"), TaskFacts("b", "indexing")])
    for name, value in (("jvm.name", "HotSpot"), ("gc.young_interval_s", 0.1), ("gc.live_share", 0.1)):
        builder.set(Window(), name, value)
    for task, node, share in (("a", "n1", 0.1), ("b", "n1", 0.2), ("b", "n2", 0.6), ("a", "n2", 0.01)):
        builder.set(Window(task, node), "gc.stop_share", share)
    answer = answers(rules, builder.build())["P"]
    assert (answer.tasks, answer.node, answer.severe) == (("b", "a"), "n2", True)
    assert answer.bound == pytest.approx(1.5)
    assert answer.text == "stopped for 60.0 % of not observed pauses"
    assert answer.advice[0].options == {}


def test_a_bound_that_cannot_be_computed_names_what_is_missing(rules):
    answer = answers(rules, evidence_of(node={"search_queue": 50}))["Q"]
    assert (answer.state, answer.bound, answer.assumes) == ("fired", None, "")
    assert [figure.name for figure in answer.missing] == ["node.write_queue"]


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ("first(cpu.idle_share, 0) > 0.5", "cpu.idle_share is not observed"),
        ("first(cpu.idle_share, gc.stop_share) > 0.5", "gc.stop_share is 20.0 %, not above 50.0 %"),
        ("first(gc.stop_share, 0) > 0.5", "gc.stop_share is 20.0 %, not above 50.0 %"),
        ("observed(cpu.idle_share) and cpu.idle_share > 0", "cpu.idle_share is not observed"),
        ("not observed(gc.pauses)", "observed(gc.pauses) is true"),
        ("not observed(gc.pauses) or gc.pauses > 200", "gc.pauses is 100, not above 200"),
        ("not jvm.compressed_oops", "jvm.compressed_oops is yes"),
        ("gc.concurrent", "gc.concurrent is no"),
        ('jvm.name == "OpenJ9"', "jvm.name is HotSpot, not OpenJ9"),
        ('jvm.name != "HotSpot"', "jvm.name is HotSpot, also HotSpot"),
        ("gc.pauses / gc.stop_share < 3", "gc.pauses / gc.stop_share is 500, not below 3"),
        ("gc.stop_share + gc.live_share <= 0", "gc.stop_share + gc.live_share is 50.0 %, not at most 0.00 %"),
    ],
)
def test_what_is_missing_is_never_shown_as_zero(tmp_path, evidence, text):
    (tmp_path / "rule.toml").write_text(
        f"[[rule]]\nid = 'E'\ntitle = 't'\nevidence = \"\"\"{evidence}\"\"\"\nfinding = 'f'\nsource = 's'\n"
    )
    known = evidence_of(gc=GC | {"concurrent": False}, jvm=HOTSPOT | {"compressed_oops": True})
    answer = answers(read_rules(tmp_path), known)["E"]
    assert (answer.state, answer.text) == ("ruled out", text)


AUTO = """
[[rule]]
id = "A"
title = "pauses"
evidence = "gc.stop_share > 0.1"
finding = "stopped for {gc.stop_share}"
source = "test"
[rule.bound]
value = "1 / (1 - gc.stop_share) - 1"
time = "gc.pause_p99_ms / task.service_p99_ms"
assumes = "no pause is left"

[[rule]]
id = "B"
title = "without a bound of times"
evidence = "gc.stop_share > 0.1"
finding = "stopped"
source = "test"
[rule.bound]
value = "gc.stop_share"
assumes = "no pause is left"

[[rule]]
id = "C"
title = "hardly anything"
evidence = "gc.stop_share > 0.1"
finding = "stopped"
source = "test"
metric = "p99"
[rule.bound]
value = "gc.stop_share / 100"
assumes = "nothing"
"""


@pytest.mark.parametrize(
    ("paced", "bounds", "order"),
    [
        (False, {"A": 0.25, "B": 0.2, "C": -0.002}, ["A", "B", "C"]),
        (True, {"A": -0.5, "B": None, "C": -0.002}, ["A", "B", "C"]),
    ],
)
def test_a_target_rate_makes_times_what_can_improve(tmp_path, paced, bounds, order):
    (tmp_path / "rules.toml").write_text(AUTO)
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
    figures = {"gc.stop_share": 0.2, "gc.pause_p99_ms": 10, "task.service_p99_ms": 20, "task.paced": paced}
    for name, value in figures.items():
        builder.set(Window("load"), name, value)
    findings = diagnose(builder.build(), read_rules(tmp_path)).findings
    assert [each.id for each in findings] == order
    assert {each.id: each.largest_change for each in findings} == {
        name: None if value is None else pytest.approx(value) for name, value in bounds.items()
    }
    assert findings[0].metric == ("p99:load" if paced else "throughput:load")


@pytest.mark.parametrize(
    ("task", "doubt"),
    [
        (TaskFacts("load", "indexing", beside=("query",)), "load ran together with query"),
        (TaskFacts("load", "indexing", warmup_share=0.5), "50.0 % of load was warm-up"),
        (TaskFacts("load", "indexing", warmup_share=0.1), ""),
    ],
)
def test_figures_of_more_than_the_measured_task_are_doubtful(tmp_path, task, doubt):
    (tmp_path / "rules.toml").write_text(AUTO)
    builder = EvidenceBuilder("race", [task])
    builder.set(Window("load"), "gc.stop_share", 0.2)
    finding = diagnose(builder.build(), read_rules(tmp_path)).findings[0]
    assert finding.confidence == (0.5 if doubt else 1.0)
    assert [text[: len(doubt)] for text in finding.doubts] == ([doubt] if doubt else [])


def test_a_finding_about_the_whole_cluster_names_no_node_and_one_about_a_node_does(rules):
    builder = EvidenceBuilder("r", [TaskFacts("a", "indexing")])
    for node in ("n1", "n2"):
        builder.set(Window("a", node), "node.cpu_share", 0.5)
    builder.set(Window("a"), "task.error_rate", 0.5)
    assert (answers(rules, builder.build())["V"].state, answers(rules, builder.build())["V"].node) == (
        "fired",
        "",
    )
    builder.set(Window("a", "n2"), "node.write_queue", 50)
    builder.set(Window("a"), "task.error_rate", 0)
    assert answers(rules, builder.build())["Q"].node == "n2"


def test_a_doubted_finding_does_not_lead(rules):
    """The machine was disturbed while `a` ran, whose finding has by far the largest bound."""
    builder = EvidenceBuilder("r", [TaskFacts("a", "indexing"), TaskFacts("b", "indexing")])
    for name, value in (("jvm.name", "HotSpot"), ("gc.young_interval_s", 0.1), ("gc.live_share", 0.1)):
        builder.set(Window(), name, value)
    builder.set(Window("a"), "gc.stop_share", 0.9)
    builder.set(Window("a"), "machine.steal_share", 0.5)
    builder.set(Window("b"), "node.write_queue", 11)
    diagnosis = diagnose(builder.build(), rules)
    assert [(answer.id, answer.doubtful) for answer in diagnosis.findings] == [("Q", False), ("P", True)]
    assert [answer.id for answer in diagnosis.leading] == ["Q"]
