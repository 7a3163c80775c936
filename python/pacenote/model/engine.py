"""The engine under test, and what differs between engines for a race, its requests and its track.

No other module compares names or versions of engines; `tests/shape/test_engines.py` checks that. A difference
is a field of `EngineApi`, also if it depends on the version; `EngineInfo` applies it to one engine. What is
needed to assemble and start an engine is in `provision/distributions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from pacenote.model.codec import as_text
from pacenote.units import whole_number

GetJson = Callable[[str], Mapping[str, Any]]
"""Reads a path of the engine, such as `/_stats`, as parsed JSON. Raises EngineError."""

OPENSEARCH: Final = "opensearch"
"""The name of OpenSearch, as it reports it and as `--distribution` takes it."""

ELASTICSEARCH: Final = "elasticsearch"
"""The name of Elasticsearch, which reports none."""

SERVERLESS: Final = "serverless"
"""The build flavor of serverless clusters."""

DEFAULT_DISTRIBUTION: Final = OPENSEARCH
"""The engine that a race starts if neither a name nor a version is given."""

DEFAULT_CLUSTER_NAME: Final = "rally-benchmark"
"""The name of a cluster that a race starts."""

DEFAULT_NODE_NAME: Final = "rally-node-0"
"""`node.name` of the first node, as in Rally."""

FIRST_HTTP_PORT: Final = 39200
"""The first HTTP port that an installation gets, as in Rally."""

TRANSPORT_OFFSET: Final = 100
"""The transport port of an installation is the HTTP port plus this number, as in Rally."""

_LAST_OPENSEARCH_MAJOR = 3


class EngineApi(Struct, frozen=True):
    """Paths, parameters and replies of one engine; the defaults are those of Elasticsearch."""

    point_in_time: str = "_pit"
    """Path of points in time, after the index or alone."""

    point_in_time_id: str = "id"
    """Key of the id in the reply to opening and in the request for closing a point in time."""

    closes_points_in_time: bool = False
    """Whether a request closes a list of points in time, not one."""

    async_search: str = "_async_search"
    """Path of asynchronous searches."""

    async_search_index_in_query: bool = False
    """Whether the index of an asynchronous search is a query parameter, not the beginning of the path."""

    async_search_defaults: Mapping[str, str] = field(
        default_factory=lambda: {"wait_for_completion_timeout": "0"}
    )
    """Query parameters with which an asynchronous search returns an id even if it ends immediately."""

    async_search_done: tuple[str, str] = ("is_running", "false")
    """Key path and value in the reply when an asynchronous search is complete."""

    sql: str = "/_sql"
    """Path of SQL queries."""

    manager_timeout: str = "master_timeout"
    """Query parameter with the timeout for the manager of the cluster."""

    merges_in_background_since: tuple[int, int] = (8, 1)
    """The first version in which a force-merge can return before it is complete."""

    index_modes_since: tuple[int, int] | None = (8, 0)
    """The first version with the settings `index.mode` and `index.mapping.source.mode`, or None if
    no version has them.
    """

    shard_doc_since: tuple[int, int] = (0, 0)
    """The first version in which searches can sort by `_shard_doc`."""

    manager_roles: tuple[str, ...] = ("master",)
    """Names of the role with which a node can become the manager of the cluster, the newest first."""

    manager_role_since: tuple[int, int] = (0, 0)
    """The first version with the newest of these names."""

    roles: frozenset[str] = frozenset()
    """The other roles of nodes; empty if plugins can add roles with any name."""

    roles_since: tuple[int, int] = (0, 0)
    """The first version with the setting `node.roles`."""

    selects_track_branch: bool = False
    """Whether its version selects the branch of a track repository, whose branches have versions of
    Elasticsearch as names.
    """

    def close_body(self, point_in_time: str) -> dict[str, object]:
        """Returns the body of a request that closes a point in time, given by its id."""
        return {self.point_in_time_id: [point_in_time] if self.closes_points_in_time else point_in_time}


_ELASTICSEARCH_API = EngineApi(
    roles=frozenset({
        *("data", "data_content", "data_hot", "data_warm", "data_cold", "data_frozen", "ingest", "ml"),
        *("remote_cluster_client", "transform", "voting_only"),
    }),
    roles_since=(7, 9),
    selects_track_branch=True,
)

ENGINE_APIS: Mapping[str, EngineApi] = {
    ELASTICSEARCH: _ELASTICSEARCH_API,
    OPENSEARCH: EngineApi(
        point_in_time="_search/point_in_time",
        point_in_time_id="pit_id",
        closes_points_in_time=True,
        async_search="_plugins/_asynchronous_search",
        async_search_index_in_query=True,
        # It waits at least 1 ms, and by default discards a search that ends within that time.
        async_search_defaults={"wait_for_completion_timeout": "1ms", "keep_on_completion": "true"},
        async_search_done=("state", "STORE_RESIDENT"),
        sql="/_plugins/_sql",
        manager_timeout="cluster_manager_timeout",
        merges_in_background_since=(0, 0),
        index_modes_since=None,
        shard_doc_since=(3, 3),
        manager_roles=("cluster_manager", "master"),
        manager_role_since=(2, 0),
    ),
}
"""The API of each engine by its name."""


def engine_of_version(version: str) -> str:
    """Returns the name of the engine that a version belongs to: OpenSearch has the major versions 1 to 3, and
    Elasticsearch 5 and above.
    """
    major = whole_number(version.partition(".")[0])
    return ELASTICSEARCH if (major or 0) > _LAST_OPENSEARCH_MAJOR else OPENSEARCH


def reported_engine(version: Mapping[str, object]) -> str:
    """Returns the name of an engine from the `version` object of its reply to `GET /`; Elasticsearch reports
    none.
    """
    return as_text(version.get("distribution") or ELASTICSEARCH)


class EngineInfo(Struct, frozen=True):
    """Facts about the engine under test that are known before the race."""

    distribution: str = ""
    """`elasticsearch` or `opensearch`, or empty if unknown."""

    version: str = ""
    """The version of the engine, or empty if unknown."""

    flavor: str = "default"
    """The build flavor of the engine."""

    @property
    def api(self) -> EngineApi:
        """Its API; that of Elasticsearch if the engine is unknown."""
        return ENGINE_APIS.get(self.distribution, _ELASTICSEARCH_API)

    @property
    def is_serverless(self) -> bool:
        """Whether it is serverless, which does not allow changes of cluster settings."""
        return self.flavor == SERVERLESS

    @property
    def track_version(self) -> str:
        """The version that selects the branch of a track repository; empty for the newest branch.

        Branches are named after versions of Elasticsearch. Serverless always reports the same version.
        """
        named = self.distribution in ENGINE_APIS and self.api.selects_track_branch
        return self.version if named and not self.is_serverless else ""

    @property
    def merges_in_background(self) -> bool:
        """Whether a force-merge can return before it is complete."""
        return self._has(self.api.merges_in_background_since)

    @property
    def knows_index_modes(self) -> bool:
        """Whether indices have the settings `index.mode` and `index.mapping.source.mode`."""
        return self.api.index_modes_since is not None and self._has(self.api.index_modes_since)

    @property
    def manager_role(self) -> str:
        """The role with which a node can become the manager of the cluster."""
        return self.api.manager_roles[0 if self._has(self.api.manager_role_since) else -1]

    @property
    def has_node_roles(self) -> bool:
        """Whether nodes have the setting `node.roles`."""
        return self._has(self.api.roles_since)

    @property
    def sorts_by_shard_doc(self) -> bool:
        """Whether searches can sort by `_shard_doc`."""
        return self._has(self.api.shard_doc_since)

    def _has(self, since: tuple[int, int]) -> bool:
        """Returns whether its version is `since` or later, or unknown, since new versions are more common."""
        return self._minor_version == (0, 0) or self._minor_version >= since

    @property
    def _minor_version(self) -> tuple[int, int]:
        """The first two numbers of the version, (0, 0) if unknown."""
        major, minor, *_ = (*map(whole_number, self.version.split(".")[:2]), None)
        return (0, 0) if major is None or minor is None else (major, minor)
