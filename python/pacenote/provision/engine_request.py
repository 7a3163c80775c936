"""The engine to start, as requested on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.client_options import ClientOptions
from pacenote.model.data_options import DataOptions
from pacenote.model.engine import DEFAULT_CLUSTER_NAME, DEFAULT_DISTRIBUTION, EngineInfo
from pacenote.model.node_options import NodeOptions
from pacenote.provision.archives.archive_cache import FetchSettings
from pacenote.provision.car_rules import check_engine_name, check_names
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.engine_program import NodePorts
from pacenote.provision.node_facts import NodePurpose
from pacenote.provision.node_plan import plan_nodes
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.security.secured_cluster import SecurityRequest


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """The engine to start, as requested on the command line."""

    home: Path
    """The home folder of Pacenote."""
    artifacts: Path
    """The folder for the logs of the nodes, and for what their clients need."""
    logs: Path | None = None
    """The folder for the logs of the nodes, if they have one of their own."""
    distribution: str = DEFAULT_DISTRIBUTION
    """The name of the distribution."""
    version: str = ""
    """The version of the engine; empty for the default one."""
    car: Car = field(default_factory=lambda: compose_car(()))
    """The configuration of the nodes."""
    nodes: NodeOptions = field(default_factory=NodeOptions)
    """How many nodes to start, and what each may use."""
    data: DataOptions = field(default_factory=DataOptions)
    """The data with which they start."""
    runtime_jdk: str | None = None
    """The value of `--runtime-jdk`, or None if it is not specified."""
    maven_mirror: str | None = field(default=None, repr=False)
    """The URL of a Maven repository, which may contain credentials, or None for the default one."""
    archive: ArchiveOptions = field(default_factory=ArchiveOptions)
    """The official archive to install, if one was asked for."""
    node_name: str = "rally-node-0"
    """`node.name`, if there is one node."""
    cluster_name: str = DEFAULT_CLUSTER_NAME
    """`cluster.name`."""
    start_timeout_s: float = 120.0
    """Seconds within which the nodes must become healthy."""
    preserve: bool = False
    """Whether the folders of the nodes with their data are kept after they stop."""
    offline: bool = False
    """Whether resolving and downloading are forbidden."""
    purpose: NodePurpose = field(default_factory=NodePurpose)
    """What the nodes are started for."""
    client: ClientOptions = ClientOptions()
    """How the user connects to the nodes; this overrides what Pacenote makes for an engine with security."""
    ports: tuple[NodePorts, ...] = ()
    """The ports of each node; empty for free ones."""
    partly_published: bool | None = None
    """Whether its version was found to lack published parts, so that its official archive is used; None if
    that was not looked up.
    """
    unchecked_settings: bool = False
    """Whether its car has settings that can only be checked when the engine is installed."""

    @property
    def fetch_settings(self) -> FetchSettings:
        """How its archives are downloaded."""
        return FetchSettings(self.archive.mirrors, self.offline)

    @property
    def security(self) -> SecurityRequest:
        """What the security of the engine depends on."""
        return SecurityRequest(self.car, self.client)

    def version_of(self, distribution: Distribution) -> str:
        """Returns the version to install of a distribution that is assembled."""
        return self.version or distribution.default_version

    def check_names(self) -> None:
        """Raises UsageError for names that the cluster and its nodes cannot have, whatever they come from."""
        check_engine_name(self.cluster_name, "--cluster-name")
        check_engine_name(self.node_name, "--node-name")
        check_names(self.car.settings, "the settings of the car")

    def plan_nodes(self, template: NodeSpec) -> tuple[NodeSpec, ...]:
        """Returns the nodes to start; `template` describes the engine. Raises UsageError."""
        self.check_names()
        car = self.car
        template = replace(
            template,
            name=self.node_name,
            heap=car.heap_size,
            jvm_options=car.jvm_options,
            settings=car.settings,
            environment=car.environment,
        )
        specs = plan_nodes(self.nodes, template, EngineInfo(template.distribution, template.version))
        if not self.ports:
            return specs
        return tuple(replace(spec, ports=ports) for spec, ports in zip(specs, self.ports, strict=True))
