"""The lock of an engine version: every jar it is made of, with size and checksum, so that a race need not
resolve.

Locks of common versions come with the package (`locks/`); others are made once, see `relock.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.provision.maven import MavenArtifact

# Names become folders and file names, so nothing that could leave them may be in one.
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")


@dataclass(frozen=True, slots=True)
class Module:
    """One module of an engine: its folder's name, the plugin class, the modules it extends, its own jars."""

    name: str
    main_class: str
    extends: tuple[str, ...]
    artifacts: tuple[MavenArtifact, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """What one version of an engine is made of: the jars of `lib/` and those of each module.

    `locale` are jars that fill in for a Java whose locale data are cut down.
    """

    distribution: str
    version: str
    lib: tuple[MavenArtifact, ...]
    modules: tuple[Module, ...]
    locale: tuple[MavenArtifact, ...] = ()

    def artifacts(self) -> tuple[MavenArtifact, ...]:
        """Every jar once."""
        own = (jar for module in self.modules for jar in module.artifacts)
        return tuple(dict.fromkeys((*self.lib, *self.locale, *own)))

    def digest(self) -> str:
        """A short name for exactly these jars in this layout."""
        return hashlib.sha256(dump_lock(self).encode()).hexdigest()[:12]


def lock_name(distribution: str, version: str) -> str:
    """The file name of a lock."""
    return f"{distribution}-{version}.json"


def find_lock(distribution: str, version: str, kept_in: Path) -> Lock | None:
    """The lock that comes with the package, else the one made earlier in `kept_in`, else None.

    Raises EngineError when the kept one cannot be understood.
    """
    name = lock_name(distribution, version)
    packaged = files("pacenote.provision") / "locks" / name
    if packaged.is_file():
        return parse_lock(packaged.read_text("utf-8"), name)
    kept = kept_in / name
    try:
        return parse_lock(kept.read_text("utf-8"), str(kept))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as failure:
        raise EngineError(
            f"the lock {kept} cannot be read: {failure}", hint="delete it; it is made again"
        ) from None


def save_lock(lock: Lock, folder: Path) -> Path:
    """Write a lock into `folder`, whole or not at all. Raises EngineError when it cannot be written."""
    target = folder / lock_name(lock.distribution, lock.version)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(dump_lock(lock), "utf-8")
        part.replace(target)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    finally:
        part.unlink(missing_ok=True)
    return target


def dump_lock(lock: Lock) -> str:
    """A lock as JSON text, one jar a line, so that a change of version reads well as a diff."""
    modules = [
        {
            "name": module.name,
            "main_class": module.main_class,
            "extends": list(module.extends),
            "jars": [_dump_jar(jar) for jar in module.artifacts],
        }
        for module in lock.modules
    ]
    document = {
        "distribution": lock.distribution,
        "version": lock.version,
        "lib": [_dump_jar(jar) for jar in lock.lib],
        "locale": [_dump_jar(jar) for jar in lock.locale],
        "modules": modules,
    }
    return json.dumps(document, indent=1) + "\n"


def _dump_jar(jar: MavenArtifact) -> str:
    return f"{jar} {jar.size} {jar.sha256}"


def parse_lock(text: str, where: str) -> Lock:
    """A lock from its JSON text. Raises EngineError naming `where` when it is not one."""
    try:
        document: Mapping[str, Any] = json.loads(text)
        return Lock(
            distribution=_safe(document["distribution"]),
            version=_safe(document["version"]),
            lib=tuple(_parse_jar(jar) for jar in document["lib"]),
            modules=tuple(_parse_module(module) for module in document["modules"]),
            locale=tuple(_parse_jar(jar) for jar in document["locale"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise EngineError(
            f"the lock {where} is damaged: {failure}", hint="delete it; it is made again"
        ) from None


def _parse_module(document: Mapping[str, Any]) -> Module:
    return Module(
        name=_safe(document["name"]),
        main_class=_safe(document["main_class"]),
        extends=tuple(_safe(name) for name in document["extends"]),
        artifacts=tuple(_parse_jar(jar) for jar in document["jars"]),
    )


def _parse_jar(line: str) -> MavenArtifact:
    coordinate, size, sha256 = line.split(" ")
    group, name, version = (_safe(part) for part in coordinate.split(":"))
    if not re.fullmatch(r"[0-9a-f]{64}", sha256) or int(size) <= 0:
        raise ValueError(f"{coordinate} has no valid size and sha256")
    return MavenArtifact(group, name, version, sha256, int(size))


def _safe(name: str) -> str:
    if not _SAFE.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name")
    return name
