"""Runs the tasks of a race that need Python: parameter sources, runners and schedulers beside the driver.

Two threads: one event loop for runners, one for sources and schedulers. Both talk to the driver through the
`PythonBridge` of `_core` ([`protocol`]). Loading a track's code belongs to `plugins`, building the plan to
`plan`, and what an operation sends to `operations`. Only `race` calls this package, and only for plans that
need it.
"""
