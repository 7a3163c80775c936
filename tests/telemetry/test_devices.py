"""The table of telemetry devices is complete."""

import importlib
import inspect
import pkgutil
from dataclasses import fields
from pathlib import Path

import pacenote.telemetry
from pacenote.model.system_metrics import SystemMetrics
from pacenote.telemetry.device import TelemetryDevice
from pacenote.telemetry.devices import DEVICES
from shape.sources import ROOT


def test_every_device_of_the_package_is_in_the_table():
    modules = pkgutil.iter_modules(pacenote.telemetry.__path__, "pacenote.telemetry.")
    defined = {
        value
        for module in modules
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, type) and issubclass(value, TelemetryDevice) and not inspect.isabstract(value)
    }
    assert len(defined) >= 3, "the search for devices found too few"
    assert set(DEVICES) == defined


def test_the_page_on_measuring_defines_every_figure_of_the_report():
    page = (ROOT / "docs" / "measuring.md").read_text("utf-8")
    keys = {field.name.removesuffix("_per_shard") for field in fields(SystemMetrics)}
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
