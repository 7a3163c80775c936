"""HTTP outside of the measured path: connection pools, TLS, proxies, host addresses, the REST client.

Control traffic and downloads go through this package. The load driver has an HTTP client of its own in
`crates/driver`; nothing here runs while a request is measured. Tracks, engines and files do not belong here.
Used by `fetch`, `provision`, `cluster`, `capture` and `race`.
"""
