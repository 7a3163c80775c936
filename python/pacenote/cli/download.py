"""`pacenote download`: downloads an engine or the data of a track before a race needs them."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.archive import ARCHIVE_OPTIONS, add_archive_options
from pacenote.cli.options.cars import add_team_options
from pacenote.cli.options.engine import add_maven_mirror, engine_options, jdk
from pacenote.cli.options.track import (
    add_challenge_option,
    add_corpus_options,
    add_filter_options,
    add_param_options,
    add_source_options,
    track_fields,
)
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted, UsageError
from pacenote.model.engine import ENGINE_APIS
from pacenote.model.race_request import RaceRequest
from pacenote.store.home import default_home
from pacenote.track.params import parse_list

UNAVAILABLE_OPTIONS = unavailable_options(("--target-os", "--target-arch"))


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `download`, and those that name a track."""
    parser.add_argument(
        "--distribution",
        help=f"engine: {' or '.join(ENGINE_APIS)} (default: implied by the version)",
    )
    parser.add_argument("--distribution-version", help="version of the engine, such as 9.5.3")
    add_archive_options(parser)
    parser.add_argument(
        "--runtime-jdk",
        type=jdk,
        metavar="JDK",
        help="JDK to run the engine on: its major version, its folder, or bundled",
    )
    parser.add_argument(
        "--car", metavar="NAME,…", default="", help="no effect: all cars use the same download"
    )
    parser.add_argument(
        "--car-params", type=values.car_params, default="", help="no effect: all cars use the same download"
    )
    add_team_options(parser)
    add_maven_mirror(parser)
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_filter_options(parser)
    parser.add_flag(
        "--test-mode", help="download only the small files that a race with --test-mode uses", harmless=True
    )
    add_corpus_options(parser)
    parser.add_flag("--quiet", help="show no progress", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Downloads what the options name and prints the paths as JSON. Raises PacenoteError."""
    names = ("distribution", "distribution_version", *ARCHIVE_OPTIONS)
    wants_engine = any(getattr(options, name) for name in names)
    wants_track = options.track is not None or options.track_path is not None
    if not wants_engine and not wants_track:
        raise UsageError(
            "nothing to download", hint="give --distribution-version=7.17.28, --track=NAME, or both"
        )
    _check_car(options, console)
    request = RaceRequest(
        race_id="download",
        home=default_home(),
        engine=engine_options(options),
        corpus=options.corpus,
        corpus_documents=options.corpus_documents,
        corpus_mirrors=options.corpus_mirror,
        dataset_cache=options.dataset_cache,
        test_mode=options.test_mode,
        **(track_fields(options) if wants_track else {"offline": options.offline}),
    )
    prefetch = importlib.import_module("pacenote.race.prefetch")
    paths: dict[str, object] = {}
    try:
        with progress_listener(console) as listener:
            if wants_engine:
                paths[request.engine.distribution] = str(
                    prefetch.prefetch_engine(request, listener.preparing)
                )
            if wants_track:
                files: dict[str, list[Path]] = prefetch.prefetch_corpora(request, listener.preparing)
                paths["corpora"] = {
                    name: [str(path) for path in file_paths] for name, file_paths in files.items()
                }
    except KeyboardInterrupt as cause:
        raise Interrupted("interrupted", hint="run the same command again to continue") from cause
    console.result(json.dumps(console.redacted_value(paths), indent=2) + "\n")
    return 0


def _check_car(options: argparse.Namespace, console: Console) -> None:
    """Warns that a car has no effect. Raises UsageError for a car that a race would reject."""
    names = [str(name) for name in parse_list(options.car, "--car")]
    given = [name for name, value in (("--car", names), ("--car-params", options.car_params)) if value]
    if not given:
        return
    if options.team_path or options.team_repository:
        given.append("--team-path" if options.team_path else "--team-repository")
    else:
        from pacenote.provision.cars import compose_car

        compose_car(names, options.car_params)
    if names != ["defaults"] or options.car_params:
        for option in given:
            console.warning(f"{option} has no effect: all cars use the same download")
