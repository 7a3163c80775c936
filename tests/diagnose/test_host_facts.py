"""The host that was sampled is that of the engine only if nodes ran on it."""

from __future__ import annotations

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.host_facts import ELSEWHERE, add_host_figures

FIGURES: dict[str, float | str] = {"cpu.idle_share": 0.9, "disk.util_share": 0.1}
WINDOW = Window("load", "n0")


def evidence(nodes: tuple[str, ...], figures: dict[str, float | str]) -> Evidence:
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
    add_host_figures(builder, {"load": figures}, nodes)
    return builder.build()


def reason(found: Evidence, name: str) -> str:
    value = found.value(WINDOW, name)
    assert isinstance(value, Unknown), value
    return value.reasons[0][1]


def test_the_host_of_nodes_has_figures() -> None:
    found = evidence(("n0",), FIGURES)
    assert found.value(WINDOW, "cpu.idle_share") == 0.9
    assert reason(found, "disk.util_30s_share") == "the task is shorter than 30 s"


def test_the_time_of_a_driver_that_may_use_other_cores_is_missing() -> None:
    found = evidence(("n0",), {"cpu.idle_share": 0.1, "cpu.engine_share": 0.4})
    for name in ("cpu.driver_share", "cpu.other_share", "cpu.lacked_share"):
        assert reason(found, name).startswith("the driver may also use processors that the engine may not")


def test_the_idle_cores_of_the_driver_are_not_those_of_an_engine_elsewhere() -> None:
    assert reason(evidence((), FIGURES), "cpu.idle_share") == ELSEWHERE
    assert reason(evidence(("n0",), {}), "cpu.idle_share") == "the host was not sampled"
