"""Names of what a track's plug-ins registered. A plan needs nothing else from them."""

from __future__ import annotations

from msgspec import Struct


class PluginNames(Struct, frozen=True):
    """Names that the plug-ins of a track registered."""

    runners: frozenset[str] = frozenset()
    """Operation types with a runner; one with the name of a built-in type replaces it."""

    task_completing_runners: frozenset[str] = frozenset()
    """Those of `runners` that report their own completion (Rally's `completed`)."""

    param_sources: frozenset[str] = frozenset()
    """Names that operations select with `param-source`."""

    schedulers: frozenset[str] = frozenset()
    """Values of a task's `schedule`."""


NO_PLUGINS = PluginNames()
"""The names of a track without plug-ins."""
