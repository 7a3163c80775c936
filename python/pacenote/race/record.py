"""Small conversions between what other parts say and what the record keeps."""

from __future__ import annotations

import dataclasses
import hashlib

from pacenote.cluster.info import ClusterInfo
from pacenote.model.race_record import RecordedCluster


def cluster_used(info: ClusterInfo) -> RecordedCluster:
    """The engine as the record keeps it; what the cluster did not say is None."""
    return RecordedCluster(
        distribution=info.distribution,
        version=info.version or None,
        flavor=info.flavor or None,
        build_hash=info.build_hash or None,
        name=info.cluster_name or None,
        nodes=tuple(dataclasses.asdict(node) for node in info.nodes),
    )


def sha256_of(text: str) -> str:
    """The checksum of a stored document."""
    return hashlib.sha256(text.encode()).hexdigest()
