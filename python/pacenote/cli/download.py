"""`pacenote download`: downloads an engine or the data of a track before a race needs them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
from pathlib import Path

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.engine_options import jdk, selected_engine
from pacenote.cli.parser import Parser
from pacenote.cli.progress import progress_listener
from pacenote.cli.track_options import (
    add_challenge_option,
    add_corpus_options,
    add_filter_options,
    add_param_options,
    add_source_options,
    track_fields,
)
from pacenote.cli.unavailable import TEAM_OPTIONS, unavailable_options
from pacenote.errors import Interrupted, UsageError
from pacenote.model.race_request import RaceRequest
from pacenote.store.home import default_home
from pacenote.track.params import parse_list

UNAVAILABLE_OPTIONS = unavailable_options((
    *TEAM_OPTIONS,
    *("--distribution-repository", "--target-os", "--target-arch"),
))


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `download`, and those that name a track."""
    # Imported here because it takes 0.1 s.
    from pacenote.provision.distributions.registry import DISTRIBUTIONS

    parser.add_argument(
        "--distribution",
        help=f"engine: {' or '.join(DISTRIBUTIONS)} (default: implied by the version)",
    )
    parser.add_argument("--distribution-version", help="version of the engine, such as 7.17.28")
    parser.add_argument(
        "--runtime-jdk", type=jdk, help="major version of the JDK to run the engine on, or 'bundled'"
    )
    parser.add_argument(
        "--car", metavar="NAME,…", default="", help="no effect: all cars use the same download"
    )
    parser.add_argument(
        "--car-params", type=values.car_params, default="", help="no effect: all cars use the same download"
    )
    parser.add_argument(
        "--maven-mirror",
        metavar="URL",
        help="download artifacts from here instead of Maven Central (default: $PACENOTE_MAVEN_MIRROR)",
    )
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_filter_options(parser)
    parser.add_flag("--test-mode", help="download only the small files that a race with --test-mode uses")
    add_corpus_options(parser)
    parser.add_flag("--quiet", help="show no progress")


def run(options: argparse.Namespace, console: Console) -> int:
    """Downloads what the options name and prints the paths as JSON. Raises PacenoteError."""
    engine = selected_engine(options.distribution, options.distribution_version)
    wants_track = options.track is not None or options.track_path is not None
    if not engine and not wants_track:
        raise UsageError(
            "nothing to download", hint="give --distribution-version=7.17.28, --track=NAME, or both"
        )
    _check_car(options, console)
    request = RaceRequest(
        race_id="download",
        home=default_home(),
        runtime_jdk=options.runtime_jdk,
        corpus=options.corpus,
        corpus_documents=options.corpus_documents,
        corpus_mirrors=options.corpus_mirror,
        dataset_cache=options.dataset_cache,
        test_mode=options.test_mode,
        maven_mirror=options.maven_mirror or os.environ.get("PACENOTE_MAVEN_MIRROR") or None,
        **(track_fields(options) if wants_track else {"offline": options.offline}),
        **engine,
    )
    prefetch = importlib.import_module("pacenote.race.prefetch")
    paths: dict[str, object] = {}
    try:
        with progress_listener(console) as listener:
            if engine:
                paths[request.distribution] = str(prefetch.prefetch_engine(request, listener.preparing))
            if wants_track:
                files: dict[str, list[Path]] = prefetch.prefetch_corpora(request, listener.preparing)
                paths["corpora"] = {
                    name: [str(path) for path in file_paths] for name, file_paths in files.items()
                }
    except KeyboardInterrupt as cause:
        raise Interrupted("interrupted", hint="run the same command again to continue") from cause
    console.result_without_secrets(json.dumps(paths, indent=2) + "\n")
    return 0


def _check_car(options: argparse.Namespace, console: Console) -> None:
    """Warns that a car has no effect. Raises UsageError for a car that a race would reject."""
    names = [str(name) for name in parse_list(options.car, "--car")]
    given = [name for name, value in (("--car", names), ("--car-params", options.car_params)) if value]
    if not given:
        return
    from pacenote.provision.cars import compose_car

    compose_car(names, options.car_params)
    if names != ["defaults"] or options.car_params:
        for option in given:
            console.warning(f"{option} has no effect: all cars use the same download")
