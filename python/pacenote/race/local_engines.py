"""The nodes of existing clusters that run on this machine, such as those that `pacenote start` started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.cluster.cluster import existing_cluster
from pacenote.errors import EngineError
from pacenote.host.engine_processes import ReportedProcess, find_processes, shares_files
from pacenote.model.client_options import AdditionalCluster
from pacenote.model.codec import as_integer, as_text
from pacenote.model.node_names import NodeNames
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient
from pacenote.system.paths import leads_through_proc
from pacenote.system.process import ProcessIdentity, process_identity

_PROCESSES = (
    "/_nodes/process,jvm,transport?filter_path=nodes.*.name,nodes.*.ip,nodes.*.process.id,"
    "nodes.*.jvm.start_time_in_millis"
)
_FOLDERS = "/_nodes/stats/fs?filter_path=nodes.*.name,nodes.*.fs.data.path"


class LocalEngine(Struct, frozen=True):
    """A node on this machine that the race did not start."""

    name: str
    """Its name in `NodeNames`."""

    process: ProcessIdentity
    """Its process."""

    data_paths: tuple[Path, ...]
    """Its data folders, in the file systems that its process sees."""

    shares_files: bool
    """Whether it sees the same file systems as this process: not in a container."""


class LocalEngines(Struct, frozen=True):
    """What is known about where the nodes of a cluster run that the race did not start."""

    engines: tuple[LocalEngine, ...] = ()
    """The nodes whose processes run on this machine."""

    missing: Mapping[str, str] = field(default_factory=dict)
    """Why the processes of other nodes are not known, by the name of the node; `*` stands for all nodes."""

    further: tuple[LocalEngine, ...] = ()
    """The nodes of further clusters on this machine, each with the name of its cluster before its own."""

    missing_further: Mapping[str, str] = field(default_factory=dict)
    """Why the processes of other nodes of further clusters are not known, by such a name."""

    @property
    def are_all_here(self) -> bool:
        """Whether all nodes of the cluster are known to run on this machine."""
        return bool(self.engines) and not self.missing


NO_ENGINES = LocalEngines()
"""Of a cluster that the race started, whose nodes are known."""


_MAX_NODES = 1_000
"""Nodes of which processes are looked for."""

_MAX_PATHS = 100
"""Data folders of a node."""

_MAX_PATH = 4_096
"""Characters of the path of a folder."""


def find_local_engines(client: RestClient, names: NodeNames, proc: Path = Path("/proc")) -> LocalEngines:
    """Returns the nodes of a cluster that run on this machine, which `names` names. Never raises for what the
    cluster replies.
    """
    try:
        reply = client.get(_PROCESSES)
        with expected_form("the processes of its nodes"):
            reported = list(_reported(reply, names))
        processes = find_processes(reported, proc)
        folders = _folders(client, names) if processes.pids else {}
    except EngineError as error:
        return LocalEngines(missing={"*": error.message})
    engines = (
        LocalEngine(name, identity, folders.get(name, ()), shares_files(pid, proc))
        for name, pid in processes.pids.items()
        if (identity := process_identity(pid)) is not None
    )
    return LocalEngines(tuple(engines), processes.missing)


def with_further_engines(engines: LocalEngines, clusters: Iterable[AdditionalCluster]) -> LocalEngines:
    """Returns what is known of the cluster under test, and the nodes of further clusters on this machine.
    Never raises for what the clusters reply.
    """
    missing, further = dict[str, str](), list[LocalEngine]()
    for cluster in clusters:
        existing = existing_cluster(cluster.hosts, cluster.client)
        with closing(existing.rest()) as client:
            of_cluster = find_local_engines(client, existing.node_names)
        further += (replace(node, name=f"{cluster.name}: {node.name}") for node in of_cluster.engines)
        missing |= {f"{cluster.name}: {name}": reason for name, reason in of_cluster.missing.items()}
    return replace(engines, further=tuple(further), missing_further=missing)


def _reported(reply: Mapping[str, Any], names: NodeNames) -> Iterator[ReportedProcess]:
    nodes = reply["nodes"]
    if len(nodes) > _MAX_NODES:
        raise EngineError(f"the cluster has more than {_MAX_NODES:,} nodes")
    for node_id, name in names.of(nodes).items():
        node = nodes[node_id]
        started_s = node["jvm"]["start_time_in_millis"] / 1e3
        yield ReportedProcess(name, as_integer(node["process"]["id"]), started_s, as_text(node["ip"]))


def _paths(node: Mapping[str, Any]) -> tuple[Path, ...]:
    """Returns the data folders of a node that a file system may have, as far as there are not too many, and
    none that leads through /proc: the kernel would look for it among the mounts of another process.
    """
    texts = (as_text(data_path["path"]) for data_path in islice(node["fs"]["data"], _MAX_PATHS))
    paths = [Path(text) for text in texts if "\0" not in text and len(text) <= _MAX_PATH]
    return tuple(path for path in paths if not leads_through_proc(path))


def _folders(client: RestClient, names: NodeNames) -> dict[str, tuple[Path, ...]]:
    """Returns the data folders by node; none if the cluster does not report them."""
    try:
        reply = client.get(_FOLDERS)
        with expected_form("the data folders of its nodes"):
            nodes = reply["nodes"]
            return {name: _paths(nodes[node_id]) for node_id, name in names.of(nodes).items()}
    except EngineError:
        return {}
