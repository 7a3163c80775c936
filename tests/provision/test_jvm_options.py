"""The JVM options that Pacenote adds suit the JVM."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from pacenote.provision.cars import compose_car
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_program import AssembledProgram, NodePorts, NodeSetup
from pacenote.provision.java import JavaRuntime

HOTSPOT = JavaRuntime(Path("/java"), "21", "", frozenset(), "x")
OPENJ9 = replace(HOTSPOT, variant="openj9")


def options(java: JavaRuntime, *cars: str, added: tuple[str, ...] = ()) -> tuple[str, ...]:
    paths = NodePaths(*(Path("/", name) for name in ("home", "config", "data", "logs", "tmp")))
    setup = NodeSetup(paths, NodePorts(1, 2), 1 << 30, (*compose_car(cars).jvm_options, *added))
    return AssembledProgram(find_distribution("opensearch", "3.3.0"), Path("/home"), java).jvm_options(setup)


def test_g1_is_used_unless_the_car_selects_another_collector() -> None:
    assert "-XX:+UseG1GC" in options(HOTSPOT)
    assert options(HOTSPOT, "g1gc").count("-XX:+UseG1GC") == 1
    parallel = options(HOTSPOT, "parallelgc")
    assert "-XX:+UseParallelGC" in parallel
    assert not [each for each in parallel if "G1" in each]


def test_openj9_gets_no_options_that_only_hotspot_has() -> None:
    jvm_options = options(OPENJ9)
    hotspot = set(options(HOTSPOT)) - set(jvm_options)
    assert "-Xverbosegclog:/logs/gc.log.%seq,10,2500" in jvm_options
    assert not [each for each in jvm_options if each.startswith("-Xlog") or "G1" in each]
    assert {"-XX:+UseG1GC", "-XX:-OmitStackTraceInFastThrow"} <= hotspot
    # What both have: the size of the heap and of direct buffers.
    assert {"-Xmx1073741824", "-XX:MaxDirectMemorySize=536870912"} <= set(jvm_options)


def test_a_gc_log_that_is_configured_replaces_the_usual_one() -> None:
    for java, option in (
        (OPENJ9, "-Xverbosegclog:/logs/gc.log"),
        (HOTSPOT, "-Xlog:gc:file=/logs/gc.log:utctime:filecount=0"),
    ):
        jvm_options = options(java, added=(option,))
        assert [each for each in jvm_options if each.startswith(("-Xverbosegclog", "-Xlog:gc"))] == [option]
