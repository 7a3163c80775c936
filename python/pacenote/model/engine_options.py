"""The options that select and configure the engine that a race starts, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import field

from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.car_options import CarOverrides
from pacenote.model.codec import Integer, Stored
from pacenote.model.data_options import DataOptions
from pacenote.model.engine import DEFAULT_CLUSTER_NAME, DEFAULT_DISTRIBUTION
from pacenote.model.node_options import NodeOptions
from pacenote.model.source_options import SourceOptions
from pacenote.model.team_options import TeamOptions


class EngineOptions(Stored, frozen=True, kw_only=True):
    """The engine to start, as requested on the command line; fields have the names of Rally's options."""

    _hidden: ClassVar[tuple[str, ...]] = ("maven_mirror",)

    distribution: str = DEFAULT_DISTRIBUTION
    """The name of the distribution."""

    distribution_version: str = ""
    """The version of the engine; empty for the default version of the distribution."""

    car: tuple[str, ...] = ("defaults",)
    """Names of cars."""

    car_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the cars; they may contain secrets."""

    team: TeamOptions = field(default_factory=TeamOptions)
    """The team repository with the cars and plugins."""

    plugins: tuple[str, ...] = ()
    """Plugins of the engine, each with its configurations as in `transport-nio:http+transport`."""

    plugin_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the plugins; they may contain secrets."""

    overrides: CarOverrides = field(default_factory=CarOverrides)
    """What overrides the cars."""

    nodes: NodeOptions = field(default_factory=NodeOptions)
    """How many nodes to start, and what each may use."""

    runtime_jdk: Integer | str | None = None
    """The major version or the folder of the JDK, or `bundled`; None means that the provisioner chooses."""

    data: DataOptions = field(default_factory=DataOptions)
    """The data with which the engine starts, and whether it is stored."""

    cluster_name: str = DEFAULT_CLUSTER_NAME
    """The name of the cluster."""

    preserve_install: bool = False
    """Whether the folder of the engine and its data is kept."""

    archive: ArchiveOptions = field(default_factory=ArchiveOptions)
    """The official archive to install, if one was asked for."""

    source: SourceOptions | None = None
    """The sources that the engine is built from, or None if it is not built."""

    maven_mirror: str | None = None
    """URL to download artifacts from instead of Maven Central; it may contain credentials."""
