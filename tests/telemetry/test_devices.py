"""The table of telemetry devices is complete."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import pacenote.telemetry
from pacenote.errors import UsageError
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.telemetry.device import TelemetryDevice
from pacenote.telemetry.devices import (
    ALWAYS_ON,
    OPTIONAL,
    check_telemetry,
    devices_of,
    unused_parameters,
)
from pacenote.telemetry.parameters import DeviceParameter, TelemetryParams
from shape.sources import ROOT

DEVICES = (*ALWAYS_ON, *OPTIONAL)


def test_every_device_of_the_package_is_in_one_table():
    modules = pkgutil.iter_modules(pacenote.telemetry.__path__, "pacenote.telemetry.")
    defined = {
        value
        for module in modules
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, type)
        and issubclass(value, TelemetryDevice)
        and not inspect.isabstract(value)
        and not name.startswith("_")
    }
    assert len(defined) >= 20, "the search for devices found too few"
    assert sorted(DEVICES, key=str) == sorted(defined, key=str)
    assert [device.name for device in ALWAYS_ON if not device.always_on] == []
    assert [device.name for device in OPTIONAL if device.always_on] == []


def test_the_devices_are_those_of_rally_and_their_parameters_have_its_names():
    """The names of Rally 2.13, in the order of its documentation, and one of Pacenote."""
    assert {device.name for device in OPTIONAL} == {
        "profile",
        *("jfr", "jit", "gc", "heapdump", "node-stats", "recovery-stats", "ccr-stats", "segment-stats"),
        *("transform-stats", "searchable-snapshots-stats", "shard-stats", "data-stream-stats"),
        *("disk-usage-stats", "blob-store-stats", "geoip-stats"),
    }
    names = {parameter.name for device in DEVICES for parameter in device.parameters}
    assert names >= {
        *("recording-template", "jfr-delay", "jfr-duration", "gc-log-config"),
        *("node-stats-sample-interval", "node-stats-include-indices", "node-stats-include-indices-metrics"),
        *("node-stats-include-thread-pools", "node-stats-include-buffer-pools"),
        *("node-stats-include-breakers", "node-stats-include-network", "node-stats-include-process"),
        *("node-stats-include-mem", "node-stats-include-cgroup", "node-stats-include-gc"),
        *("node-stats-include-indexing-pressure", "node-stats-include-fs"),
        *("recovery-stats-indices", "recovery-stats-sample-interval"),
        *("ccr-stats-indices", "ccr-stats-sample-interval"),
        *("transform-stats-transforms", "transform-stats-sample-interval"),
        *("searchable-snapshots-stats-indices", "searchable-snapshots-stats-sample-interval"),
        *("shard-stats-sample-interval", "data-stream-stats-sample-interval"),
        *("disk-usage-stats-indices", "disk-usage-stats-timeout", "disk-usage-stats-flush"),
        *("blob-store-stats-sample-interval", "master-node-stats-sample-interval"),
    }


@pytest.mark.parametrize(
    ("devices", "params", "starts_engine", "message", "hint"),
    [
        (("node-stat",), {}, True, "unknown telemetry device 'node-stat'", "did you mean node-stats"),
        (("perf",), {}, True, "unknown telemetry device 'perf'", "`pacenote list telemetry`"),
        (("jfr",), {}, False, "--telemetry=jfr needs an engine that the race starts", "omit it"),
        (("heapdump",), {}, False, "--telemetry=heapdump needs an engine", "omit it"),
        ((), {"node-stats-interval": 1}, True, "unknown parameter", "node-stats-sample-interval"),
        ((), {"node-stats-sample-interval": 0}, True, "cannot be 0", "seconds above 0"),
        ((), {"node-stats-sample-interval": "often"}, True, "cannot be 'often'", "seconds above 0"),
        ((), {"node-stats-include-fs": "perhaps"}, True, "cannot be 'perhaps'", "true or false"),
        ((), {"ccr-stats-indices": 5}, True, "cannot be 5", "a list"),
        (("jfr",), {"jfr-delay": "soon"}, True, "jfr-delay .* cannot be 'soon'", "jfr-delay:30s"),
        (("jfr",), {"recording-template": "a,b"}, True, "cannot be 'a,b'", "profile"),
        (("profile",), {}, False, "--telemetry=profile needs an engine that the race starts", "omit it"),
        (
            ("profile",),
            {"profile-event": "cpu,file=/x"},
            True,
            "cannot be 'cpu,file=/x'",
            "profile-event:cpu",
        ),
        (("profile",), {"profile-event": "cpu+cpu"}, True, r"cannot be 'cpu\+cpu'", "profile-event:cpu"),
        (("profile",), {"profile-event": "cpu+wall"}, True, "cannot be cpu and wall", "race once with each"),
        (("jfr", "profile"), {}, True, "cannot have jfr and profile", "race once with each"),
        (("profile",), {"profile-interval": "0ms"}, True, "cannot be '0ms'", "profile-interval:10ms"),
        (("gc",), {"gc-log-config": "gc:file=/etc/passwd"}, True, "gc-log-config .* cannot be", "tags"),
    ],
)
def test_mistakes_are_reported_before_the_race(devices, params, starts_engine, message, hint):
    with pytest.raises(UsageError, match=message) as error:
        check_telemetry(TelemetryOptions(devices=devices, params=params), starts_engine=starts_engine)
    assert hint in error.value.hint


def test_a_serverless_cluster_gets_only_the_devices_that_it_permits():
    options = TelemetryOptions(devices=("transform-stats", "node-stats", "ccr-stats"))

    def names(*, operator):
        devices = devices_of(options, is_serverless=True, is_operator=operator)
        return {device.name for device in devices}

    assert names(operator=False) == {
        *("transform-stats", "ml-bucket-processing-time", "cluster-environment-info", "startup-time"),
    }
    assert {"node-stats", "node-counters", "index-stats"} <= names(operator=True)
    assert "ccr-stats" not in names(operator=True)


def test_the_devices_that_are_always_on_can_be_switched_off():
    options = TelemetryOptions(default_devices=False, devices=("node-stats",))
    (device,) = devices_of(options, is_serverless=False, is_operator=False)
    assert device.name == "node-stats"
    with_parameter = TelemetryOptions(default_devices=False, params={"node-gauges-sample-interval": 5})
    assert list(unused_parameters(with_parameter)) == [
        "--telemetry-params: node-gauges-sample-interval has no effect without --default-telemetry"
    ]


def test_a_parameter_of_a_device_that_does_not_run_causes_a_warning():
    options = TelemetryOptions(devices=("shard-stats",), params={
        "shard-stats-sample-interval": 5, "ccr-stats-indices": "a", "master-node-stats-sample-interval": 9,
    })  # fmt: skip
    assert list(unused_parameters(options)) == [
        "--telemetry-params: ccr-stats-indices has no effect without --telemetry=ccr-stats"
    ]


def test_values_of_parameters_have_the_forms_that_rally_takes():
    names = DeviceParameter("names", "names", (), "")
    flag = DeviceParameter("flag", "flag", False, "")
    for given in ("a,b", ["a", "b"], {"default": ["a", "b"]}):
        assert TelemetryParams({"names": given}).names(names) == ("a", "b")
    assert TelemetryParams().names(names) == ()
    assert [TelemetryParams({"flag": given}).flag(flag) for given in (True, "true", "no")] == [
        *(True, True, False),
    ]


def test_the_page_on_measuring_defines_every_figure_of_the_report():
    page = (ROOT / "docs" / "measuring.md").read_text("utf-8")
    keys = {name.removesuffix("_per_shard") for name in SystemMetrics.__struct_fields__}
    assert len(keys) > 10
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_device_names_are_unique():
    names = [device.name for device in DEVICES]
    assert len(set(names)) == len(names)


def test_every_device_has_a_test():
    tests = [
        Path(__file__).with_name(f"test_{device.__module__.rpartition('.')[2]}.py") for device in DEVICES
    ]
    assert [test.name for test in tests if not test.exists()] == []
