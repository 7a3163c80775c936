"""The description of an engine, from which Pacenote assembles and starts it.

A distribution is only data: names, options, settings. It starts no processes and writes no files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from pacenote.provision.distributions.node_config import (
    log4j_properties,
    loopback_settings,
    settings_yaml,
)
from pacenote.provision.distributions.parts import (
    AssemblyStep,
    ModuleDefinition,
    NodePaths,
    RootArtifact,
)
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime


class Distribution(ABC):
    """The description of one engine."""

    name: ClassVar[str]
    """Its name in `--distribution`, and the name of its settings file without `.yml`."""

    default_version: ClassVar[str]
    """The version that is started if none is specified; its lock is in `provision/locks`."""

    java_package: ClassVar[str]
    """The Java package of its classes."""

    modules_describe_themselves: ClassVar[bool] = False
    """Whether the jars of its modules contain the descriptors, to which `module_files` only adds."""

    @abstractmethod
    def supports(self, version: str) -> bool:
        """Returns whether this version can be assembled."""

    @abstractmethod
    def supported_versions(self) -> str:
        """Returns the supported versions as text for messages."""

    @abstractmethod
    def java_range(self, version: str) -> JavaRange:
        """Returns the versions of Java that the engine runs on."""

    @abstractmethod
    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the artifacts that `lib/` is resolved from."""

    @abstractmethod
    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the artifacts that replace the locale data that a trimmed Java runtime lacks."""

    @abstractmethod
    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        """Returns the modules; each module comes after those that it extends."""

    def unpublished_modules(self, version: str) -> tuple[str, ...]:
        """Returns the modules of the official archive that are not published, by their folders."""
        return ()

    def assembly_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the jars that `assembly_steps` read, without their dependencies."""
        return ()

    def assembly_steps(self, version: str) -> tuple[AssemblyStep, ...]:
        """Returns what an installation needs in addition to `lib/` and `modules/`."""
        return ()

    def title(self, version: str) -> str:
        """Returns what the engine is, if it must not be mistaken for the official distribution; otherwise an
        empty string.
        """
        return ""

    @abstractmethod
    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Returns text files in a module's folder, in addition to its jars: file name to text."""

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        """Returns the files of a node's config folder: file name to text."""
        return {
            f"{self.name}.yml": settings_yaml(paths, settings),
            "log4j2.properties": log4j_properties(self.java_package),
        }

    def settings(self, http_port: int, transport_port: int) -> Mapping[str, object]:
        """Returns the settings of every node; those of the car, of the user and of the cluster that the node
        forms are applied after them.
        """
        return loopback_settings(http_port, transport_port)

    @abstractmethod
    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the JVM options of every node; those of the car and of the user follow them.

        `heap` is in bytes.
        """

    @abstractmethod
    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """Returns the environment variables of a node."""

    @abstractmethod
    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns system properties, class path and main class, in the order that `java` expects."""

    def standard_input(self, paths: NodePaths, settings: Mapping[str, object]) -> bytes:
        """Returns what the engine reads from standard input, which then stays open until it is stopped.

        If this is empty, the engine gets no standard input.
        """
        return b""
