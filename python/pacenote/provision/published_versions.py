"""The versions of an engine that a Maven repository has, with all parts without which it cannot start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pacenote.errors import EngineError
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.maven import MavenArtifact, MavenRepository

_MAX_NAMED = 5
"""Maximum number of versions that a message names."""

_VERSION = re.compile(r"<version>([^<]{1,100})</version>")


def check_published(distribution: Distribution, version: str, repository: MavenRepository) -> None:
    """Raises EngineError, with the nearest versions that can be assembled, if the repository lacks a required
    part of a version, or if it cannot be read.
    """
    parts = _required_parts(distribution, version)
    missing = [part for part in parts if not repository.exists(part.pom_path)]
    if not missing:
        return
    # A version of the official archives need not be in the repository.
    absent = f"is not in the Maven repository {repository.url}"
    unknown = len(missing) == len(parts)
    problem = absent if unknown else f"cannot be assembled: {missing[0]} is not published"
    near = nearest_versions(version, published_versions(distribution, repository))
    hint = (
        f"the nearest versions that can be assembled are {', '.join(near)}"
        if near
        else "check --maven-mirror"
    )
    raise EngineError(f"{distribution.name} {version} {problem}", hint=hint)


def is_partly_published(distribution: Distribution, version: str, repository: MavenRepository) -> bool:
    """Returns whether a version exists, but cannot be assembled because a required part is not published.

    Raises EngineError if the repository cannot be read.
    """
    existing = {repository.exists(part.pom_path) for part in _required_parts(distribution, version)}
    return existing == {True, False}


def published_versions(distribution: Distribution, repository: MavenRepository) -> tuple[str, ...]:
    """Returns the supported versions of which the repository lists all required parts, oldest first.

    A repository may have a version that it does not list. Raises EngineError if it cannot be read.
    """
    parts = _required_parts(distribution, distribution.default_version)
    listed = [listed_versions(part.group, part.name, repository) for part in parts]
    common = set.intersection(*listed) if listed else set()
    return tuple(sorted(filter(distribution.supports, common), key=_numbers))


def nearest_versions(version: str, versions: Iterable[str]) -> tuple[str, ...]:
    """Returns up to five of `versions` that differ least from a version, oldest first."""
    wanted = _numbers(version)

    def distance(other: str) -> tuple[int, ...]:
        numbers = _numbers(other)
        return tuple(abs(left - right) for left, right in zip(wanted, numbers, strict=False))

    return tuple(sorted(sorted(versions, key=distance)[:_MAX_NAMED], key=_numbers))


def _required_parts(distribution: Distribution, version: str) -> tuple[MavenArtifact, ...]:
    """Returns the artifacts with the version of the engine without which it cannot start."""
    roots = (*distribution.root_artifacts(version), *distribution.assembly_artifacts(version))
    engine_parts = ((root.group, root.name) for root in roots if root.version == version)
    modules = (
        (definition.group, definition.name)
        for definition in distribution.module_definitions(version)
        if definition.required
    )
    return tuple(MavenArtifact(group, name, version) for group, name in (*engine_parts, *modules))


def listed_versions(group: str, name: str, repository: MavenRepository) -> set[str]:
    """Returns the versions of an artifact that a repository lists. Raises EngineError if it cannot be
    read.
    """
    path = f"{group.replace('.', '/')}/{name}/maven-metadata.xml"
    return set(_VERSION.findall(repository.read_text(path) or ""))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
