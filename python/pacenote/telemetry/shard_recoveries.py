"""How each shard copy came to its node: a copy that moved, was promoted or restarted counts from 0 again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.telemetry.device import ObservedCluster

_PATH = "/_all/_recovery?expand_wildcards=open,hidden"

_CREATED = ("EMPTY_STORE", "SNAPSHOT", "LOCAL_SHARDS")
"""Types of recoveries with which a primary shard begins to exist."""


class CopyId(Struct, frozen=True):
    """A copy of a shard on a node."""

    index: str
    """Name of the index."""

    number: str
    """Number of the shard."""

    node: str
    """Id of the node."""


class Recovery(Struct, frozen=True):
    """How a shard copy got its data when it was started on its node."""

    type: str
    """Where its data came from, such as `EMPTY_STORE`, `EXISTING_STORE` or `PEER`."""

    started_ms: int
    """When the recovery began, by the clock of the node, in milliseconds since 1970."""

    had_data: bool
    """Whether there were documents; without any, the counters of a previous copy are next to nothing."""

    @property
    def continues_another(self) -> bool:
        """Whether it continues a shard of which another copy, or this one before a restart, had counted."""
        return self.type not in _CREATED and self.had_data


def read_recoveries(cluster: ObservedCluster) -> dict[CopyId, Recovery]:
    """Returns the last recovery of each shard copy; empty if the engine does not tell, and without those that
    it does not describe in the form of the API.
    """
    try:
        reply = cluster.get(_PATH)
    except EngineError:
        return {}
    recoveries = {}
    for index, described in _items(reply):
        shards = described.get("shards") if isinstance(described, Mapping) else None
        for shard in shards if isinstance(shards, list) else ():
            if isinstance(shard, Mapping) and (known := _recovery(shard)) is not None:
                number, node = shard.get("id"), _part(shard, "target").get("id")
                if isinstance(number, str | int) and isinstance(node, str):
                    recoveries[CopyId(index, str(number), node)] = known
    return recoveries


def _recovery(shard: Mapping[str, Any]) -> Recovery | None:
    kind, started_ms = shard.get("type"), shard.get("start_time_in_millis")
    if not isinstance(kind, str) or not isinstance(started_ms, int):
        return None
    files = _part(_part(shard, "index"), "files").get("total")
    logged = _part(shard, "translog").get("total")
    # The store of a shard without documents is one file, which lists no segment. A copy that only lacked
    # operations has received none.
    is_empty = files == 1 and logged in (0, -1)
    return Recovery(kind.upper(), started_ms, not is_empty)


def _items(reply: object) -> list[tuple[str, Any]]:
    return list(reply.items()) if isinstance(reply, Mapping) else []


def _part(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}
