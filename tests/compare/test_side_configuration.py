"""The races of one side of a comparison are of one configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import fields, replace

from compare.races import compared, race
from pacenote.compare.race_diff import OPTION_FIELDS
from pacenote.compare.side_configuration import mixed_configuration
from pacenote.model.node_options import NodeGroup, NodeOptions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RecordedClient, RecordedTrack
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.target_rate import TargetRate


def mixed(*options: RecordedOptions, **changes: object) -> str:
    """Returns in what races with these options differ."""
    return mixed_configuration(
        compared(*(race(f"r{at}", at, options=own, **changes) for at, own in enumerate(options)))
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"settings": {"index.refresh_interval": "30s"}},
            "setting index.refresh_interval: not set (1), 30s (1)",
        ),
        ({"plugins": ("analysis-icu", "x")}, "plugins: not set (1), analysis-icu x (1)"),
        ({"plugin_params": {"a": 1}}, "plugin parameter a: not set (1), 1 (1)"),
        ({"revision": "4f2a"}, "source revision: not set (1), 4f2a (1)"),
        ({"runtime_jdk": 21}, "runtime JDK: not set (1), 21 (1)"),
        ({"jvm_options": ("-Xss1m",)}, "JVM options: not set (1), -Xss1m (1)"),
        (
            {"engine_variables": {"MALLOC_ARENA_MAX": "1"}},
            "engine variable MALLOC_ARENA_MAX: not set (1), 1 (1)",
        ),
        ({"telemetry": ("jfr",)}, "telemetry: not set (1), jfr (1)"),
        ({"include_tasks": ("term",)}, "include tasks: not set (1), term (1)"),
        ({"caches": "cold"}, "caches: not set (1), cold (1)"),
        ({"cooldown_s": 10.0}, "cooldown in seconds: 0.0 (1), 10.0 (1)"),
    ],
)
def test_options_of_the_race_are_part_of_the_configuration(options, text):
    assert mixed(RecordedOptions(), RecordedOptions(**options)) == text
    assert mixed(RecordedOptions(**options), RecordedOptions(**options)) == ""


def test_nodes_and_their_data_paths_are_part_of_the_configuration():
    nodes = NodeOptions(data_paths=((Path("/a"),),))
    text = mixed(
        RecordedOptions(nodes=nodes), RecordedOptions(nodes=replace(nodes, data_paths=((Path("/b"),),)))
    )
    assert "nodes data paths: " in text
    assert "/a" in text
    text = mixed(RecordedOptions(nodes=nodes), RecordedOptions(nodes=replace(nodes, groups=(NodeGroup(3),))))
    assert text.startswith("nodes groups: ")


def test_what_is_told_otherwise_is_not_told_twice():
    told = RecordedOptions(
        track_path="/tracks/a",
        track_revision="main",
        distribution_version="9",
        driver_scheduling="normal",
        team_path="/cars",
    )
    assert mixed(RecordedOptions(), told) == ""


def test_halves_of_a_machine_have_cpus_of_their_own():
    own = [
        RecordedOptions(driver_cpus=str(cpu), nodes=NodeOptions(cpus=((cpu,),), data_paths=((Path("/a"),),)))
        for cpu in (0, 4)
    ]
    assert mixed(*own, user_tags={"half": 1}) == ""
    assert "driver CPUs: 0 (1), 4 (1)" in mixed(*own)


def test_builds_of_one_version_differ():
    races = [race(f"r{at}", at) for at in range(2)]
    races = [
        replace(own, cluster=replace(own.cluster, build_hash=name))
        for own, name in zip(races, "ab", strict=True)
    ]
    assert mixed_configuration(compared(*races)) == "build hash: a (1), b (1)"


CHANGES: dict[str, object] = {
    "car": ("4gheap",),
    "car_params": {"heap_size": "2g"},
    "client": RecordedClient(compress=True),
    "options": RecordedOptions(settings={"index.codec": "default"}),
    "other_clients": {"b": RecordedClient()},
    "pacing": PacingOptions(open_loop=True),
    "pipeline": "from-sources",
    "targets": {"search": TargetRate(150.0)},
    "track": RecordedTrack("geonames", params={"docs": 5}),
}
"""Another value of each option that is part of the configuration."""

SAID_ELSEWHERE = {
    "challenge": "a comparison of different ones is void",
    "corpora": "a comparison of different data is void",
    "max_error_rate": "it changes verdicts, but no figure",
    "max_shortfall": "it changes verdicts, but no figure",
    "seed": "the races of an experiment may have one each",
    "user_tags": "they choose the races of a side, and number its blocks",
}


def test_each_option_of_a_race_is_part_of_the_configuration_or_said_elsewhere():
    assert len(OPTION_FIELDS) > 10, "the guard found hardly any options"
    assert {*OPTION_FIELDS} == CHANGES.keys() | SAID_ELSEWHERE.keys()
    for field, value in CHANGES.items():
        races = [race("a", 0), race("b", 1, **{field: value})]
        assert mixed_configuration(compared(*races)), field


PACING = {
    "open_loop": (PacingOptions(open_loop=True), "open loop: no (1), yes (1)"),
    "max_connections": (PacingOptions(max_connections=64), "max connections: not set (1), 64 (1)"),
    "arrivals": (PacingOptions(arrivals="poisson"), "arrivals: not set (1), poisson (1)"),
    "spin_us": (PacingOptions(spin_us=100), "spin time in µs: 20 (1), 100 (1)"),
    # A finding says in which races the window waited.
    "warmup_drain": (PacingOptions(warmup_drain=True), ""),
}
CLIENT = {
    # They say where an engine is, not what it is sent.
    "hosts": (RecordedClient(hosts=("http://10.0.0.2:9200",)), ""),
    "proxies": (RecordedClient(proxies={"10.0.0.2:9200": "http://10.0.0.3:8080"}), ""),
    "tls": (RecordedClient(tls=True), "TLS: no (1), yes (1)"),
    "certificates_verified": (
        RecordedClient(certificates_verified=False),
        "certificates verified: not set (1), no (1)",
    ),
    "host_names_verified": (
        RecordedClient(host_names_verified=True),
        "host names verified: not set (1), yes (1)",
    ),
    "client_certificate": (RecordedClient(client_certificate=True), "client certificate: no (1), yes (1)"),
    "authentication": (RecordedClient(authentication="basic"), "authentication: none (1), basic (1)"),
    "compress": (
        RecordedClient(compress=True, accept_encoding="identity"),
        "compressed requests: no (1), yes (1)",
    ),
    "accept_encoding": (
        RecordedClient(accept_encoding="gzip"),
        "accepted encoding: identity (1), gzip (1)",
    ),
    "timeout_s": (RecordedClient(timeout_s=5.0), "timeout in seconds: not set (1), 5 (1)"),
    "headers": (RecordedClient(headers=("x-a", "x-b")), "headers: not set (1), x-a x-b (1)"),
}


@pytest.mark.parametrize(
    ("record_field", "default", "changes"),
    [("pacing", PacingOptions(), PACING), ("client", RecordedClient(), CLIENT)],
)
def test_each_field_of_pacing_and_client_is_part_of_the_configuration_or_said_elsewhere(
    record_field: str, default: object, changes: dict[str, tuple[object, str]]
):
    assert changes.keys() == {field.name for field in fields(type(default))}
    for name, (value, text) in changes.items():
        races = [race("a", 0, **{record_field: default}), race("b", 1, **{record_field: value})]
        assert mixed_configuration(compared(*races)) == text, name


def test_further_clusters_and_target_rates_are_named():
    slow, fast = ({"term": TargetRate(rate, arrivals="poisson")} for rate in (100.0, 1500.5))
    others = [{"b": RecordedClient(timeout_s=seconds)} for seconds in (5.0, 60.0)]
    races = [
        race("a", 0, targets=slow, other_clients=others[0]),
        race("b", 1, targets=fast, other_clients=others[1]),
    ]
    assert mixed_configuration(compared(*races)) == (
        "timeout in seconds of cluster b: 5 (1), 60 (1); "
        "target rate of term: 100 ops/s with poisson arrivals (1), 1,500.5 ops/s with poisson arrivals (1)"
    )


def test_replies_that_an_older_version_requested_in_the_same_encoding_are_no_difference():
    """It recorded the encoding only as a part of the compression."""
    old, new = RecordedClient(compress=True), RecordedClient(compress=True, accept_encoding="gzip")
    assert mixed_configuration(compared(race("a", 0, client=old), race("b", 1, client=new))) == ""
