"""The host that was sampled is that of the engine only if nodes ran on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.host_facts import ELSEWHERE, add_host_figures
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.model.diagnosis import RuleAnswer
from pacenote.model.sampler_facts import SamplerFacts
from pacenote.stats.host_figures import HostHistory, SampledHost, host_figures
from stats.test_host_figures import TASK
from stats.test_host_figures import telemetry as sampled

FIGURES: dict[str, float | str] = {"cpu.idle_share": 0.9, "disk.util_share": 0.1}
WINDOW = Window("load", "n0")


def evidence(nodes: tuple[str, ...], figures: dict[str, float | str], **known: Any) -> Evidence:
    """The evidence of a host with these nodes, of which more is known."""
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
    add_host_figures(builder, {"load": figures}, SamplerFacts(nodes, **known))
    return builder.build()


def reason(observed: Evidence, name: str) -> str:
    value = observed.value(WINDOW, name)
    assert isinstance(value, Unknown), value
    return value.reasons[0][1]


def test_the_host_of_nodes_has_figures() -> None:
    observed = evidence(("n0",), FIGURES)
    assert observed.value(WINDOW, "cpu.idle_share") == 0.9
    assert reason(observed, "disk.util_30s_share") == "the task is shorter than 30 s"


def test_the_time_of_a_driver_that_may_use_other_cores_is_missing() -> None:
    observed = evidence(("n0",), {"cpu.idle_share": 0.1, "cpu.engine_share": 0.4})
    for name in ("cpu.driver_share", "cpu.other_share", "cpu.lacked_share"):
        assert reason(observed, name).startswith("the driver may also use processors that the engine may not")


def test_the_time_of_other_programs_is_missing_if_interrupts_may_be_part_of_it() -> None:
    shares = {f"cpu.{name}_share": 0.2 for name in ("idle", "engine", "driver", "other_least", "lacked")}
    known = evidence(("n0",), {**shares})
    assert reason(known, "cpu.other_share").startswith(
        "whether the kernel counts interrupts for the programs"
    )
    assert reason(known, "cpu.lacked_least_share") == "the time of the driver is known"
    assert known.value(WINDOW, "cpu.other_least_share") == known.value(WINDOW, "cpu.lacked_share") == 0.2


def test_the_time_of_other_programs_is_missing_if_that_of_further_engines_is() -> None:
    shares = {f"cpu.{name}_share": 0.2 for name in ("idle", "engine", "driver", "other_least")}
    for unread, beginning in (("", "nodes of further clusters"), ("far", "not all processes were read")):
        known = {"further_engines": ("far",), "unread_children": frozenset({unread})}
        observed = evidence(("n0",), {**shares}, **known)
        for name in ("cpu.other_share", "cpu.lacked_share"):
            assert reason(observed, name).startswith(beginning)


def test_what_an_engine_lacked_is_missing_if_the_waits_of_its_threads_are() -> None:
    shares = {f"cpu.{name}_share": 0.2 for name in ("idle", "engine", "driver", "other", "lacked_possible")}
    for uncounted, beginning in (
        ((), "the waits of threads are read"),
        (("n0",), "the kernel does not count"),
    ):
        observed = evidence(("n0",), shares, uncounted_waits=frozenset(uncounted))
        for name in ("cpu.lacked_share", "cpu.engine_waiting"):
            assert reason(observed, name).startswith(beginning)
        assert reason(observed, "cpu.lacked_least_share") == "the time of other processes is known"


def test_the_time_of_an_engine_is_missing_if_not_all_that_it_has_started_was_read() -> None:
    observed = evidence(("n0",), {"cpu.user_share": 0.1}, unread_children=frozenset({"n0"}))
    for name in ("cpu.engine_share", "cpu.other_share", "cpu.lacked_share"):
        assert reason(observed, name).startswith("not all processes were read")


def test_the_idle_cores_of_the_driver_are_not_those_of_an_engine_elsewhere() -> None:
    assert reason(evidence((), FIGURES), "cpu.idle_share") == ELSEWHERE
    assert reason(evidence(("n0",), {}), "cpu.idle_share") == "the host was not sampled"


LOSSY: dict[str, float | str] = {
    **{"network.bytes_per_s": 5e7, "network.retransmit_share": 0.02, "network.drops_per_s": 0.0},
    **{"network.softirq_cpus": 1, "network.softirq_busiest_share": 0.9, "network.squeezes_per_s": 3.0},
    "cpu.idle_share": 0.1,
}


def network_findings(nodes: tuple[str, ...], engine_nodes: int) -> dict[str, RuleAnswer]:
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
    builder.set(Window(), "engine.nodes", engine_nodes)
    add_host_figures(builder, {"load": LOSSY}, SamplerFacts(nodes))
    rules = [rule for rule in bundled_rules() if rule.id.startswith("N")]
    outcome = diagnose(builder.build(), rules)
    return {answer.id: answer for answer in (*outcome.findings, *outcome.ruled_out, *outcome.not_applicable)}


def test_requests_to_an_engine_elsewhere_go_through_the_network_of_the_driver() -> None:
    answers = network_findings((), 3)
    assert {name for name, answer in answers.items() if answer.is_fired} == {"N1", "N3"}
    assert "received packets are handled by 1 of the processors of the driver's host" in answers["N1"].text
    assert "transferred by the driver's host" in answers["N3"].text


def test_the_network_of_the_engine_matters_if_other_nodes_are_elsewhere() -> None:
    assert "transferred by the engine's host" in network_findings(("n0",), 3)["N3"].text


def test_requests_to_an_engine_on_the_same_host_go_through_no_network_whoever_started_it() -> None:
    for answer in network_findings(("n0",), 1).values():
        assert (answer.state, answer.text) == ("not applicable", "all requests stay on this host")


REMOTE = {
    # The driver's host, which alone is sampled: counters within a task of 100 s.
    "network.received_bytes[interface=eth0]": 4e9,
    "network.sent_bytes[interface=eth0]": 1e9,
    "network.receive_drops[interface=eth0]": 90.0,
    "tcp.sent_segments": 1e6,
    "tcp.retransmissions": 9e3,
    "softnet.time_squeezes[cpu=0]": 400.0,
    "softirq.net_rx[cpu=0]": 9e5,
    "softirq.net_rx[cpu=1]": 1e3,
    "cpu.softirq[cpu=0]": 85e3,
    "process.migrations[process=driver]": 400e3,
}


def remote_findings(counters: Mapping[str, float], **settings: bool) -> list[str]:
    """Returns the rules about the network that fire for an engine on other hosts, by what the sampler has of
    the host of the driver, and by the settings of its interface.
    """
    builder = EvidenceBuilder("race", [TaskFacts("load", "searching")])
    builder.set(Window(), "engine.nodes", 3)
    for name, value in {"rx_queues": 1, "rps": False, "rfs": False, **settings}.items():
        builder.set(Window(), f"network.{name}", value)
    figures = host_figures(sampled(counters, {}), TASK, SampledHost(), HostHistory())
    add_host_figures(builder, {"load": figures}, SamplerFacts())
    rules = [rule for rule in bundled_rules() if rule.id.startswith("N")]
    return [answer.id for answer in diagnose(builder.build(), rules).findings]


def test_each_rule_about_the_network_is_reached_with_what_is_sampled_of_the_driver() -> None:
    assert sorted(remote_findings(REMOTE)) == ["N1", "N3"]
    assert sorted(remote_findings(REMOTE, rps=True)) == ["N2", "N3"]
    assert remote_findings(REMOTE, rps=True, rfs=True) == ["N3"]


def test_a_network_without_a_fault_has_no_finding() -> None:
    spread = {f"softirq.net_rx[cpu={cpu}]": 1e5 for cpu in range(8)}
    healthy = {
        **REMOTE,
        **spread,
        "network.receive_drops[interface=eth0]": 0.0,
        "tcp.retransmissions": 5.0,
        "softnet.time_squeezes[cpu=0]": 0.0,
        "cpu.softirq[cpu=0]": 4e3,
        "process.migrations[process=driver]": 2e3,
    }
    for settings in ({}, {"rps": True}):
        assert remote_findings(healthy, **settings) == []
