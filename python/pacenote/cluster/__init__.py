"""Engines: found or provisioned, started, watched and always stopped. `cluster.py` is the door."""
