"""Starts a real engine for several runs of several tools, and keeps it warm."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outcome import BenchmarkError, Options

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.net.rest import RestClient
from pacenote.provision.engine_request import EngineRequest

_SETTLE_S = 3.0
"""Seconds to wait before a run, so that the engine and the disk finish what the previous one began."""


@contextmanager
def started_engine(
    options: Options, folder: Path, distribution: str, version: str = ""
) -> Iterator[EmbeddedCluster]:
    """Runs one node until the end of the block; by default, of the default version of the distribution."""
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    request = EngineRequest(
        home=options.engines, artifacts=artifacts, distribution=distribution, version=version
    )
    with start_cluster(request) as cluster:
        yield cluster


def delete_indices(rest: RestClient, pattern: str) -> None:
    """Deletes the indices that match a pattern with a wildcard, and waits until the engine is idle.

    Raises BenchmarkError if they cannot be deleted.
    """
    names = [index["index"] for index in rest.get(f"/_cat/indices/{pattern}?format=json")]
    for name in names:
        deleted = rest.exchange("DELETE", f"/{name}")
        if not deleted.ok:
            raise BenchmarkError(f"index {name} could not be deleted: status {deleted.status}")
    os.sync()
    time.sleep(_SETTLE_S)


def check_count(rest: RestClient, pattern: str, expected: int) -> None:
    """Raises BenchmarkError unless the indices contain every document exactly once."""
    rest.request("POST", f"/{pattern}/_refresh")
    counted = rest.get(f"/{pattern}/_count")["count"]
    if counted != expected:
        raise BenchmarkError(f"the engine counts {counted:,} documents instead of {expected:,}")
