"""The parts of an installation and the folders of a node, as values that distributions describe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field


class RootArtifact(Struct, frozen=True):
    """A Maven artifact of `lib/`, whose dependencies are added."""

    group: str
    """Group id."""
    name: str
    """Artifact id."""
    version: str = ""
    """Version; empty if `follows` determines the version."""
    follows: str = ""
    """Artifact id whose resolved version is used; if it is set, dependencies are not added."""
    sha256: str = ""
    """SHA-256 checksum of an artifact whose version does not depend on the engine; otherwise empty."""
    size: int = 0
    """Size in bytes of an artifact with a checksum; otherwise 0."""


class ModuleDefinition(Struct, frozen=True):
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


class NodePaths(Struct, frozen=True):
    """The folders that a running node uses."""

    home: Path
    """The installation, shared by all nodes of a version."""
    config: Path
    """Configuration of this node."""
    data: Path
    """Indices of this node; the first folder if there are several."""
    logs: Path
    """Logs of this node, and its working directory."""
    tmp: Path
    """Temporary files of this node."""
    more_data: tuple[Path, ...] = ()
    """Further folders for indices."""

    @property
    def data_setting(self) -> str | list[str]:
        """The value of `path.data`."""
        return [str(self.data), *map(str, self.more_data)] if self.more_data else str(self.data)


class PlacedJar(Struct, frozen=True):
    """A jar that the engine expects in a folder of its own."""

    jar: str
    """Artifact id, among the lock's jars for assembly."""
    folder: str
    """The folder in the installation."""


class ExtractedFile(Struct, frozen=True):
    """A file that is taken out of a jar."""

    jar: str
    """Artifact id, among the lock's jars for assembly."""
    member: str
    """The path of the file in the jar."""
    path: str
    """The path of the file in the installation."""


class WrittenFile(Struct, frozen=True):
    """A text file."""

    path: str
    """The path of the file in the installation."""
    text: str
    """The content."""


class CompiledJar(Struct, frozen=True):
    """A jar that is compiled from Java sources of Pacenote (`provision/supplied`)."""

    path: str
    """The path of the jar in the installation."""
    sources: tuple[str, ...]
    """Folders of `provision/supplied`."""
    manifest: Mapping[str, str] = field(default_factory=dict)
    """Attributes of the manifest."""


class OptionalModules(Struct, frozen=True):
    """A copy of a jar of `lib/` whose module descriptor requires some modules of Java only if they exist."""

    jar: str
    """Artifact id, among the jars of `lib/`."""
    folder: str
    """The folder of the copy in the installation."""
    modules: tuple[str, ...]
    """The names of the modules of Java."""


AssemblyStep = PlacedJar | ExtractedFile | WrittenFile | CompiledJar | OptionalModules
"""What an installation needs in addition to `lib/` and `modules/`."""
