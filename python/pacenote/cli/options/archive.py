"""The options that select the official archive of an engine, shared by several commands."""

from __future__ import annotations

import argparse
import os

from pacenote.cli.options import values
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.archive_options import ArchiveOptions

ARCHIVE_OPTIONS = ("distribution_repository", "distribution_archive")
"""Options that select an archive."""


def add_archive_options(parser: Parser) -> None:
    """Adds the options that select an archive, and the servers that have it."""
    parser.add_argument(
        "--distribution-repository",
        metavar="NAME",
        help="install the official archive from this repository: release, snapshot or one of [distributions] "
        "(default: none)",
    )
    parser.add_argument(
        "--distribution-archive",
        metavar="URL|FILE",
        help="install this official archive (default: none)",
    )
    parser.add_argument(
        "--archive-mirror",
        type=values.mirrors,
        default=os.environ.get("PACENOTE_ARCHIVE_MIRROR", ""),
        metavar="URL,…",
        help="try URL, or PREFIX=URL, before the addresses of archives (default: $PACENOTE_ARCHIVE_MIRROR)",
    )


def archive_options(options: argparse.Namespace) -> ArchiveOptions:
    """Returns the archive that the options describe. Raises UsageError."""
    from pacenote.provision.archives.addresses import archive_location

    repository = getattr(options, "distribution_repository", None)
    location = getattr(options, "distribution_archive", None)
    if repository and location:
        raise UsageError(
            "--distribution-repository and --distribution-archive exclude each other", hint="omit one of them"
        )
    return ArchiveOptions(
        repository=repository or None,
        location=archive_location(location) if location else None,
        mirrors=tuple(getattr(options, "archive_mirror", None) or ()),
        distributions=getattr(options, "distributions", {}),
    )


def archived_engine(location: str, distribution: str | None, version: str | None) -> tuple[str, str]:
    """Returns the name and the version of the engine in an archive: those that the options state, otherwise
    those in the name of the archive. Raises UsageError if they are unknown.
    """
    from pacenote.provision.archives.addresses import engine_of_archive
    from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
    from pacenote.provision.distributions.registry import implied_distribution

    named, named_version = engine_of_archive(location, OFFICIAL_ARCHIVES)
    distribution, version = distribution or named, version or named_version
    if version and not distribution:
        distribution = implied_distribution(version)
    if not distribution or not version:
        raise UsageError(
            "the name of the file in --distribution-archive does not state an engine and its version",
            hint="add --distribution-version",
        )
    return distribution, version
