"""Runs the tasks of a race that need Python: parameter sources, runners and schedulers.

There are two threads: an event loop for runners, and a thread for sources and schedulers. Both communicate
with the driver through the `PythonBridge` of `_core`. `plugins` loads the code of a track, `plan` builds the
plan, and `operations` defines the requests of operations. Only `race` uses this package, and only for plans
that need it.
"""
