"""The description of an engine, from which Pacenote assembles and starts it.

A distribution is only data: names, options, settings. It starts no processes and writes no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime


@dataclass(frozen=True, slots=True)
class RootArtifact:
    """A Maven artifact of `lib/`, whose dependencies are added."""

    group: str
    """Group id."""
    name: str
    """Artifact id."""
    version: str = ""
    """Version; empty if `follows` determines the version."""
    follows: str = ""
    """Artifact id whose resolved version is used; if it is set, dependencies are not added."""


@dataclass(frozen=True, slots=True)
class ModuleDefinition:
    """A module that the repository may have."""

    group: str
    """Group id."""
    name: str
    """Artifact id."""
    folder: str
    """The name of its folder in `modules/`."""
    extends: tuple[str, ...] = ()
    """Folders of the modules whose classes it uses."""
    required: bool = False
    """Whether the engine cannot run without it."""


@dataclass(frozen=True, slots=True)
class NodePaths:
    """The folders that a running node uses."""

    home: Path
    """The installation, shared by all nodes of a version."""
    config: Path
    """Configuration of this node."""
    data: Path
    """Indices of this node."""
    logs: Path
    """Logs of this node, and its working directory."""
    tmp: Path
    """Temporary files of this node."""


class Distribution(Protocol):
    """The description of one engine."""

    name: str
    default_version: str

    def supports(self, version: str) -> bool:
        """Whether this version can be assembled."""

    def supported_versions(self) -> str:
        """The supported versions as text for messages."""

    def java_range(self, version: str) -> JavaRange:
        """The versions of Java that the engine runs on."""

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """The artifacts that `lib/` is resolved from."""

    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Artifacts that replace the locale data that a trimmed Java runtime lacks."""

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        """The modules; each module comes after those that it extends."""

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Text files in a module's folder, in addition to its jars: file name to text."""

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        """The files of a node's config folder: file name to text."""

    def settings(self, http_port: int, transport_port: int) -> Mapping[str, object]:
        """The settings of every node, before those of the car and of the user."""

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """The JVM options of every node, before those of the car and of the user; `heap` in bytes."""

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """The environment variables of a node."""

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """System properties, class path and main class, in the order that `java` expects."""
