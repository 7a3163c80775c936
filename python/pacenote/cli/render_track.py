"""`pacenote render-track`: the JSON that the templates of a track render to."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.track import (
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import TrackError, UsageError
from pacenote.model.decoding import parse_json
from pacenote.model.output_text import json_text

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `render-track`."""
    add_source_options(parser)
    add_param_options(parser)
    add_flavor_options(parser)
    parser.add_argument(
        "--output-path", type=values.output_file, help="write to this file in place of standard output"
    )
    parser.add_flag(
        "--quiet",
        help="do not report where the track comes from or where the output is written",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the rendered track: formatted if it is JSON, otherwise unchanged, with a warning and code 64.

    Raises TrackError and UsageError.
    """
    from pacenote.cli.output.named_file import opened_named_file
    from pacenote.track.load import render_track
    from pacenote.track.locate import locate_track
    from pacenote.track.prepare import render_options

    request = track_request(options)
    located = locate_track(request, console.step)
    for text in located.warnings:
        console.warning(text)
    text = render_track(located.source, request.track_params, render_options(request))
    code = 0
    try:
        text = json_text(parse_json(text))
    except ValueError as error:
        code = TrackError.exit_code
        console.warning(f"not valid JSON: {error}; `pacenote validate-track` shows where it comes from")
    if options.output_path is None:
        console.result(text)
        return code
    try:
        with opened_named_file(options.output_path, "w") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"--output-path {options.output_path} cannot be written: {error.strerror}"
        ) from error
    console.progress(f"track {located.source.name} rendered to {options.output_path}")
    return code
