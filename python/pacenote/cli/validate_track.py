"""`pacenote validate-track`: everything that can be known of a track without a cluster."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.track_options import (
    add_challenge_option,
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.errors import TrackError
from pacenote.model.names import quoted
from pacenote.model.track import Challenge, Track
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.track.prepare import allowed, load_wanted
from pacenote.units import format_count

LATER: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """Rally's options of `validate-track`."""
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_flavor_options(parser)
    parser.add_flag("--quiet", help="print nothing when all is well")


def run(options: argparse.Namespace, console: Console) -> int:
    """Loads the track and plans its challenges, or the one that is named. Raises TrackError."""
    request = track_request(options)
    wanted = load_wanted(request, console.progress)
    for text in wanted.found.warnings:
        console.warning(text)
    track = allowed(wanted.track, request)
    challenges = [track.challenge(options.challenge)] if options.challenge else track.challenges
    planned = track.plugin is None
    if planned:
        _plan(track, challenges)
    if not options.quiet:
        counted = format_count(len(challenges), "challenge")
        tasks = format_count(sum(1 for challenge in challenges for _ in challenge.tasks()), "task")
        unplanned = "" if planned else "; what its Python code does is only known when it runs"
        console.result(f"track {quoted(track.name)} is valid: {counted}, {tasks}{unplanned}\n")
    return 0


def _plan(track: Track, challenges: list[Challenge] | tuple[Challenge, ...]) -> None:
    settings = PlanSettings(race_id="validation", seed=0, hosts=())
    problems: dict[str, None] = {}
    hints: dict[str, None] = {}
    for challenge in challenges:
        try:
            build_plan(track, challenge.name, settings, PlanContext())
        except TrackError as error:
            problems |= dict.fromkeys(error.problems or (error.message,))
            hints |= dict.fromkeys([error.hint] if error.hint else [])
    if problems:
        counted = format_count(len(problems), "problem")
        raise TrackError(
            f"track {quoted(track.name)} has {counted}", problems=tuple(problems), hint="; ".join(hints)
        )
