"""Connections outside the measured path: HTTP with pools, TLS, proxies, host addresses and the REST client,
and the attach mechanism of JVMs on this host.

Control traffic and downloads go through this package. The load driver has a separate HTTP client in
`crates/driver`; nothing here runs while a request is measured. Tracks, engines and files do not belong here.
Used by `fetch`, `provision`, `cluster`, `capture`, `metrics_store`, `telemetry` and `race`.
"""
