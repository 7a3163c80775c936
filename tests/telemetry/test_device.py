"""Telemetry devices are started, stopped and closed, and their readings are combined."""

import json
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.model.system_metrics import SystemMetrics
from pacenote.telemetry.device import (
    DeviceReading,
    ObservedCluster,
    TelemetryDevice,
    TelemetryDevices,
    TelemetryResult,
    expected_form,
)
from pacenote.telemetry.device_errors import error_text


def device(device_name: str, reading: DeviceReading) -> TelemetryDevice:
    class Device(TelemetryDevice):
        name = device_name
        description = "Returns a reading."

        def start(self) -> None:
            pass

        def stop(self) -> DeviceReading:
            return reading

    return Device(ObservedCluster(lambda _path: {}, None))


def read_all(*devices: TelemetryDevice) -> TelemetryResult:
    telemetry = TelemetryDevices(devices)
    telemetry.start()
    return telemetry.stop()


def test_a_system_metric_without_a_field_is_rejected():
    with pytest.raises(ValueError, match=r"^SystemMetrics has no field swap_size: put it into `values`"):
        DeviceReading(system={"swap_size": 1, "store_size": 2})


def test_a_value_read_by_two_devices_is_reported_and_the_first_reading_is_used():
    first = DeviceReading({"store_size": 1}, {"node.a.uptime": 10})
    second = DeviceReading({"store_size": 2, "segment_count": 3}, {"node.a.uptime": 20, "node.a.load": 4})
    result = read_all(device("first", first), device("second", second))
    assert (result.system.store_size, result.system.segment_count) == (1, 3)
    assert result.values == {"node.a.uptime": 10, "node.a.load": 4}
    assert result.errors == (
        "second: node.a.uptime is also read by another device and is ignored",
        "second: store_size is also read by another device and is ignored",
    )


def test_values_that_the_record_cannot_store_are_left_out_and_reported():
    system = {"store_size": "12", "merge_time": float("nan"), "segment_count": 3}
    values = {"load": float("inf"), "when": object(), "uptime": 4}
    result = read_all(device("odd", DeviceReading(system, values)))
    assert result.system == SystemMetrics(segment_count=3)
    assert result.values == {"uptime": 4}
    assert result.errors == (
        "odd: system.store_size must be a whole number, not '12'; it is ignored",
        "odd: system.merge_time must be a finite number, not nan; it is ignored",
        "odd: load is not JSON and is ignored: ValueError: Out of range float values are not JSON compliant",
        "odd: when is not JSON and is ignored: TypeError: object is not a JSON type",
    )


def test_values_that_make_the_record_too_large_are_left_out_and_reported():
    system = {"segment_count": 3}
    values = {"long": "x" * (5 << 20), "n" * (5 << 20): 1, "small": 1}
    problems = ("y" * 5000, *(f"problem {number}" for number in range(200)))
    result = read_all(device("odd", DeviceReading(system, values, problems)))
    assert (result.system.segment_count, result.values) == (3, {"small": 1})
    assert (len(result.errors), max(map(len, result.errors))) == (101, 1005)
    assert result.errors[-1] == "odd: 102 other problems"
    result = read_all(device("odd", DeviceReading({}, values)))
    assert result.errors == ("odd: 2 values left out: they are too large together",)


class Defective(TelemetryDevice):
    """Has a defect before it reads anything, and two while it reads responses."""

    name = "defective"
    description = "Has defects."

    def start(self) -> None:
        [][0]

    def stop(self) -> DeviceReading:
        raise AssertionError("stop() must not be called on a device that was not started")

    def close(self) -> None:
        with expected_form('an object "nodes"'):
            self._cluster.get("/")["nodes"]


class Careless(Defective):
    """Reads responses without stating what it expects."""

    def start(self) -> None:
        pass

    def stop(self) -> DeviceReading:
        return self._cluster.get("/")["nodes"]

    def close(self) -> None:
        raise NotImplementedError("close")


def test_an_error_of_a_device_is_not_blamed_on_the_engine():
    devices = TelemetryDevices([Defective(ObservedCluster(lambda _path: {}, None))])
    devices.start()
    line = Defective.start.__code__.co_firstlineno + 1
    assert devices.stop().errors == (
        "defective: could not be read before the race: a defect of Pacenote at "
        f"{Path(__file__).name}:{line}: IndexError: list index out of range",
    )
    assert devices.close() == (
        "defective: could not be closed: the engine's response has an unexpected form: expected an object "
        '"nodes"',
    )


def test_a_response_of_any_form_is_not_a_defect_even_if_the_device_does_not_expect_it():
    devices = TelemetryDevices([Careless(ObservedCluster(lambda _path: {}, None))])
    devices.start()
    line = Careless.stop.__code__.co_firstlineno + 1
    assert devices.stop().errors == (
        "defective: could not be read after the race: the engine's response has an unexpected form, or this "
        f"is a defect of Pacenote at {Path(__file__).name}:{line}: KeyError: 'nodes'",
    )
    (error,) = devices.close()
    assert "a defect of Pacenote" in error


def test_the_place_of_an_error_is_the_line_of_pacenote_that_called_a_library() -> None:
    for has_read in (False, True):
        try:
            json.loads("{")
        except ValueError as error:
            text = error_text(error, has_read=has_read)
            called = error.__traceback__.tb_lineno  # type: ignore[union-attr]
        assert f"a defect of Pacenote at {Path(__file__).name}:{called}: JSONDecodeError: " in text


def test_every_device_is_closed_once_even_if_another_fails():
    closed = []

    class Closing(TelemetryDevice):
        name = "closing"
        description = "Fails whenever it is called."

        def start(self) -> None:
            raise EngineError("no permission")

        def stop(self) -> DeviceReading:
            raise AssertionError("stop() must not be called on a device that was not started")

        def close(self) -> None:
            closed.append(self)
            raise EngineError("no process")

    cluster = ObservedCluster(lambda _path: {}, None)
    devices = TelemetryDevices([Closing(cluster), Closing(cluster)])
    devices.start()
    assert devices.stop().errors == ("closing: could not be read before the race: no permission",) * 2
    assert devices.close() == ("closing: could not be closed: no process",) * 2
    assert len(set(map(id, closed))) == 2
