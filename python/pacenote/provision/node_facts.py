"""What the registry says about a node for `pacenote list nodes` and `pacenote stop`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct


class NodePurpose(Struct, frozen=True):
    """What a node is started for."""

    race_id: str = ""
    """The race that starts it, or that it is started for; empty if there is none."""
    installation_id: str = ""
    """The installation that it belongs to; empty for a node of a race. With an installation, the node keeps
    running when this process ends, once it is detached.
    """
    keeps_data: bool = False
    """Whether its data, which is that of an earlier start, is kept if it does not start."""


class NodeFacts(Struct, frozen=True, kw_only=True):
    """A node as users know it."""

    name: str
    """`node.name`."""
    cluster_name: str
    """`cluster.name`."""
    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine."""
    title: str = ""
    """What the engine is, if it must not be mistaken for the official distribution; otherwise empty."""
    absent_modules: tuple[str, ...] = ()
    """The modules of the official archive that it lacks."""
    heap: str = ""
    """Heap size such as `1g`."""
    address: str = ""
    """Host and port of its HTTP interface; empty until it has started."""
    scheme: str = "http"
    """`http` or `https`."""
    client_options: str = ""
    """The file with the client options that it needs; empty if it needs none."""
    since: str = ""
    """When its process was started, in UTC (ISO 8601)."""
    log_file: Path = Path()
    """The file with its output."""
    installation_id: str = ""
    """The installation that it belongs to; empty for a node of a race."""
    race_id: str = ""
    """The race that started it, or that it was started for; empty if there is none."""

    @property
    def url(self) -> str:
        """The address with its scheme if it is not http; empty until it has started."""
        return f"{self.scheme}://{self.address}" if self.address and self.scheme != "http" else self.address


def facts_document(facts: NodeFacts) -> dict[str, object]:
    """Returns the JSON form of the facts."""
    document: dict[str, object] = {name: getattr(facts, name) for name in NodeFacts.__struct_fields__}
    return {**document, "absent_modules": list(facts.absent_modules), "log_file": str(facts.log_file)}


def parse_facts(document: Mapping[str, Any]) -> NodeFacts:
    """Returns facts from their JSON form. Raises KeyError, TypeError and ValueError.

    Unknown fields are ignored, because a newer version of Pacenote may have written them.
    """
    texts = {name: str(document[name]) for name in _TEXTS if name in document}
    modules = tuple(str(name) for name in document["absent_modules"])
    return NodeFacts(**texts, absent_modules=modules, log_file=Path(document["log_file"]))


_TEXTS = tuple(name for name in NodeFacts.__struct_fields__ if name not in ("absent_modules", "log_file"))
