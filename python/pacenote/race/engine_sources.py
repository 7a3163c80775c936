"""Builds the engine of a race from its sources (`--pipeline=from-sources`).

The version is known before the engine is built, so a broken track is reported without a build.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.model.engine_options import EngineOptions
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.model.recorded_sources import RecordedSources
from pacenote.model.source_options import SourceOptions
from pacenote.provision.car_selection import select_car
from pacenote.race.team import located_engine
from pacenote.sources.build import LOG_NAME, SOURCES, BuildRequest, BuiltEngine, build_engine, source_version
from pacenote.sources.build_java import required_major
from pacenote.sources.recipes import BuildRecipe, recipe_for
from pacenote.sources.revisions import parse_revisions, plugin_revision
from pacenote.teams.plugins import parse_plugins

_SNAPSHOT = "-SNAPSHOT"


def with_source_version(request: RaceRequest, progress: ProgressCallback) -> RaceRequest:
    """Returns the request with the version of the engine that its sources are of, which fetches the sources.

    Other pipelines have no sources. Raises UsageError and EngineError.
    """
    engine = versioned(request.engine, request.home, progress, offline=request.offline)
    return dataclasses.replace(request, engine=engine)


def versioned(
    engine: EngineOptions, home: Path, progress: ProgressCallback, *, offline: bool
) -> EngineOptions:
    """Returns the options of an engine with the version that its sources are of, if it is built from sources.

    Raises UsageError and EngineError.
    """
    source = engine.source
    if source is None:
        return engine
    # The car, which may have other commands, may depend on the version.
    recipe = recipe_for(engine.distribution, {}, release=source.source_build_release)
    build = BuildRequest(
        home, engine.distribution, source, recipe, home / SOURCES / LOG_NAME, offline=offline
    )
    version = source_version(build, progress)
    if not version:
        raise EngineError(
            f"the sources of {engine.distribution} have no version in {recipe.version_file}",
            hint="check --source-path and --distribution",
        )
    suffix = "" if source.source_build_release else _SNAPSHOT
    return structs.replace(engine, distribution_version=f"{version}{suffix}")


def with_built_engine(
    request: RaceRequest, progress: ProgressCallback
) -> tuple[RaceRequest, RecordedSources | None]:
    """Returns the request with the archive that was built from the sources, and what is recorded of it.

    Raises UsageError, EngineError and DiskError.
    """
    source = request.engine.source
    if source is None:
        return request, None
    built = build_all(request.engine, request.home, progress, offline=request.offline)
    engine = installable(request.engine, built.archive, built.plugins)
    return dataclasses.replace(request, engine=engine), recorded_sources(built)


def build_requested(
    engine: EngineOptions, home: Path, progress: ProgressCallback, *, offline: bool
) -> BuiltEngine:
    """Builds an engine, and the plugins of its options, outside of a race.

    Raises UsageError, EngineError and DiskError.
    """
    engine = versioned(engine, home, progress, offline=offline)
    engine = located_engine(engine, home, offline=offline)
    built = build_all(engine, home, progress, offline=offline)
    missing = [plugin.name for plugin in parse_plugins(engine.plugins) if plugin.name not in built.plugins]
    if missing:
        raise EngineError(
            f"the sources of {engine.distribution} have no plugin {missing[0]}",
            hint="check --elasticsearch-plugins and --revision",
        )
    return built


def installable(engine: EngineOptions, archive: Path, plugins: Mapping[str, Path]) -> EngineOptions:
    """Returns the options that install the archive and the plugins that were built."""
    addresses = {f"plugin.{name}.release.url": str(path) for name, path in plugins.items()}
    built = structs.replace(
        engine.archive,
        repository=None,
        location=str(archive),
        distributions={**engine.archive.distributions, **addresses},
    )
    return structs.replace(engine, source=None, archive=built)


def recorded_sources(built: BuiltEngine) -> RecordedSources:
    """Returns what a race records of a build."""
    return RecordedSources(
        origin=built.tree.origin,
        revision=built.tree.commit or None,
        local_changes=bool(built.tree.changes) if built.tree.commit else None,
        command=built.command,
    )


def build_all(engine: EngineOptions, home: Path, progress: ProgressCallback, *, offline: bool) -> BuiltEngine:
    """Builds an engine, its plugins that are part of its sources, and those that `rally.ini` describes.

    Raises UsageError for an unknown car and a missing revision, EngineError and DiskError.
    """
    source = engine.source or SourceOptions()
    variables = {name: str(value) for name, value in select_car(engine).variables.items()}
    recipe = recipe_for(engine.distribution, variables, release=source.source_build_release)
    plugins = tuple(plugin.name for plugin in parse_plugins(engine.plugins))
    log = home / SOURCES / LOG_NAME
    request = BuildRequest(home, engine.distribution, source, recipe, log, plugins, offline)
    built = build_engine(request, progress)
    jdk = required_major(recipe, built.tree.folder)
    plugin_archives = {
        name: build_engine(_plugin_request(request, name, jdk), progress).archive
        for name in plugins
        if name in source.plugins and name not in built.plugins
    }
    return replace(built, plugins={**built.plugins, **plugin_archives})


def _plugin_request(engine: BuildRequest, name: str, jdk: str) -> BuildRequest:
    """Returns the build of a plugin with a repository of its own, with the JDK of the engine.

    Raises UsageError.
    """
    source = engine.options
    described = source.plugins[name]
    if not described.command or not (described.url or described.path):
        raise UsageError(
            f"rally.ini: [source] lacks plugin.{name}.build.command, or where the sources of the plugin are",
            hint=f"add plugin.{name}.build.command, and plugin.{name}.remote.repo.url or src.dir",
        )
    revision = plugin_revision(parse_revisions(source.revision), name)
    local = described.path if revision.is_current and Path(described.path).is_dir() else ""
    recipe = BuildRecipe(
        url=described.url or described.path,
        branch="main",
        clean_command="",
        build_command=described.command,
        artifact_pattern=f"{described.artifacts.strip('/') or '.'}/*.zip",
        version_file="",
        build_jdk=jdk,
    )
    options = structs.replace(source, revision=str(revision), source_path=local)
    return replace(engine, distribution=name, options=options, recipe=recipe, plugins=())
