"""Installs an engine: from its official archive, or assembled from its published parts."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from msgspec import Struct

from pacenote.model.messages import list_with_rest
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.archives.addresses import ArchiveSource
from pacenote.provision.archives.archive_cache import CachedArchive
from pacenote.provision.archives.archive_install import cache_limits, install_archive
from pacenote.provision.archives.archive_program import ArchiveProgram
from pacenote.provision.archives.plugin_installer import install_plugins
from pacenote.provision.archives.plugin_sources import PluginOrigin, fetch_plugins
from pacenote.provision.assembly_steps import AssemblySource
from pacenote.provision.cleanup import remove_stale_files
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_java import assembled_jvm_warnings, java_for, jvm_warnings
from pacenote.provision.engine_lock import save_lock
from pacenote.provision.engine_program import AssembledProgram, EngineProgram
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import absent_modules, look_up_parts, select_archive, select_lock
from pacenote.provision.install import assemble
from pacenote.provision.java import JavaRuntime, make_reachable, read_java
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.maven import fetch_artifacts
from pacenote.provision.plugin_archives import AssembledEngineFolder, prune_copies, unpack_plugins
from pacenote.provision.profiler import install_profiler
from pacenote.provision.update_lock import LockSource, resolve_lock

_MAX_NAMED_MODULES = 5
"""Maximum number of missing modules that a message names; the race record has all."""


class Installation(Struct, frozen=True):
    """An installed engine."""

    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine."""
    program: EngineProgram
    """How its nodes are configured and started."""
    java: JavaRuntime
    """The Java that runs it."""
    title: str = ""
    """What the engine is, if it must not be mistaken for the official distribution; otherwise empty."""
    absent_modules: tuple[str, ...] = ()
    """The modules of the official archive that it lacks."""
    archive: CachedArchive | None = None
    """The official archive that it was installed from, or None if it was assembled."""

    @property
    def file(self) -> Path:
        """The archive, or the folder of an assembled engine."""
        return self.archive.path if self.archive else self.program.home


def install_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> Installation:
    """Installs an engine without starting it (`pacenote download`). Raises the same errors as
    `start_engine`.
    """
    layout = create_layout(request.home)
    remove_stale_files(layout)
    install_profiler(request, layout, progress)
    request = look_up_parts(request, layout)
    source = select_archive(request, layout)
    if source is not None:
        return _install_archive(request, source, layout, progress)
    return _install_parts(request, layout, progress)


def _install_parts(request: EngineRequest, layout: EngineLayout, progress: ProgressCallback) -> Installation:
    """Assembles an engine of its published parts."""
    distribution = find_distribution(request.distribution, request.version)
    version = request.version_of(distribution)
    java = java_for(request, distribution.java_range(version), layout, progress)
    lock = select_lock(request, distribution, layout)
    if lock is None:
        progress(f"{distribution.name} {version} is used for the first time: resolving its parts", 0, 0)
        jars = LockSource(layout.jars, request.maven_mirror)
        lock = resolve_lock(distribution, version, jars, progress)
        save_lock(lock, layout.locks)
    # This is reported at every start, because it explains why tracks that need such a module fail.
    absent = absent_modules(distribution, lock)
    if absent:
        named = list_with_rest(absent, _MAX_NAMED_MODULES)
        progress(f"{distribution.name} {version} lacks unpublished modules: {named}", 0, 0)
    fetch_artifacts(lock.artifacts(), layout.jars, mirror=request.maven_mirror, progress=progress)
    selected_java, java = java, make_reachable(java, layout)
    # The answer of the one that was found is known from the check before the download.
    checked_java = selected_java if os.access(selected_java.binary, os.X_OK) else java
    for text in assembled_jvm_warnings(request, distribution, checked_java, layout):
        progress(f"{java.title}: {text}", 0, 0)
    folder = assemble(distribution, AssemblySource(lock, layout.jars, java), layout.installs, progress)
    prune_copies(layout, cache_limits(request.archive))
    if request.car.plugins:
        plugins = _plugins(request, version, layout, progress)
        folder = unpack_plugins(AssembledEngineFolder(folder, distribution.name, version), plugins)
    program = AssembledProgram(distribution, folder, java)
    return Installation(distribution.name, version, program, java, distribution.title(version), absent)


def _install_archive(
    request: EngineRequest, source: ArchiveSource, layout: EngineLayout, progress: ProgressCallback
) -> Installation:
    if not request.archive.requested:
        engine = f"{source.distribution} {source.version}"
        progress(f"{engine} cannot be assembled: using its official archive", 0, 0)
    installed = install_archive(
        source, layout, request.fetch_settings, cache_limits(request.archive), progress
    )
    tree = installed.tree
    if tree.bundled_java is not None and request.runtime_jdk in (None, "bundled"):
        java = read_java(tree.bundled_java, "official archive", layout.user)
    else:
        java = java_for(request, tree.official.java_range(tree.version), layout, progress)
    java = make_reachable(java, layout)
    tree = install_plugins(tree, _plugins(request, tree.version, layout, progress), java, layout, progress)
    program = ArchiveProgram(tree, java)
    for text in jvm_warnings(request, program, layout.user):
        progress(f"{java.title}: {text}", 0, 0)
    return Installation(tree.official.name, tree.version, program, java, archive=installed.archive)


def _plugins(
    request: EngineRequest, version: str, layout: EngineLayout, progress: ProgressCallback
) -> tuple[CachedArchive, ...]:
    origin = PluginOrigin(request.distribution, version, request.archive, request.maven_mirror)
    settings = dataclasses.replace(request.fetch_settings, suffix_hint="--elasticsearch-plugins")
    return fetch_plugins(request.car.plugins, origin, layout, settings, progress)
