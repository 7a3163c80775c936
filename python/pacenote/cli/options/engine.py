"""Pipelines, and the options that select and configure the engine to start, shared by several commands."""

from __future__ import annotations

import argparse
import os
from typing import Any

from pacenote.cli.options import values
from pacenote.cli.options.archive import (
    ARCHIVE_OPTIONS,
    add_archive_options,
    archive_options,
    archived_engine,
)
from pacenote.cli.options.cars import CAR_OPTIONS, add_car_options, car_fields
from pacenote.cli.options.nodes import NODE_OPTIONS, add_node_options, node_options
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.engine import DEFAULT_CLUSTER_NAME, DEFAULT_DISTRIBUTION, ENGINE_APIS
from pacenote.model.engine_options import EngineOptions
from pacenote.units import whole_number

PIPELINES = {
    "from-distribution": "install and start an engine on this host, race, stop it",
    "from-sources": "build an engine from its sources, start it on this host, race, stop it",
    "docker": "start an engine in a container on this host, race, stop it",
    "benchmark-only": "race against an existing cluster",
}
"""Pipelines and their descriptions."""

ENGINE_OPTIONS = (
    "distribution",
    "distribution_version",
    *ARCHIVE_OPTIONS,
    *CAR_OPTIONS,
    "runtime_jdk",
    "cluster_name",
    "preserve_install",
    *NODE_OPTIONS,
)
"""Options that have no effect on an existing cluster; Rally ignores them silently."""

SELECTING_OPTIONS = (
    *("distribution", "distribution_version", "car", "elasticsearch_plugins", "runtime_jdk"),
    *ARCHIVE_OPTIONS,
    *NODE_OPTIONS,
)
"""Options that show that an engine is to be started, also if there are target hosts."""

_DEFAULTS: tuple[object, ...] = (None, "", False, {}, [], (), "defaults", DEFAULT_CLUSTER_NAME)


def add_engine_options(parser: Parser) -> None:
    """Adds the options that select and configure the engine to start."""
    parser.add_argument(
        "--distribution",
        metavar="NAME",
        help=f"engine to start: {' or '.join(ENGINE_APIS)} (default: implied by the version, otherwise "
        f"{DEFAULT_DISTRIBUTION})",
    )
    parser.add_argument(
        "--distribution-version",
        help="version of the engine, such as 9.5.3 (default: depends on --distribution)",
    )
    add_archive_options(parser)
    add_car_options(parser)
    parser.add_argument(
        "--runtime-jdk",
        type=jdk,
        metavar="JDK",
        help="JDK that runs the engine: its major version, its folder, or bundled (default: chosen for the "
        "engine)",
    )
    parser.add_argument(
        "--cluster-name",
        metavar="NAME",
        default=DEFAULT_CLUSTER_NAME,
        help=f"name of the cluster to start (default: {DEFAULT_CLUSTER_NAME})",
        harmless=True,
    )
    parser.add_flag(
        "--preserve-install",
        help="keep the folders of the nodes and their data; the engine is still stopped",
        harmless=True,
    )
    add_node_options(parser)


def add_maven_mirror(parser: Parser) -> None:
    """Adds the option for the server of the engines' artifacts."""
    parser.add_argument(
        "--maven-mirror",
        metavar="URL",
        help="download engines from here instead of Maven Central (default: $PACENOTE_MAVEN_MIRROR)",
    )


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Returns whether an option of the engine was given a value other than its default."""
    return getattr(options, name, None) not in _DEFAULTS


def engine_options(options: argparse.Namespace) -> EngineOptions:
    """Returns the engine that the options describe. Raises UsageError for an unknown distribution.

    Commands need not have all options; what is missing has its default.
    """
    archive = archive_options(options)
    given: dict[str, Any] = {
        **selected_engine(
            getattr(options, "distribution", None), getattr(options, "distribution_version", None), archive
        ),
        "archive": archive,
        **car_fields(options),
        **{
            name: getattr(options, name, None)
            for name in ("cluster_name", "runtime_jdk", "preserve_install", "data")
        },
        "nodes": node_options(options),
        "maven_mirror": options.maven_mirror or os.environ.get("PACENOTE_MAVEN_MIRROR"),
    }
    return EngineOptions(**{name: value for name, value in given.items() if value})


def selected_engine(distribution: str | None, version: str | None, archive: ArchiveOptions) -> dict[str, str]:
    """Returns the distribution and its version, by field of the options.

    An option that is missing follows from the other one, or from the name of an archive; the result is empty
    if no option is given. Raises UsageError for an unknown distribution.
    """
    if archive.location is not None:
        distribution, version = archived_engine(archive.location, distribution, version)
    if not distribution and not version:
        return {}
    from pacenote.provision.distributions.registry import default_version, implied_distribution

    distribution = distribution or implied_distribution(version or "")
    version = version or default_version(distribution)
    return {"distribution": distribution, "distribution_version": version}


def jdk(text: str) -> int | str:
    """Returns `--runtime-jdk`: a major version, `bundled`, or the absolute path of a JDK.

    Raises UsageError.
    """
    if (major := whole_number(text)) is not None:
        return major
    if text == "bundled":
        return text
    if "/" in text or os.path.isdir(text):  # noqa: PTH112  # never fails
        return str(values.path(text).absolute())
    raise UsageError(
        f"--runtime-jdk must be a major version such as 21, 'bundled', or the folder of a JDK, not '{text}'"
    )
