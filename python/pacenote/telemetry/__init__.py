"""Telemetry: what is read from the engine and the host beside the measured requests.

A telemetry device is one file with a subclass of `TelemetryDevice` (`device.py`), listed in `devices.py`;
races run it and `pacenote list telemetry` shows it. `document_counts` and `environment` are read once and are
not devices.

Devices get data through a function that reads JSON from the cluster, so that they need no connection of their
own. What the driver measures belongs to the Rust core, and checks of the results to `race`.
"""
