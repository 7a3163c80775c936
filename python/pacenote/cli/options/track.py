"""Options that select a track, its parameters, tasks and data, shared by all commands that load one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from typing import Any

from pacenote.cli.options import values
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.track_request import TrackRequest
from pacenote.store.home import default_home
from pacenote.track.params import parse_list

BUILD_FLAVORS = ("default", "serverless")


def add_source_options(parser: Parser) -> None:
    """Adds the options that select the track: by name, from a repository, or by path."""
    with parser.group("track"):
        parser.add_argument("--track", metavar="NAME", help="name of the track")
        parser.add_argument("--track-path", type=values.path, help="folder or file of a local track")
        parser.add_argument(
            "--track-repository",
            metavar="NAME",
            help="name or URL of its git repository, or `bundled` (default: default if it is configured or "
            "cloned, then bundled)",
        )
        parser.add_argument(
            "--track-revision",
            help="commit, branch or tag of the repository (default: the branch for the engine)",
        )
    with parser.group("advanced"):
        parser.add_flag(
            "--allow-outside-paths", help="accept paths and links of the track that lead out of its folder"
        )
        parser.add_flag("--offline", help="download nothing", harmless=True)


def add_param_options(parser: Parser) -> None:
    """Adds the options for the parameters of the track's templates."""
    with parser.group("track"):
        parser.add_argument(
            "--track-params",
            type=values.track_params,
            default="",
            help="parameters of the track: k:v,k2:v2, inline JSON or a .json file (default: none)",
        )
        parser.add_flag(
            "--ignore-unused-track-params",
            help="accept parameters that the track does not use",
            harmless=True,
        )


def add_challenge_option(parser: Parser) -> None:
    """Adds the option that selects the challenge."""
    with parser.group("track"):
        parser.add_argument(
            "--challenge",
            metavar="NAME",
            help="challenge of the track (default: the track's default)",
            harmless=True,
        )


def add_filter_options(parser: Parser) -> None:
    """Adds the options that select the tasks."""
    with parser.group("track"):
        parser.add_argument(
            "--include-tasks",
            help="run only these tasks: names, type:OPERATION-TYPE, tag:TAG, … (default: all)",
            harmless=True,
        )
        parser.add_argument(
            "--exclude-tasks", help="run all tasks except these (default: none)", harmless=True
        )


def add_flavor_options(parser: Parser) -> None:
    """Adds the options for the kind of cluster that the track is rendered for."""
    with parser.group("advanced"):
        parser.add_argument(
            "--build-flavor",
            choices=BUILD_FLAVORS,
            default="default",
            help=f"flavor of the cluster: {' or '.join(BUILD_FLAVORS)} (default: default)",
            harmless=True,
        )
        parser.add_flag(
            "--serverless-operator",
            help="on serverless, also run operations that are reserved for its operator (default: as the "
            "cluster reports)",
        )
        parser.set_defaults(serverless_operator=None)


def track_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the values of the options above by field of a race or track request.

    Leaves out options that the command does not have. Raises UsageError for options that exclude each other.
    """
    given = vars(options)
    _check(given)
    fields = {name: given[name] for name in _COPIED_FIELDS if name in given}
    for name in ("include_tasks", "exclude_tasks"):
        if name in given:
            option = f"--{name.replace('_', '-')}"
            fields[name] = tuple(str(item) for item in parse_list(given[name] or "", option))
    return fields


def track_request(options: argparse.Namespace) -> TrackRequest:
    """Returns the track that the options select. Raises UsageError for options that exclude each other."""
    return TrackRequest(home=default_home(), **track_fields(options))


_COPIED_FIELDS = (
    "repository_urls",
    "rally_tracks",
    "track",
    "track_path",
    "track_repository",
    "track_revision",
    "track_params",
    "offline",
    "allow_outside_paths",
    "ignore_unused_track_params",
    "challenge",
    "build_flavor",
    "serverless_operator",
)


def check_source(given: Mapping[str, Any], others: Iterable[str]) -> None:
    """Raises UsageError if `--track-path` is given together with one of the `others`."""
    for name in others if given["track_path"] is not None else ():
        if given[name] is not None:
            raise UsageError(
                f"give either --{name.replace('_', '-')} or --track-path, not both",
                hint="--track-path alone selects the track",
            )


def _check(given: Mapping[str, Any]) -> None:
    if given["track_path"] is None and given["track"] is None:
        raise UsageError("give either --track or --track-path", hint="`pacenote list tracks` lists tracks")
    check_source(given, ("track", "track_repository", "track_revision"))
    if given.get("include_tasks") and given.get("exclude_tasks"):
        raise UsageError("give either --include-tasks or --exclude-tasks, not both")


def add_corpus_options(parser: Parser) -> None:
    """Adds the options for the source and the folder of the data."""
    with parser.group("track"):
        parser.add_argument(
            "--corpus",
            choices=("declared", "as-is", "generated"),
            metavar="SOURCE",
            help="data: declared, as-is (existing files, unchecked) or generated (default: declared, or the "
            "track's generator)",
        )
        parser.add_argument(
            "--corpus-documents",
            type=values.positive,
            metavar="N",
            help="maximum number of documents generated for a corpus (default: 1000000)",
            harmless=True,
        )
    with parser.group("advanced"):
        parser.add_argument(
            "--corpus-mirror",
            type=values.mirrors,
            default=os.environ.get("PACENOTE_CORPUS_MIRROR", ""),
            metavar="URL,…",
            help="try URL, or PREFIX=URL, before the URLs of the corpora (default: $PACENOTE_CORPUS_MIRROR)",
        )
        parser.add_argument(
            "--dataset-cache",
            type=values.path,
            metavar="FOLDER",
            help="folder of data files (default: Rally's data folder if it exists, otherwise `corpora` in "
            "Pacenote's home)",
        )
