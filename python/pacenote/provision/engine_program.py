"""How an installed engine is configured and started: what a node needs to know of its distribution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import default_collector, gc_log_options


class NodePorts(Struct, frozen=True):
    """The ports that a node listens on."""

    http: int
    """`http.port`."""
    transport: int
    """`transport.port`."""


class NodeSetup(Struct, frozen=True):
    """The configuration of one node, apart from what its engine requires."""

    paths: NodePaths
    """Its folders."""
    ports: NodePorts
    """Free ports, used unless `settings` has others."""
    heap: int
    """The size of the heap in bytes."""
    jvm_options: tuple[str, ...] = ()
    """JVM options, which override those of the engine."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings, which override those of the engine."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables, which override those of the engine."""
    all_node_names: tuple[str, ...] = ()
    """The names of all nodes of the cluster; empty if it is the only one."""


class ProgramCommand(Struct, frozen=True):
    """The command that starts a node."""

    arguments: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str]
    """Environment variables in addition to those that every node gets."""
    standard_input: bytes = b""
    """What it reads from standard input, which then stays open until the node is stopped; if this is empty,
    it gets no standard input.
    """


class EngineProgram(Protocol):
    """An installed engine that nodes can be started from."""

    @property
    def home(self) -> Path:
        """The folder of the engine, shared by its nodes."""

    def install(self, folder: Path, /) -> Path:
        """Returns the home of a node: `home`, or a copy in `folder`, which is the node's, if nodes of this
        engine change their home. Raises OSError.
        """

    def settings(self, setup: NodeSetup) -> Mapping[str, object]:
        """Returns all settings of a node, by their full names."""

    def config_files(self, setup: NodeSetup) -> Mapping[str, str]:
        """Returns the files of a node's config folder: file name to text."""

    def complete(self, setup: NodeSetup, /) -> None:
        """Adds to the folders of a node what the config files are not enough for. Called when these are
        written. Raises OSError and EngineError.
        """

    def command(self, setup: NodeSetup) -> ProgramCommand:
        """Returns the command that starts a node whose config files are written."""


class AssembledProgram(Struct, frozen=True):
    """An engine that Pacenote assembled, started directly with `java`."""

    distribution: Distribution
    """The description of the engine."""
    home: Path
    """Its folder below `installs`."""
    java: JavaRuntime
    """The runtime, which the node's user can run."""

    def install(self, _folder: Path, /) -> Path:
        """Returns the shared home, which nodes only read."""
        return self.home

    def settings(self, setup: NodeSetup) -> Mapping[str, object]:
        """Returns the settings of the distribution and those of the node."""
        return {**self.distribution.settings(setup.ports.http, setup.ports.transport), **setup.settings}

    def config_files(self, setup: NodeSetup) -> Mapping[str, str]:
        """Returns the files of the config folder: file name to text."""
        return self.distribution.config_files(setup.paths, self.settings(setup))

    def jvm_options(self, setup: NodeSetup) -> tuple[str, ...]:
        """Returns the JVM options of a node; later ones override earlier ones."""
        return (
            *self.distribution.jvm_options(setup.heap, setup.paths, self.java),
            *gc_log_options(self.java, setup.paths.logs, setup.jvm_options),
            *default_collector(self.java, setup.jvm_options),
            *setup.jvm_options,
        )

    def complete(self, _setup: NodeSetup, /) -> None:
        """Does nothing: the config files are enough."""

    def command(self, setup: NodeSetup) -> ProgramCommand:
        """Returns the command that runs the main class of the engine."""
        paths = setup.paths
        arguments = (
            str(self.java.binary),
            *self.jvm_options(setup),
            *self.distribution.main_arguments(paths, self.java),
        )
        environment = {**self.distribution.environment(paths), **setup.environment}
        standard_input = self.distribution.standard_input(paths, self.settings(setup))
        return ProgramCommand(arguments, environment, standard_input)
