"""The telemetry devices of a race, and what they may know about it."""

from __future__ import annotations

from msgspec import Struct

from pacenote.cluster.cluster import Cluster
from pacenote.model.engine import EngineInfo
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.telemetry_sample import TelemetrySink
from pacenote.model.track import Track
from pacenote.net.rest import RestClient
from pacenote.provision.node import Node
from pacenote.store.race_folder import RaceFolder
from pacenote.telemetry.device import ObservedCluster, ObservedNode, TelemetryDevices
from pacenote.telemetry.devices import devices_of
from pacenote.telemetry.parameters import TelemetryParams


class ObservedRace(Struct, frozen=True):
    """A race that is about to be driven."""

    request: RaceRequest
    """Its request."""

    record: RaceRecord
    """Its record so far."""

    track: Track
    """Its track."""

    cluster: Cluster
    """The cluster under test."""

    folder: RaceFolder
    """Its folder."""


def telemetry_devices(race: ObservedRace, sink: TelemetrySink | None) -> TelemetryDevices:
    """Returns the devices of a race; they write samples to `sink`, or nowhere if it is None."""
    cluster, recorded = race.cluster, race.record.cluster
    engine = EngineInfo(recorded.distribution or "", recorded.version or "", recorded.flavor or "")
    observed = ObservedCluster(
        get=cluster.rest().get,
        startup_s=cluster.startup_s,
        connect=lambda timeout_s=10.0, /: RestClient(
            cluster.hosts, timeout_s, cluster.client_config, reply_timeout_s=timeout_s
        ),
        sink=sink,
        params=TelemetryParams(race.request.telemetry.params),
        nodes=tuple(map(_observed_node, cluster.local_nodes())),
        artifacts=race.folder.artifacts,
        hosts=tuple(host.host for host in cluster.hosts),
        authentication=race.record.client.authentication,
        is_serverless=engine.is_serverless,
        indices=race.track.targets(),
        node_names=cluster.node_names,
    )
    devices = devices_of(
        race.request.telemetry,
        is_serverless=engine.is_serverless,
        is_operator=bool(race.request.serverless_operator),
    )
    return TelemetryDevices([device(observed) for device in devices])


def _observed_node(node: Node) -> ObservedNode:
    return ObservedNode(node.spec.name, node.pid, node.data_paths, node.folder / "logs")
