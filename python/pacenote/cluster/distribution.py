"""What the rest of `cluster/` needs to know of an engine; one file per engine says it.

A distribution is knowledge only: names, options, settings. It starts and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from pacenote.cluster.java import Java
from pacenote.cluster.lock import Module
from pacenote.errors import EngineError, UsageError


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


def find_distribution(name: str, version: str) -> Distribution:
    """The distribution of that name that can assemble that version (empty: its default one).

    Raises UsageError for an unknown name, EngineError for a version that cannot be assembled, both with a way
    out.
    """
    from pacenote.cluster.elasticsearch import Elasticsearch
    from pacenote.cluster.opensearch import OpenSearch

    known: dict[str, Distribution] = {each.name: each for each in (OpenSearch(), Elasticsearch())}
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise UsageError(
            f"unknown distribution '{name}'; Pacenote can start {_possible(known)}",
            hint=f"did you mean '{close[0]}'?"
            if close
            else "name a known one, or use --pipeline=benchmark-only",
        )
    found = known[name]
    if version and not found.supports(version):
        raise EngineError(
            f"{name} {version} cannot be started by Pacenote; it can start {_possible(known)}",
            hint="choose such a version, or start it yourself and use --pipeline=benchmark-only "
            "--target-hosts=HOST:PORT",
        )
    return found


_LAST_OPENSEARCH = 3


def implied_distribution(version: str) -> str:
    """The distribution that a version alone means: OpenSearch counts from 1 to 3, Elasticsearch is at 5 and
    above.
    """
    major = version.partition(".")[0]
    return "elasticsearch" if major.isdigit() and int(major) > _LAST_OPENSEARCH else "opensearch"


def _possible(known: Mapping[str, Distribution]) -> str:
    return "; ".join(f"{each.name} {each.supported_words()}" for each in known.values())
