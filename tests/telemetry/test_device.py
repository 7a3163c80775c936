"""Running several telemetry devices."""

import pytest

from pacenote.telemetry.device import DeviceReading, ObservedCluster, Telemetry, TelemetryDevice


def device(device_name: str, reading: DeviceReading) -> TelemetryDevice:
    class Device(TelemetryDevice):
        name = device_name
        description = "Returns a reading."

        def start(self) -> None:
            pass

        def stop(self) -> DeviceReading:
            return reading

    return Device(ObservedCluster(lambda _path: {}, None))


def test_a_system_metric_without_a_field_is_refused():
    with pytest.raises(ValueError, match=r"^SystemMetrics has no field swap_size: put it into `values`"):
        DeviceReading(system={"swap_size": 1, "store_size": 2})


def test_a_value_read_by_two_devices_is_reported_and_the_first_one_is_used():
    first = DeviceReading({"store_size": 1}, {"node.a.uptime": 10})
    second = DeviceReading({"store_size": 2, "segment_count": 3}, {"node.a.uptime": 20, "node.a.load": 4})
    telemetry = Telemetry([device("first", first), device("second", second)])
    telemetry.start()
    result = telemetry.stop()
    assert (result.system.store_size, result.system.segment_count) == (1, 3)
    assert result.values == {"node.a.uptime": 10, "node.a.load": 4}
    assert result.errors == (
        "second: node.a.uptime is also read by another device and is ignored",
        "second: store_size is also read by another device and is ignored",
    )
