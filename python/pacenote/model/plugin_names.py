"""What a track's plug-ins registered, by name: all that a plan needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PluginNames:
    """Names that plug-ins of a track registered.

    `runners` are operation types; one with the name of a built-in type takes its place. `ending_runners` are
    those of them that say themselves when they are done (Rally's `completed`). `param_sources` are names that
    operations choose with `param-source`, `schedulers` values of a task's `schedule`.
    """

    runners: frozenset[str] = frozenset()
    ending_runners: frozenset[str] = frozenset()
    param_sources: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()


NO_PLUGINS = PluginNames()
"""Of a track without plug-ins."""
