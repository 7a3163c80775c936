"""Names of a cluster's nodes: `node.name` need not be unique, because it is that of the host by default."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from pacenote.errors import EngineError
from pacenote.model.codec import as_text
from pacenote.model.printable import shortened
from pacenote.model.unique_names import UniqueNames

MAX_NODE_NAME = 280
"""Characters of a name that are kept, without its number; engines accept names of 255."""

_MAX_CHARACTERS = 16 << 20
"""Characters of the ids of all nodes of a race, at most; an id has 22."""


class NodeNames:
    """Names the nodes of one cluster during one race, the same in all that is stored about them.

    A node keeps the name that it had first. Nodes with equal names are numbered in the order of their
    addresses, and then of their ids, which are new with new data: `es`, `es #2`; nodes that come later are
    numbered later. Any thread may call it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._names: dict[str, str] = {}
        self._unique = UniqueNames()
        self._left = _MAX_CHARACTERS

    def of(self, nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Returns the names of the nodes of a reply, which has them by id, in its order.

        Raises EngineError if there were more nodes than are read, and TypeError if the name of a node is
        neither a text nor a number.
        """
        with self._lock:
            self._add({node_id: node for node_id, node in nodes.items() if node_id not in self._names})
            return {node_id: self._names[node_id] for node_id in nodes}

    def _add(self, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        reported = {
            node_id: shortened(as_text(nodes[node_id].get("name", node_id)), MAX_NODE_NAME)
            for node_id in sorted(nodes, key=lambda node_id: (_address(nodes[node_id]), node_id))
        }
        self._left -= sum(map(len, reported))
        if self._left < 0:
            raise EngineError("the ids of the nodes that the cluster has had are too long to be read")
        # Names that are not repeated come first: `es #2` may be one of them.
        first = {name: node_id for node_id, name in reversed(reported.items())}
        for name, node_id in first.items():
            self._names[node_id] = self._unique.add(name)
        for node_id, name in reported.items():
            if first[name] != node_id:
                self._names[node_id] = self._unique.add(name)


def _address(node: Mapping[str, Any]) -> str:
    """Returns the address of a node for other nodes, as far as a reply has it."""
    address = node.get("transport_address")
    return address if isinstance(address, str) else ""
