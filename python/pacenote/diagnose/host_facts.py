"""The figures of the sampled host of the engine, by task."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.sampler_facts import SamplerFacts

ELSEWHERE = "the engine is not known to run on the host that was sampled"
"""Why figures of the host are missing if Pacenote started no node on it."""

_OF_ALL = "the kernel has no such counter, or counts it for all CPUs, of which the engine may not use all"
_ON_OTHERS = "the driver may also use processors that the engine may not, and the kernel adds its time on all"
_FURTHER_ON_OTHERS = (
    "nodes of further clusters may also use processors that the engine may not, and the kernel adds their "
    "time on all"
)
_UNREAD = "not all processes were read that a node on the host has started"
_WITH_INTERRUPTS = "whether the kernel counts interrupts for the programs that they stop, too, is not known"
_EXACT = "the time of other processes is known"
_EXACT_DRIVER = "the time of the driver is known"
_WAITS_KNOWN = "what the engine lacked at most is known"
_UNCOUNTED_WAITS = "the kernel does not count for how long threads wait for a processor"
_UNREAD_WAITS = "the waits of threads are read every ten seconds, which is too rarely for this task"
_SUSTAINED = "the task is shorter than 30 s"


def add_host_figures(
    builder: EvidenceBuilder,
    by_task: Mapping[str, Mapping[str, float | str]],
    sampler: SamplerFacts,
    of_nodes: Mapping[str, Mapping[str, Mapping[str, float | str]]] = MappingProxyType({}),
) -> None:
    """Adds the figures of the host of `sampler`; without nodes, it is only that of the driver, of which only
    the network matters. The configuration has been added.
    `of_nodes` has, by task and node, those of the CPUs of single nodes.
    """
    if not any(by_task.values()):
        builder.miss("host sampler", "the host was not sampled")
        return
    nodes = sampler.nodes
    builder.set(Window(), "network.host", "the engine's host" if nodes else "the driver's host")
    if not nodes:
        builder.miss("host sampler", ELSEWHERE)
        _add_network(builder, by_task)
        return
    if len(nodes) == builder.build().number(Window(), "engine.nodes"):
        # The kernel sends packets to addresses of its own host over the loopback interface.
        builder.set(Window(), "network.is_loopback", True)
    for task, figures in by_task.items():
        for name, value in figures.items():
            builder.set(Window(task), name, value)
        if "disk.util_share" in figures and "disk.util_30s_share" not in figures:
            builder.miss("disk.util_30s_share", _SUSTAINED, Window(task))
        if "cpu.idle_share" in figures:
            for name in ("cpu.runnable", "cpu.wait_share"):
                builder.miss(name, _OF_ALL, Window(task))
        for name, reason in _missing_shares(figures, sampler).items():
            builder.miss(name, reason, Window(task))
    for task, of_task in of_nodes.items():
        for node, figures in of_task.items():
            for name, value in figures.items():
                builder.set(Window(task, node), name, value)


def _missing_shares(figures: Mapping[str, float | str], sampler: SamplerFacts) -> dict[str, str]:
    """Returns why figures of the engine, the driver and other programs are missing, by name."""
    of_others = ("cpu.other_share", "cpu.lacked_share")
    if "cpu.engine_share" not in figures:
        is_unread = "cpu.user_share" in figures and not sampler.unread_children.isdisjoint(sampler.nodes)
        return dict.fromkeys(("cpu.engine_share", *of_others), _UNREAD) if is_unread else {}
    if "cpu.lacked_possible_share" in figures:
        reason = _UNREAD_WAITS if sampler.uncounted_waits.isdisjoint(sampler.nodes) else _UNCOUNTED_WAITS
        return {"cpu.lacked_share": reason, "cpu.engine_waiting": reason, **_missing_others(figures)}
    if "cpu.driver_share" not in figures:
        return dict.fromkeys(("cpu.driver_share", "cpu.other_share", "cpu.lacked_share"), _ON_OTHERS)
    if "cpu.lacked_share" in figures:
        return _missing_others(figures) | {"cpu.lacked_possible_share": _WAITS_KNOWN}
    if "cpu.other_share" in figures:
        return _missing_others(figures)
    if sampler.further_engines and "cpu.further_engines_share" not in figures:
        is_unread = not sampler.unread_children.isdisjoint(sampler.further_engines)
        return dict.fromkeys(of_others, _UNREAD if is_unread else _FURTHER_ON_OTHERS)
    return _missing_others(figures)


def _missing_others(figures: Mapping[str, float | str]) -> dict[str, str]:
    """Returns why figures of other programs are missing if the time of all processes of the race is known."""
    if "cpu.other_share" in figures:
        return dict.fromkeys(("cpu.other_least_share", "cpu.lacked_least_share"), _EXACT)
    return {"cpu.other_share": _WITH_INTERRUPTS, "cpu.lacked_least_share": _EXACT_DRIVER}


def _add_network(builder: EvidenceBuilder, by_task: Mapping[str, Mapping[str, float | str]]) -> None:
    """Adds the figures of the network of the driver's host: requests to an engine elsewhere go through it."""
    for task, figures in by_task.items():
        for name, value in figures.items():
            if name.startswith("network."):
                builder.set(Window(task), name, value)
