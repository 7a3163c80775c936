"""`pacenote create-track`: creates a track from indices or data streams of a cluster."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.clients import HELP, client_options
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted, UsageError
from pacenote.model.shell_command import shell_command
from pacenote.system.paths import is_link, real_path
from pacenote.track.params import parse_list

_DEFAULT_FOLDER = Path("tracks")
"""Where tracks are created, in the working folder."""

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `create-track`."""
    parser.add_argument("--track", required=True, help="name of the new track")
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--indices", help="names or patterns of indices: a,b-*")
    chosen.add_argument("--data-streams", help="names or patterns of data streams: a,b-*")
    parser.add_argument(
        "--batch-size",
        type=values.positive,
        default=1000,
        help="documents per read request (default: 1000)",
        harmless=True,
    )
    parser.add_argument(
        "--target-hosts",
        type=values.hosts,
        default={values.DEFAULT_CLUSTER: ("127.0.0.1:9200",)},
        help="the cluster: host:port,host2:port (default: 127.0.0.1:9200)",
    )
    parser.add_argument(
        "--client-options",
        type=client_options,
        default="",
        help=HELP,
    )
    parser.add_argument(
        "--output-path",
        type=values.path,
        default=_DEFAULT_FOLDER,
        help="folder in which the folder of the track is created (default: ./tracks)",
    )
    parser.add_flag("--offline", help="no effect; accepted because Rally has it", harmless=True)
    parser.add_flag("--quiet", help="show no progress", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Creates the track and prints how to race it. Raises UsageError, EngineError and StoreError."""
    if not re.fullmatch(r"[\w][\w.-]*", options.track):
        raise UsageError(
            f"--track cannot be '{options.track}'",
            hint="use letters, digits, '.', '_' and '-': it names a folder",
        )
    if options.output_path == _DEFAULT_FOLDER and is_link(options.output_path):
        raise UsageError(
            f"{options.output_path} in the working folder is a link, which its author may have put there",
            hint="if the documents may be written to the folder to which it leads, name that: "
            + shell_command("--output-path", str(real_path(options.output_path))),
        )
    create = importlib.import_module("pacenote.capture.create")
    request = create.CaptureRequest(
        name=options.track,
        folder=options.output_path.absolute() / options.track,
        indices=_names(options.indices, "--indices"),
        data_streams=_names(options.data_streams, "--data-streams"),
        batch_size=options.batch_size,
    )
    try:
        with progress_listener(console) as listener:
            folder = create.create_track(
                request, _client(options, console), listener.preparing, console.warning
            )
    except KeyboardInterrupt as cause:
        raise Interrupted("interrupted", hint="run the same command again to continue") from cause
    what = "indices" if options.indices is not None else "data streams"
    path = shell_command(f"--track-path={folder}")
    console.result_without_secrets(
        f"created track '{options.track}' in {folder}; race it with {path}\n"
        f"a race of it first deletes {what} of the same names: do not race it against this cluster\n"
    )
    return 0


def _names(text: str | None, option: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in parse_list(text or "", option))
    if text is not None and not names:
        raise UsageError(f"{option} is empty", hint=f"for example {option}=books,authors")
    return names


def _client(options: argparse.Namespace, console: Console) -> object:
    from pacenote.cluster.cluster import existing_cluster

    if len(options.target_hosts) > 1:
        raise UsageError(
            "--target-hosts must be one cluster", hint="a track is created from the indices of one cluster"
        )
    client = options.client_options.for_clusters(options.target_hosts)[values.DEFAULT_CLUSTER]
    hosts = options.target_hosts[values.DEFAULT_CLUSTER]
    cluster = existing_cluster(hosts, client, client.timeout_s)
    for text in (*client.remarks, *cluster.warnings()):
        console.warning(text)
    return cluster.rest()
