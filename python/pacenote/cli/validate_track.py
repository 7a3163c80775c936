"""`pacenote validate-track`: checks a track as far as possible without a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.track_options import (
    add_challenge_option,
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.cli.unavailable import UnavailableOption
from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.track import Track
from pacenote.units import format_count

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `validate-track`."""
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_flavor_options(parser)
    parser.add_flag("--quiet", help="print nothing if the track is valid")


def run(options: argparse.Namespace, console: Console) -> int:
    """Loads the track and plans all its challenges, or the one of `--challenge`. Raises TrackError."""
    from pacenote.track.prepare import for_build_flavor, load_selected_track

    request = track_request(options)
    wanted = load_selected_track(request, console.progress)
    for text in wanted.located.warnings:
        console.warning(text)
    track = for_build_flavor(wanted.track, request)
    challenges = [track.challenge(options.challenge)] if options.challenge else track.challenges
    names = [challenge.name for challenge in challenges]
    if track.plugin is None:
        _plan(track, names, lambda _: track, NO_PLUGINS)
    else:
        _plan_with_plugins(track, names, options, console)
    if not options.quiet:
        counted = format_count(len(challenges), "challenge")
        tasks = format_count(sum(1 for challenge in challenges for _ in challenge.tasks()), "task")
        console.result_without_secrets(f"track {quoted(track.name)} is valid: {counted}, {tasks}\n")
    return 0


def _plan_with_plugins(
    track: Track, challenges: Sequence[str], options: argparse.Namespace, console: Console
) -> None:
    request = track_request(options)
    # Imported only for tracks with Python code.
    from pacenote.race.plugins import track_plugins

    with track_plugins(
        track,
        request.home,
        offline=request.offline,
        warn=console.warning,
        in_copy=options.owns_process,
    ) as plugins:
        assert plugins is not None

        def changed(challenge: str) -> Track:
            plugins.validate(challenge, request.track_params)
            return plugins.after_load(track, challenge)

        _plan(track, challenges, changed, plugins.names)


def _plan(
    track: Track, challenges: Sequence[str], changed: Callable[[str], Track], plugins: PluginNames
) -> None:
    """Plans challenges of the track as `changed` returns it. Raises TrackError with the problems of all."""
    from pacenote.plan.build import PlanContext, PlanSettings, build_plan

    settings = PlanSettings(race_id="validation", seed=0, hosts=())
    problems: dict[str, None] = {}
    hints: dict[str, None] = {}
    for challenge in challenges:
        try:
            build_plan(changed(challenge), challenge, settings, PlanContext(plugins=plugins))
        except TrackError as error:
            problems |= dict.fromkeys(error.problems or (error.message,))
            hints |= dict.fromkeys([error.hint] if error.hint else [])
    if problems:
        counted = format_count(len(problems), "problem")
        raise TrackError(
            f"track {quoted(track.name)} has {counted}", problems=tuple(problems), hint="; ".join(hints)
        )
