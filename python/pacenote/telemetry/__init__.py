"""Telemetry: values of the engine and the host that are read in addition to the measured requests.

A telemetry device is one file with a subclass of `TelemetryDevice` (`device.py`), listed in `devices.py`;
`pacenote race` uses all devices, `pacenote saturate` none, and `pacenote list telemetry` shows them.

Devices receive an `ObservedCluster`, which reads JSON from the cluster, so that they need no connection of
their own.
Measurements of the driver belong to the Rust core, checks of the results to `race`.
"""
