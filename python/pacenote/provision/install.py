"""Assembles an engine from its jars in a folder that later races reuse."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.engine_lock import EngineLock
from pacenote.provision.maven import MavenArtifact
from pacenote.provision.public_files import write_public

MARKER = "complete"
"""The file whose presence shows that a folder is complete."""

LAYOUT_VERSION = 1
"""Part of the folder's name. It must be increased if the same jars are arranged differently."""

_JAVA_SERVICES = re.compile(r"META-INF/services/java\.(?!text\.spi\.BreakIteratorProvider$)")


def assemble(
    distribution: Distribution,
    lock: EngineLock,
    jars: Path,
    installs: Path,
    progress: ProgressCallback = no_progress,
) -> Path:
    """Returns the folder of an assembled engine below `installs`, which is built from the cache `jars` if it
    does not exist.

    Its name contains the lock's digest, so a different set of jars gets a different folder. The folder is
    built under a temporary name and renamed. Raises DiskError if it cannot be written, and EngineError for a
    damaged jar.
    """
    target = installs / f"{lock.distribution}-{lock.version}-{lock.digest()}-{LAYOUT_VERSION}"
    if (target / MARKER).exists():
        return target
    try:
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=installs))
        try:
            _fill(build, distribution, lock, jars, progress)
            _move(build, target)
        finally:
            shutil.rmtree(build, ignore_errors=True)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return target


def _fill(
    build: Path, distribution: Distribution, lock: EngineLock, jars: Path, progress: ProgressCallback
) -> None:
    label, count = f"assembling {lock.distribution} {lock.version}", len(lock.modules)
    progress(label, 0, count)
    build.chmod(0o755)
    # The engine expects these folders, even if they are empty, and has no permission to create them.
    for name in ("bin", "config", "plugins"):
        _create_folder(build / name)
    _link_all(lock.lib, jars, _create_folder(build / "lib"))
    locale = _create_folder(build / "locale")
    for artifact in lock.locale:
        source = artifact.path_in(jars)
        try:
            _only_break_iterators(source, locale / artifact.file_name)
        except zipfile.BadZipFile as failure:
            raise EngineError(
                f"{source} is damaged: {failure}", hint="delete this file; it will be downloaded again"
            ) from None
    modules = _create_folder(build / "modules")
    for done, module in enumerate(lock.modules):
        progress(label, done, count)
        folder = _create_folder(modules / module.name)
        _link_all(module.artifacts, jars, folder)
        for name, text in distribution.module_files(lock.version, module).items():
            write_public(folder / name, text)
    write_public(build / MARKER, f"{lock.distribution} {lock.version}\n")
    progress(label, count, count)


def _move(build: Path, target: Path) -> None:
    try:
        build.rename(target)
    except OSError:
        # Another race created it in the meantime. A folder without its marker is damaged and replaced.
        if (target / MARKER).exists():
            return
        if not target.exists():
            raise
        shutil.rmtree(target)
        build.rename(target)


def _create_folder(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o755)
    return path


def _link_all(artifacts: Iterable[MavenArtifact], jars: Path, folder: Path) -> None:
    for artifact in artifacts:
        _link(artifact.path_in(jars), folder / artifact.file_name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        # The folders are on different file systems, or on one without hard links.
        shutil.copyfile(source, target)
        target.chmod(0o644)


def _only_break_iterators(source: Path, target: Path) -> None:
    """Copies a jar without the services that it provides to Java, except word boundaries.

    Dates and numbers must be formatted with Java's own data, as in the official archive.
    """
    with zipfile.ZipFile(source) as whole:
        unwanted = {name for name in whole.namelist() if _JAVA_SERVICES.match(name)}
        if not unwanted:
            _link(source, target)
            return
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as kept:
            for entry in whole.infolist():
                if entry.filename not in unwanted:
                    kept.writestr(entry, whole.read(entry))
    target.chmod(0o644)
