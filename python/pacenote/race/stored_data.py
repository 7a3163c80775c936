"""Stores the data of the engine as a data set after a race (`--data=keep:NAME`)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from pacenote.cluster.cluster import Cluster, EmbeddedCluster
from pacenote.errors import EngineError, PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.shell_command import shell_command
from pacenote.net.rest import RestClient
from pacenote.provision.data_sets import DataOrigin, DataSetWriter
from pacenote.provision.layout import create_layout
from pacenote.units import format_bytes

_FLUSH_TIMEOUT_S = 600.0

StoreData = Callable[[Cluster, RaceRecord], None]
"""Has the data of a cluster stored when it has stopped, if the race ran to its end."""


@contextmanager
def storing_data(
    request: RaceRequest, info: Callable[[str], None], warn: Callable[[str], None]
) -> Generator[StoreData, None, None]:
    """Yields a function that has the data of a cluster stored at the end of the block, at which the cluster
    must have stopped. What prevents it is passed to `warn`, because the results of the race are valid.
    """
    name = request.engine.data.name
    pending: list[tuple[DataSetWriter, EmbeddedCluster]] = []

    def store(cluster: Cluster, record: RaceRecord) -> None:
        if request.engine.data.mode != "keep" or not isinstance(cluster, EmbeddedCluster):
            return
        if not record.complete:
            warn(f"data set '{name}' is not stored: the race did not run to its end")
            return
        if record.verdict.state == "void":
            warn(f"data set '{name}' is stored, although the race is void")
        try:
            writer = DataSetWriter(create_layout(request.home), name, _origin(cluster, record))
            pending.append((writer, cluster))
            _flush(cluster)
            cluster.keep_data(writer)
        except PacenoteError as error:
            warn(f"data set '{name}' is not stored: {error.message}")

    try:
        yield store
        for writer, cluster in pending:
            _commit(writer, cluster, info, warn)
    finally:
        for writer, _ in pending:
            writer.discard()


def _commit(
    writer: DataSetWriter,
    cluster: EmbeddedCluster,
    info: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    problem = cluster.data_problem()
    if problem is None:
        try:
            stored = writer.commit([len(node.data_paths) for node in cluster.local_nodes()])
        except PacenoteError as error:
            problem = error.message
        else:
            size = format_bytes(stored.size.bytes)
            option = shell_command(f"--data=restore:{stored.name}")
            info(f"data set '{stored.name}' is stored ({size}): {option} starts with it")
            return
    warn(f"data set '{writer.name}' is not stored: {problem}")


def _flush(cluster: EmbeddedCluster) -> None:
    """Has the engine write everything to its indices, so that no restored race has to do it."""
    client = RestClient(cluster.hosts, _FLUSH_TIMEOUT_S, cluster.client_config, _FLUSH_TIMEOUT_S)
    try:
        client.exchange("POST", "/_flush")
    except EngineError:
        # The engine flushes when it stops, too.
        return
    finally:
        client.close()


def _origin(cluster: EmbeddedCluster, record: RaceRecord) -> DataOrigin:
    engine = cluster.local_nodes()[0].spec
    return DataOrigin(
        distribution=engine.distribution,
        version=engine.version,
        race_id=record.race_id,
        track=record.track.name,
        challenge=record.challenge or "",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
