"""What the rest of `cluster/` needs to know of an engine; one file per engine says it.

A distribution is knowledge only: names, options, settings. It starts and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pacenote.provision.engine_lock import Module
from pacenote.provision.java import Java


@dataclass(frozen=True, slots=True)
class Root:
    """A coordinate that `lib/` starts from; its dependencies follow.

    Without a version it takes the one that `follows` was resolved to, and no dependencies of its own.
    """

    group: str
    name: str
    version: str = ""
    follows: str = ""


@dataclass(frozen=True, slots=True)
class ModuleRecipe:
    """A module to look for in the repository: its coordinate, its folder's name, the modules it extends."""

    group: str
    name: str
    folder: str
    extends: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class NodePaths:
    """The folders a running node uses; all but `home` are its own."""

    home: Path
    config: Path
    data: Path
    logs: Path
    tmp: Path


class Distribution(Protocol):
    """One engine, as knowledge."""

    name: str
    default_version: str

    def supports(self, version: str) -> bool:
        """Whether this version can be assembled."""

    def supported_words(self) -> str:
        """The supported versions in words, for messages."""

    def java_range(self, version: str) -> tuple[int, int | None]:
        """The lowest and highest major version of Java it runs on; None where there is no highest."""

    def roots(self, version: str) -> tuple[Root, ...]:
        """What `lib/` is resolved from."""

    def locale_roots(self, version: str) -> tuple[Root, ...]:
        """What fills in for a Java whose locale data are cut down."""

    def recipes(self, version: str) -> tuple[ModuleRecipe, ...]:
        """The modules, those that others extend first."""

    def module_files(self, version: str, module: Module) -> Mapping[str, str]:
        """Text files of a module's folder besides its jars: file name to text."""

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        """The files of a node's config folder: file name to text."""

    def settings(self, http_port: int, transport_port: int) -> Mapping[str, object]:
        """The settings every node of ours gets, before the car's and the user's."""

    def jvm_options(self, heap: int, paths: NodePaths, java: Java) -> tuple[str, ...]:
        """The JVM options every node gets, before the car's and the user's; `heap` in bytes."""

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """Environment variables the node needs."""

    def main(self, paths: NodePaths, java: Java) -> tuple[str, ...]:
        """System properties, class path and main class, in the order Java wants them."""
