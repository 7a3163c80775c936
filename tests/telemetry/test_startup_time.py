"""The time that a node took to start."""

import pytest

from pacenote.telemetry.device import ObservedCluster, TelemetryDevices
from pacenote.telemetry.startup_time import StartupTime


def unused(_path):
    raise AssertionError("the device must not send requests")


@pytest.mark.parametrize(("startup_s", "values"), [(12.5, {"node_startup_time": 12.5}), (None, {})])
def test_the_startup_time_is_stored_under_rallys_name(startup_s, values):
    telemetry = TelemetryDevices([StartupTime(ObservedCluster(unused, startup_s))])
    telemetry.start()
    result = telemetry.stop()
    assert (result.values, result.errors) == (values, ())
