"""Nodes that joined, left or restarted during a race, whose counters do not give a difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class ObservedNode(Protocol):
    """What a device reads from a node."""

    @property
    def name(self) -> str:
        """The name of the node."""
        ...

    @property
    def uptime_ms(self) -> int:
        """Milliseconds since the node was started."""
        ...


def node_changes(
    before: Mapping[str, ObservedNode], after: Mapping[str, ObservedNode], missing: str
) -> tuple[str, ...]:
    """Returns a message for each node that joined, left or restarted; both mappings are by id of the node.

    `missing` are the totals that are therefore not known.
    """
    problems = [f"node '{before[key].name}' left during the race" for key in before.keys() - after.keys()]
    problems += [f"node '{after[key].name}' joined during the race" for key in after.keys() - before.keys()]
    problems += [
        f"node '{node.name}' restarted during the race"
        for key, node in after.items()
        if key in before and node.uptime_ms < before[key].uptime_ms
    ]
    return tuple(f"{problem}: {missing} are missing" for problem in sorted(problems))
