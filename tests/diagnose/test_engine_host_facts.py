"""The figures of a host that is not sampled are those that the engine reports, and marked as such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.diagnose.catalogue import FIGURES, SOURCES
from pacenote.diagnose.engine_host_facts import SOURCE, add_engine_host_figures
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window
from pacenote.model.telemetry_cuts import TelemetryCuts

NODE = {"node": "far"}
STAT = "os.cgroup.cpu.stat"
DISK = "fs.io_stats.devices"


def disk(device: str, busy_ms: float) -> list[dict[str, Any]]:
    values = {
        "operations": 50,
        "io_time": busy_ms,
        "read_time": 100,
        "write_time": 300,
        "read_kilobytes": 10,
        "write_kilobytes": 40,
    }
    return [counter(f"{DISK}.{name}", value, device=device, **NODE) for name, value in values.items()]


SERIES = (
    counter("process.cpu.total", 2000, **NODE),
    gauge("os.cpu.percent", 70, 90, **NODE),
    gauge("os.swap.used", 0, 4096, **NODE),
    counter(f"{STAT}.number_of_elapsed_periods", 10, **NODE),
    counter(f"{STAT}.number_of_times_throttled", 2, **NODE),
    counter(f"{STAT}.time_throttled", 4e8, **NODE),
    *disk("vda", 200),
    *disk("vdb", 400),
)
EXPECTED = {
    "cpu.engine_share": 0.5,
    "cpu.idle_share": 0.2,
    "cpu.other_share": 0.3,
    "cpu.lacked_possible_share": 0.3 / 0.8,
    "cpu.throttled_periods_share": 0.2,
    "cpu.throttled_share": 0.1,
    "memory.swap_used_bytes": 4096.0,
    "disk.device": "vdb",
    "disk.util_share": 0.4,
    "disk.queue": 0.4,
    "disk.await_ms": 8.0,
    "disk.read_bytes_per_s": 10_240.0,
    "disk.write_bytes_per_s": 40_960.0,
    "disk.request_bytes": 1024.0,
}


def evidence(
    *series: Mapping[str, Any], sampled: tuple[str, ...] = (), cores: float | None = 4.0
) -> Evidence:
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    builder.set(Window(node="far"), "engine.processors", cores)
    add_engine_host_figures(builder, telemetry("node-counters", *series), sampled)
    return builder.build()


def test_the_figures_have_the_names_of_the_sampler_and_their_own_source() -> None:
    known, window = evidence(*SERIES), Window(TASK, "far")
    for name, value in EXPECTED.items():
        assert known.value(window, name) == (value if isinstance(value, str) else pytest.approx(value)), name
        assert (FIGURES[name].source, known.source(window, name)) == ("host sampler", SOURCE)
    assert SOURCE in SOURCES
    assert set(EXPECTED) == set(known.values[window])
    assert known.source(window, "engine.processors") == "snapshot"
    reason = known.value(window, "memory.available_share")
    assert isinstance(reason, Unknown)
    assert "page cache" in str(reason.reasons)


def test_what_a_driver_on_the_same_host_may_have_had_is_not_that_of_other_programs() -> None:
    busy = counter("process.user", 600, process="driver"), counter("process.system", 0, process="driver")
    engine, driver = telemetry("node-counters", *SERIES), telemetry("host", *busy)
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    builder.set(Window(node="far"), "engine.processors", 4.0)
    cuts = TelemetryCuts(engine.tasks, (*engine.series, *driver.series))
    add_engine_host_figures(builder, cuts, ())
    observed, window = builder.build(), Window(TASK, "far")
    # It kept 15 % of the processors busy, engine and others 80 %.
    assert observed.number(window, "cpu.other_least_share") == pytest.approx(0.15)
    assert observed.number(window, "cpu.idle_share") == pytest.approx(0.2)
    missing = observed.value(window, "cpu.other_share")
    assert isinstance(missing, Unknown)
    assert "the driver may run on the host" in missing.reasons[0][1]


def test_the_load_of_other_processors_is_not_that_of_a_node() -> None:
    observed = evidence(SERIES[0], gauge("os.cpu.percent", 12, 13, **NODE), cores=2.0)
    assert observed.number(Window(TASK, "far"), "cpu.engine_share") == 1.0
    missing = observed.value(Window(TASK, "far"), "cpu.idle_share")
    assert isinstance(missing, Unknown)
    assert "is not that of the processors" in missing.reasons[0][1]


def test_what_an_engine_lacked_is_unknown_if_time_was_idle_unless_others_had_little() -> None:
    window = Window(TASK, "far")
    missing = evidence(*SERIES).value(window, "cpu.lacked_share")
    assert isinstance(missing, Unknown)
    assert missing.reasons[0][1] == "the engine does not report for how long its threads wait for a processor"
    busy, quiet = (counter("process.cpu.total", used, **NODE) for used in (3_320, 200))
    little = evidence(busy, gauge("os.cpu.percent", 85, 85, **NODE))
    assert little.number(window, "cpu.lacked_share") == pytest.approx(0.02 / 0.85)
    assert isinstance(little.value(window, "cpu.lacked_possible_share"), Unknown)
    # An engine that does little has little more than others, without lacking anything.
    idle = evidence(quiet, gauge("os.cpu.percent", 8, 8, **NODE))
    assert idle.number(window, "cpu.lacked_share") == 0.0
    assert isinstance(idle.value(window, "cpu.lacked_possible_share"), Unknown)


def test_a_host_that_is_sampled_has_the_figures_of_the_sampler_only() -> None:
    assert evidence(*SERIES, sampled=("far",)).values.keys() == {Window(node="far")}


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ("os.cpu", {"cpu.idle_share", "cpu.other_share", "cpu.lacked_possible_share"}),
        (STAT, {"cpu.throttled_periods_share", "cpu.throttled_share"}),
        (f"{DISK}.io_time", {name for name in EXPECTED if name.startswith("disk.")}),
        (f"{DISK}.read_time", {"disk.queue", "disk.await_ms"}),
        ("os.swap", {"memory.swap_used_bytes"}),
    ],
)
def test_what_an_engine_does_not_report_is_missing(left_out: str, missing: set[str]) -> None:
    observed = evidence(*(each for each in SERIES if not each["name"].startswith(left_out)))
    assert set(EXPECTED) - set(observed.values[Window(TASK, "far")]) == missing


def test_a_load_that_is_not_known_and_an_unknown_number_of_processors_say_nothing() -> None:
    observed = evidence(SERIES[0], gauge("os.cpu.percent", -1, -1, **NODE), cores=None)
    assert Window(TASK, "far") not in observed.values
