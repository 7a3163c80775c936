"""Lock files of engine versions: all jars with sizes and checksums, so races do not have to resolve them.

The lock files of the default versions are part of the package (`locks/`); `update_lock.py` creates those of
other versions once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.fetch.disk import replace_text
from pacenote.model.decoding import parse_json
from pacenote.provision.maven import MavenArtifact, safe_name


class EngineModule(Struct, frozen=True):
    """One module of an engine."""

    name: str
    """The name of its folder."""
    main_class: str
    """The plugin class that the engine loads."""
    extends: tuple[str, ...]
    """The names of the modules whose classes it uses."""
    artifacts: tuple[MavenArtifact, ...]
    """Its own jars."""


class EngineLock(Struct, frozen=True):
    """The jars of one version of an engine."""

    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine."""
    lib: tuple[MavenArtifact, ...]
    """The jars of `lib/`."""
    modules: tuple[EngineModule, ...]
    """The modules; each module comes after those that it extends."""
    locale: tuple[MavenArtifact, ...] = ()
    """Jars that replace the locale data that a trimmed Java runtime lacks."""
    assembly: tuple[MavenArtifact, ...] = ()
    """Jars that the steps of the assembly read."""

    def artifacts(self) -> tuple[MavenArtifact, ...]:
        """Returns all jars, each once."""
        module_jars = (jar for module in self.modules for jar in module.artifacts)
        return tuple(dict.fromkeys((*self.lib, *self.locale, *self.assembly, *module_jars)))

    def digest(self) -> str:
        """Returns a short hash of the lock file."""
        return hashlib.sha256(format_lock(self).encode()).hexdigest()[:12]


def lock_file_name(distribution: str, version: str) -> str:
    """Returns the file name of a lock."""
    return f"{distribution}-{version}.json"


def packaged_versions(distribution: str) -> tuple[str, ...]:
    """Returns the versions of a distribution whose locks are part of the package, the newest first."""
    begin, end = f"{distribution}-", ".json"
    names = (lock.name for lock in files("pacenote.provision").joinpath("locks").iterdir())
    versions = (name.removeprefix(begin).removesuffix(end) for name in names if name.startswith(begin))
    return tuple(
        sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    )


def packaged_artifacts() -> tuple[MavenArtifact, ...]:
    """Returns the jars of all locks that are part of the package."""
    locks = (files("pacenote.provision") / "locks").iterdir()
    parsed = (parse_lock(lock.read_text("utf-8"), lock.name) for lock in locks if lock.name.endswith(".json"))
    return tuple(artifact for lock in parsed for artifact in lock.artifacts())


def find_lock(distribution: str, version: str, folder: Path) -> EngineLock | None:
    """Returns the lock file of the package, otherwise the one created earlier in `folder`, or None.

    Raises EngineError if the file in `folder` cannot be read.
    """
    name = lock_file_name(distribution, version)
    packaged = files("pacenote.provision") / "locks" / name
    if packaged.is_file():
        return parse_lock(packaged.read_text("utf-8"), name)
    path = folder / name
    try:
        return parse_lock(path.read_text("utf-8"), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as failure:
        raise EngineError(
            f"the lock file {path} cannot be read: {failure}", hint="delete it; it will be created again"
        ) from None


def save_lock(lock: EngineLock, folder: Path) -> Path:
    """Writes a lock file to `folder` atomically. Raises DiskError if it cannot be written."""
    target = folder / lock_file_name(lock.distribution, lock.version)
    replace_text(target, format_lock(lock))
    return target


def format_lock(lock: EngineLock) -> str:
    """Returns the JSON text of a lock file, with one jar per line to keep diffs between versions readable."""
    modules = [
        {
            "name": module.name,
            "main_class": module.main_class,
            "extends": list(module.extends),
            "jars": [_format_jar(jar) for jar in module.artifacts],
        }
        for module in lock.modules
    ]
    document = {
        "distribution": lock.distribution,
        "version": lock.version,
        "lib": [_format_jar(jar) for jar in lock.lib],
        "locale": [_format_jar(jar) for jar in lock.locale],
        **({"assembly": [_format_jar(jar) for jar in lock.assembly]} if lock.assembly else {}),
        "modules": modules,
    }
    return json.dumps(document, indent=1) + "\n"


def _format_jar(jar: MavenArtifact) -> str:
    return f"{jar} {jar.size} {jar.sha256}"


def parse_lock(text: str, location: str) -> EngineLock:
    """Parses a lock file. Raises EngineError with `location` if it is damaged."""
    try:
        document: Mapping[str, Any] = parse_json(text)
        return EngineLock(
            distribution=safe_name(document["distribution"]),
            version=safe_name(document["version"]),
            lib=tuple(_parse_jar(jar) for jar in document["lib"]),
            modules=tuple(_parse_module(module) for module in document["modules"]),
            locale=tuple(_parse_jar(jar) for jar in document["locale"]),
            assembly=tuple(_parse_jar(jar) for jar in document.get("assembly", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise EngineError(
            f"the lock file {location} is damaged: {failure}", hint="delete it; it will be created again"
        ) from None


def _parse_module(document: Mapping[str, Any]) -> EngineModule:
    return EngineModule(
        name=safe_name(document["name"]),
        main_class=safe_name(document["main_class"]),
        extends=tuple(safe_name(name) for name in document["extends"]),
        artifacts=tuple(_parse_jar(jar) for jar in document["jars"]),
    )


def _parse_jar(line: str) -> MavenArtifact:
    coordinate, size, sha256 = line.split(" ")
    group, name, version = coordinate.split(":")
    if not sha256 or int(size) <= 0:
        raise ValueError(f"{coordinate} has no valid size and sha256")
    return MavenArtifact(group, name, version, sha256, int(size))
