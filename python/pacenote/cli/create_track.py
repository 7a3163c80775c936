"""`pacenote create-track`: a track from the indices or data streams of a live cluster."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.progress import watch
from pacenote.errors import Interrupted, UsageError
from pacenote.track.params import parse_list

LATER: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """Rally's options of `create-track`."""
    parser.add_argument("--track", required=True, help="name of the new track")
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--indices", help="names or patterns of indices: a,b-*")
    chosen.add_argument("--data-streams", help="names or patterns of data streams: a,b-*")
    parser.add_argument(
        "--batch-size", type=values.positive, default=1000, help="documents read at once (default: 1000)"
    )
    parser.add_argument(
        "--target-hosts",
        type=values.hosts,
        default=("127.0.0.1:9200",),
        help="the cluster: host:port,host2:port (default: 127.0.0.1:9200)",
    )
    parser.add_argument(
        "--client-options",
        type=values.client_options,
        default="",
        help="k:v,k2:v2 or JSON: timeout in seconds (60), basic_auth_user, basic_auth_password, api_key",
    )
    parser.add_argument(
        "--output-path",
        type=values.path,
        default=Path("tracks"),
        help="folder for the track's folder (default: ./tracks)",
    )
    parser.add_flag("--offline", help="accepted for Rally's sake")
    parser.add_flag("--quiet", help="show no progress")


def run(options: argparse.Namespace, console: Console) -> int:
    """Creates the track and says how to race it. Raises UsageError, EngineError and StoreError."""
    if not re.fullmatch(r"[\w][\w.-]*", options.track):
        raise UsageError(
            f"--track cannot be '{options.track}'",
            hint="use letters, digits, '.', '_' and '-': it names a folder",
        )
    create = importlib.import_module("pacenote.capture.create")
    wanted = create.TrackWanted(
        name=options.track,
        folder=options.output_path.absolute() / options.track,
        indices=_names(options.indices, "--indices"),
        data_streams=_names(options.data_streams, "--data-streams"),
        batch=options.batch_size,
    )
    try:
        with watch(console) as listener:
            folder = create.create_track(wanted, _client(options), listener.preparing, console.warning)
    except KeyboardInterrupt as cause:
        raise Interrupted("interrupted", hint="the same command goes on where it stood") from cause
    console.result(f"track '{options.track}' is in {folder}; race it with --track-path={folder}\n")
    return 0


def _names(text: str | None, option: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in parse_list(text or "", option))
    if text is not None and not names:
        raise UsageError(f"{option} names nothing", hint=f"for example {option}=books,authors")
    return names


def _client(options: argparse.Namespace) -> object:
    from pacenote.cluster.cluster import existing_cluster
    from pacenote.cluster.wire import Access

    given = options.client_options
    access = Access.basic(*given["basic_auth"]) if "basic_auth" in given else None
    if "api_key" in given:
        access = Access.api_key(given["api_key"])
    return existing_cluster(options.target_hosts, given["timeout_s"], access=access).rest()
