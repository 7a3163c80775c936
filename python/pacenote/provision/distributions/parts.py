"""The parts of an installation and the folders of a node, as values that distributions describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
