"""The race record describes the connection to the cluster, and the steps of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.cluster.info import ClusterInfo
from pacenote.model.client_options import TlsOptions
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_record import RecordedClient
from pacenote.model.race_request import RaceRequest
from pacenote.model.recorded_options import RecordedOptions, recorded_profilers
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.model.track import Parallel
from pacenote.plan.document import Target, TargetHost, TargetProxy
from pacenote.race.engine_request import car_profilers, engine_request
from pacenote.race.record import recorded_client, recorded_options, recorded_steps, with_reported_profilers
from pacenote.verdict.determine import determine_verdict
from plan.planning import plan, task
from support.records import record


def test_tls_and_proxies_are_recorded() -> None:
    through = TargetProxy("http", "proxy.example", 3128, "Basic bWU6aHVudGVyMg==")
    target = Target(
        hosts=(TargetHost("https", "es.example", 9200, "/x", through), TargetHost("https", "::1", 9200)),
        headers=(("authorization", "ApiKey abc"), ("X-Tenant", "t")),
        timeout_ms=60_000,
        compress=True,
        tls=TlsOptions(client_cert="/c.pem", verify_host=False),
    )
    assert recorded_client(target) == RecordedClient(
        hosts=("https://es.example:9200/x", "https://[::1]:9200"),
        proxies={"es.example:9200": "http://proxy.example:3128"},
        tls=True,
        certificates_verified=True,
        host_names_verified=False,
        client_certificate=True,
        authentication="api-key",
        compress=True,
        timeout_s=60.0,
        headers=("x-tenant",),
    )


def test_the_tasks_of_steps_with_several_are_recorded() -> None:
    mixed = Parallel((task("a"), task("b")), name="mixed")
    assert recorded_steps(plan(task("alone"), mixed, Parallel((task("c"), task("d"))))) == {
        "mixed": ("a", "b"),
        "c, d": ("c", "d"),
    }


@pytest.mark.parametrize("pipeline", ["from-distribution", "benchmark-only"])
@pytest.mark.parametrize(
    ("option", "devices", "names"),
    [
        ("-javaagent:/opt/apm.jar", (), ("agent apm.jar",)),
        ("-XX:StartFlightRecording=filename=/tmp/a.jfr", (), ("jfr",)),
        ("-Xss1m", ("profile",), ("profile",)),
        ("-Xss1m", (), ()),
    ],
)
def test_agents_and_recordings_that_a_car_starts_are_profiling(
    pipeline: str, option: str, devices: tuple[str, ...], names: tuple[str, ...]
) -> None:
    request = RaceRequest(
        race_id="r",
        home=Path("/home"),
        pipeline=pipeline,  # type: ignore[arg-type]
        engine=EngineOptions(car_params={"additional_java_settings": [option]}),
        telemetry=TelemetryOptions(devices=devices),
    )
    profilers = car_profilers(engine_request(request, Path("/artifacts")))
    options = replace(recorded_options(request), car_profilers=profilers)
    assert recorded_profilers(options) == (names if pipeline == "from-distribution" else devices)


@pytest.mark.parametrize("devices", [(), ("profile",), ("profile", "jfr")])
def test_what_observes_a_started_engine_is_what_its_jvms_report_too(devices: tuple[str, ...]) -> None:
    options = RecordedOptions(telemetry=devices)
    reported = ("agent libasyncProfiler.so", "jfr", "agent apm.jar")
    info = ClusterInfo("opensearch", "3.3.0", "", "", "c", (), reported)
    record_of_race = with_reported_profilers(record(options=options), info)
    others = ("jfr", "agent apm.jar") if devices == ("profile",) else ("agent apm.jar",)
    by_options = others if devices else reported
    assert record_of_race.options.car_profilers == by_options
    assert recorded_profilers(record_of_race.options) == (*devices, *by_options)
    verdict = determine_verdict(record_of_race)
    assert any("agent apm.jar" in finding.text for finding in verdict.findings)
