"""What a record says about the sampled host is read part by part, whatever the form of the others."""

from __future__ import annotations

import pytest

from pacenote.model.sampler_facts import SamplerFacts, sampler_facts
from pacenote.stats.host_figures import SampledHost

STORED = {
    "nodes": ["n-0"],
    "further_engines": ["far: n-0"],
    "node_cpus": [0, 1],
    "process_cpus": {"n-0": [0, 1], "driver": [2]},
    "link_bytes_per_s": {"eth0": 125000000, "eth1": 1.5},
    "data_devices": [{"device": "md0", "disks": ["sda", "sdb"]}, {"device": "sdc"}],
    "exact_interrupts": True,
    "not_available": {
        "n-1: control group": "it is that of n-0",
        "n-0: io.stat": "it is that of an unknown node",
        "n-2: child processes": "too many of them ran at a time",
    },
}
FACTS = SamplerFacts(
    nodes=("n-0",),
    further_engines=("far: n-0",),
    node_cpus=frozenset({0, 1}),
    process_cpus={"n-0": frozenset({0, 1}), "driver": frozenset({2})},
    link_bytes_per_s={"eth0": 125000000.0, "eth1": 1.5},
    devices={"md0": ("sda", "sdb"), "sdc": ()},
    group_readers={"n-1": "n-0"},
    unread_children=frozenset({"n-2"}),
    exact_interrupts=True,
)
HOSTILE: tuple[object, ...] = (True, -1, 1e308, "x", [], [[]], [None], {}, {"a": None}, [{}])


def test_the_facts_of_a_sampler_are_read() -> None:
    assert sampler_facts({"host-sampler": STORED}) == FACTS
    assert sampler_facts({}) is None
    assert sampler_facts({"host-sampler": {}}) == SamplerFacts()


@pytest.mark.parametrize("part", STORED)
@pytest.mark.parametrize("value", HOSTILE, ids=str)
def test_a_part_of_another_form_is_left_out(part: str, value: object) -> None:
    telemetry = {"host-sampler": {**STORED, part: value}}
    facts = sampler_facts(telemetry)
    assert facts is not None
    names = {"data_devices": "devices", "not_available": "group_readers"}
    for name in STORED.keys() - {part}:
        assert getattr(facts, names.get(name, name)) == getattr(FACTS, names.get(name, name))
    assert SampledHost.from_record(telemetry).nodes == facts.nodes
    assert not getattr(facts, names.get(part, part)) or value in ([-1], True)


@pytest.mark.parametrize("value", HOSTILE, ids=str)
def test_a_sampler_of_another_form_has_no_facts(value: object) -> None:
    assert sampler_facts({"host-sampler": value}) in (None, SamplerFacts())
