"""The nodes of the cluster that a race starts: how many, and what each of them may use."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from msgspec import field

from pacenote.model.codec import Integer, Number, Stored

T = TypeVar("T")

MANAGER_ROLES = ("master", "cluster_manager")
"""Names of the role with which a node can become the manager of the cluster: both are accepted, and the
engine gets the one that it knows.
"""


class NodeGroup(Stored, frozen=True):
    """Nodes with the same roles."""

    count: Integer = 1
    """The number of nodes."""

    roles: tuple[str, ...] | None = None
    """Their roles, as on the command line; empty for nodes that only coordinate; None for all roles of the
    engine.
    """


class NodeLimits(Stored, frozen=True):
    """Limits of each node that a control group enforces."""

    memory: Integer | None = None
    """Bytes of memory, including the page cache; None if it is not limited."""

    cpus: Number | None = None
    """CPU time per second; None if it is not limited."""

    def __bool__(self) -> bool:
        """Returns whether there is a limit."""
        return self != NodeLimits()


class NodeOptions(Stored, frozen=True):
    """The nodes to start. Lists per node have one entry for each node, or one for all of them."""

    groups: tuple[NodeGroup, ...] = (NodeGroup(),)
    """The nodes in the order of their names."""

    cpus: tuple[tuple[Integer, ...], ...] = ()
    """The CPUs of each node; empty for all."""

    limits: NodeLimits = field(default_factory=NodeLimits)
    """The limits of each node."""

    data_paths: tuple[tuple[Path, ...], ...] = ()
    """The folders in which each node creates one for its data; empty for the node's own folder."""

    @property
    def count(self) -> int:
        """The number of nodes."""
        return sum(group.count for group in self.groups)

    @property
    def roles(self) -> tuple[tuple[str, ...] | None, ...]:
        """The roles of each node."""
        return tuple(group.roles for group in self.groups for _ in range(group.count))

    @property
    def request_targets(self) -> int:
        """The number of nodes that take requests: all but those that only manage the cluster."""
        return sum(roles is None or not roles or not set(roles) <= set(MANAGER_ROLES) for roles in self.roles)

    def cpus_of(self, index: int) -> tuple[int, ...]:
        """Returns the CPUs of a node; empty for all."""
        return _of_node(self.cpus, index)

    def data_paths_of(self, index: int) -> tuple[Path, ...]:
        """Returns the folders for the data of a node; empty for its own folder."""
        return _of_node(self.data_paths, index)


def _of_node(lists: tuple[tuple[T, ...], ...], index: int) -> tuple[T, ...]:
    return lists[index if len(lists) > 1 else 0] if lists else ()
