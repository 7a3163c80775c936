"""`pacenote render-track`: the JSON that a track's templates make of its parameters."""

from __future__ import annotations

import argparse
import json
from typing import NoReturn

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.tables import json_text
from pacenote.cli.track_options import (
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.errors import TrackError, UsageError

LATER: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """Rally's options of `render-track`."""
    add_source_options(parser)
    add_param_options(parser)
    add_flavor_options(parser)
    parser.add_argument("--output-path", type=values.path, help="write to this file, not to standard output")
    parser.add_flag("--quiet", help="say nothing about where the track comes from and goes")


def run(options: argparse.Namespace, console: Console) -> int:
    """Renders the track as JSON, or as it is where it is none, which the exit code tells too. Raises
    TrackError and UsageError.
    """
    from pacenote.track.load import render_track
    from pacenote.track.prepare import locate_track, render_options

    request = track_request(options)
    found = locate_track(request, console.progress)
    for text in found.warnings:
        console.warning(text)
    text = render_track(found.source, request.track_params, render_options(request))
    code = 0
    try:
        text = json_text(json.loads(text, parse_constant=_no_number))
    except (ValueError, RecursionError) as error:
        code = TrackError.exit_code
        console.warning(f"this is no valid JSON: {error}; `pacenote validate-track` says where it comes from")
    if options.output_path is None:
        console.result(text)
        return code
    try:
        options.output_path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"--output-path {options.output_path} cannot be written: {error.strerror}"
        ) from error
    console.progress(f"track {found.source.name} rendered to {options.output_path}")
    return code


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")
