"""The options that select the sources of an engine, shared by several commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from msgspec.structs import replace

from pacenote.cli.options import values
from pacenote.cli.options.engine import engine_options
from pacenote.cli.options.rally_ini import RallySettings
from pacenote.cli.parser import Parser
from pacenote.model.engine_options import EngineOptions
from pacenote.model.source_options import DEFAULT_CACHE_DAYS, PluginSources, SourceOptions
from pacenote.sources.recipes import RECIPES, source_distribution

SELECTING_SOURCES = ("revision", "source_path")
"""Options that show that the engine is to be built from sources."""

_PLUGIN_KEYS = ("remote.repo.url", "src.subdir", "src.dir", "build.command", "build.artifact.subdir")


def add_source_build_options(parser: Parser) -> None:
    """Adds Rally's options for building an engine."""
    parser.add_argument(
        "--revision",
        metavar="REV",
        help="sources to build: latest, current, a commit, tag or branch, @TIME, BRANCH@TIME, or "
        "COMPONENT:REV,… (default: current)",
    )
    parser.add_argument(
        "--source-path",
        metavar="PATH",
        help="a checkout of the engine, or the URL of its git repository (default: that of the vendor)",
    )
    parser.add_flag("--source-build-release", help="build a release in place of a snapshot")
    parser.add_argument("--source-repository", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--source-cache-days",
        type=values.count,
        metavar="DAYS",
        default=DEFAULT_CACHE_DAYS,
        help=f"remove builds that were not used for so long; 0 keeps none (default: {DEFAULT_CACHE_DAYS})",
    )


def engine_from_sources(options: argparse.Namespace) -> EngineOptions:
    """Returns the engine that is built from the sources that the options describe. Raises UsageError."""
    distribution = options.distribution or source_distribution(options.revision, options.source_path)
    engine = replace(engine_options(options), distribution=distribution, distribution_version="")
    return replace(engine, source=source_options(options, distribution))


def source_options(options: argparse.Namespace, distribution: str) -> SourceOptions:
    """Returns the sources of a distribution that the options describe."""
    recipe = RECIPES.get(distribution)
    configured = options.source_repository if recipe is not None and recipe.in_rally_ini else ""
    return SourceOptions(
        revision=options.revision or SourceOptions().revision,
        source_path=options.source_path or configured,
        source_build_release=options.source_build_release,
        source_cache_days=options.source_cache_days,
        plugins=plugin_sources(options.rally),
    )


def plugin_sources(rally: RallySettings) -> dict[str, PluginSources]:
    """Returns the sources of plugins that `rally.ini` describes, by the name of the plugin."""
    given = rally.source_plugins
    names = dict.fromkeys(key.partition(".")[0] for key in given)
    return {name: _plugin_sources(name, rally) for name in names}


def _plugin_sources(name: str, rally: RallySettings) -> PluginSources:
    given = {key: rally.source_plugins.get(f"{name}.{key}", "") for key in _PLUGIN_KEYS}
    below = given["src.subdir"] and str(Path(rally.source_root).expanduser() / given["src.subdir"])
    return PluginSources(
        url=given["remote.repo.url"],
        path=given["src.dir"] or below,
        command=given["build.command"],
        artifacts=given["build.artifact.subdir"],
    )
