"""The description of a node to start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from pacenote.model.engine import DEFAULT_CLUSTER_NAME
from pacenote.model.engine_archive import EngineArchive
from pacenote.model.node_options import NodeLimits
from pacenote.provision.cluster_access import ClusterAccess
from pacenote.provision.engine_program import NodePorts
from pacenote.provision.node_facts import NodePurpose


class NodeSpec(Struct, frozen=True):
    """The node to start."""

    distribution: str
    """The name of the distribution, for messages."""
    version: str
    """The version of the engine, for messages."""
    title: str = ""
    """What the engine is, if it must not be mistaken for the official distribution; otherwise empty."""
    absent_modules: tuple[str, ...] = ()
    """The modules of the official archive that it lacks."""
    archive: EngineArchive | None = None
    """The official archive that it was installed from, or None if it was assembled."""
    name: str = "rally-node-0"
    """`node.name`."""
    cluster_name: str = DEFAULT_CLUSTER_NAME
    """`cluster.name`."""
    roles: tuple[str, ...] | None = None
    """`node.roles`; None for the default of the engine, which is all of them."""
    manager_role: str = "master"
    """The role with which a node of this engine can become the manager of the cluster."""
    heap: str = "1g"
    """Heap size such as `1g`."""
    jvm_options: tuple[str, ...] = ()
    """JVM options after those of the distribution, which they override."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that override those of the distribution."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that override those of the distribution."""
    ports: NodePorts | None = None
    """The ports that it listens on, or None for free ones."""
    cpus: tuple[int, ...] = ()
    """The CPUs that it may use; empty for those of Pacenote."""
    limits: NodeLimits = field(default_factory=NodeLimits)
    """The limits that a control group enforces."""
    data_paths: tuple[Path, ...] = ()
    """The folders in which it gets one for its data; empty for its own folder."""
    initial_data: tuple[Path, ...] = ()
    """Folders that are copied to its data paths, one for each, before it starts; empty for no data."""
    start_timeout_s: float = 120.0
    """Seconds within which the node must be healthy."""
    preserve: bool = False
    """Whether the node's folder with its data is kept after the stop."""
    purpose: NodePurpose = field(default_factory=NodePurpose)
    """What it is started for."""
    access: ClusterAccess = field(default_factory=ClusterAccess)
    """How clients reach it."""

    @property
    def can_manage(self) -> bool:
        """Whether it can become the manager of the cluster."""
        return self.roles is None or self.manager_role in self.roles

    @property
    def takes_requests(self) -> bool:
        """Whether the driver sends requests to it: not if it only manages the cluster."""
        return self.roles != (self.manager_role,)
