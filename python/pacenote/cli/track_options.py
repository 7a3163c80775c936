"""Options that name a track, its parameters and a part of it: the same for every command that loads one."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from pacenote.cli import values
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.track_request import TrackRequest
from pacenote.store.home import default_home
from pacenote.track.params import parse_dict, parse_list

BUILD_FLAVORS = ("default", "serverless")


def add_source_options(parser: Parser) -> None:
    """Which track: by name, from a repository, or a path."""
    parser.add_argument("--track", help="name of the track")
    parser.add_argument("--track-path", type=values.path, help="folder or file of a track of your own")
    parser.add_argument(
        "--track-repository",
        metavar="NAME",
        help="git repository of the track: a name of the configuration, or a URL (without this option: the "
        "tracks that come along, then the repository 'default')",
    )
    parser.add_argument("--track-revision", help="revision of the repository: a commit, branch or tag")
    parser.add_flag("--offline", help="download nothing")


def add_param_options(parser: Parser) -> None:
    """What the track's templates are given."""
    parser.add_argument(
        "--track-params", default="", help="parameters of the track: k:v,k2:v2, inline JSON or a .json file"
    )
    parser.add_flag("--ignore-unused-track-params", help="accept parameters the track does not know")


def add_challenge_option(parser: Parser) -> None:
    """Which challenge."""
    parser.add_argument("--challenge", help="challenge of the track (default: the one the track says)")


def add_filter_options(parser: Parser) -> None:
    """Which tasks."""
    parser.add_argument(
        "--include-tasks", metavar="TASKS", help="run only these tasks: name, type:OPERATION-TYPE, tag:TAG, …"
    )
    parser.add_argument("--exclude-tasks", metavar="TASKS", help="run all tasks but these")


def add_flavor_options(parser: Parser) -> None:
    """For which kind of cluster the track is rendered."""
    parser.add_argument(
        "--build-flavor",
        choices=BUILD_FLAVORS,
        default="default",
        help="flavor of the cluster (default: default)",
    )
    parser.add_flag("--serverless-operator", help="on serverless, may do what only its operator may")


def track_fields(options: argparse.Namespace) -> dict[str, Any]:
    """What the options above say, by the fields of a race or track request; options that the command does not
    have are left out. Raises UsageError where they contradict each other.
    """
    given = vars(options)
    _check(given)
    fields = {name: given[name] for name in _AS_THEY_ARE if name in given}
    if "track_params" in given:
        fields["track_params"] = parse_dict(options.track_params, "--track-params")
    for name in ("include_tasks", "exclude_tasks"):
        if name in given:
            option = f"--{name.replace('_', '-')}"
            fields[name] = tuple(str(item) for item in parse_list(given[name] or "", option))
    return fields


def track_request(options: argparse.Namespace) -> TrackRequest:
    """The track that the options ask for. Raises UsageError where they contradict each other."""
    return TrackRequest(home=default_home(), **track_fields(options))


_AS_THEY_ARE = (
    "repository_urls",
    "track",
    "track_path",
    "track_repository",
    "track_revision",
    "offline",
    "ignore_unused_track_params",
    "challenge",
    "build_flavor",
    "serverless_operator",
)


def check_source(given: Mapping[str, Any], others: Iterable[str]) -> None:
    """Raises UsageError for a path of tracks beside other options that say where they are."""
    for name in others if given["track_path"] is not None else ():
        if given[name] is not None:
            raise UsageError(
                f"give either --{name.replace('_', '-')} or --track-path, not both",
                hint="--track-path says where the track is, all of it",
            )


def _check(given: Mapping[str, Any]) -> None:
    if given["track_path"] is None and given["track"] is None:
        raise UsageError(
            "give either --track or --track-path", hint="`pacenote list tracks` shows what there is"
        )
    check_source(given, ("track", "track_repository", "track_revision"))
    if given.get("include_tasks") and given.get("exclude_tasks"):
        raise UsageError("give either --include-tasks or --exclude-tasks, not both")
