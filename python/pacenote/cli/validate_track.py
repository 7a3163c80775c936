"""`pacenote validate-track`: checks a track as far as possible without a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from pacenote.cli.console import Console
from pacenote.cli.options.track import (
    add_challenge_option,
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.plugin_names import PluginNames
from pacenote.model.shell_command import shell_command
from pacenote.model.track import Track
from pacenote.units import format_count

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `validate-track`."""
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_flavor_options(parser)
    parser.add_flag("--quiet", help="print nothing if the track is valid", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Loads the track and plans the chosen or default challenge, and raises TrackError with its problems.

    Without `--challenge`, it also plans the others, and warns about their problems: they may need parameters.
    """
    from pacenote.track.prepare import for_build_flavor, load_selected_track

    request = track_request(options)
    wanted = load_selected_track(request, console.step)
    for text in wanted.located.warnings:
        console.warning(text)
    track = for_build_flavor(wanted.track, request)
    chosen = track.challenge(options.challenge).name
    others = [] if options.challenge else [each.name for each in track.challenges if each.name != chosen]
    valid = _valid_in(track, [chosen, *others], options, console)
    if not options.quiet:
        counted = format_count(len(valid), "challenge")
        tasks = format_count(sum(1 for name in valid for _ in track.challenge(name).tasks()), "task")
        console.result_without_secrets(f"track {quoted(track.name)} is valid: {counted}, {tasks}\n")
    return 0


def _valid_in(
    track: Track, challenges: Sequence[str], options: argparse.Namespace, console: Console
) -> list[str]:
    """Plans challenges with the plug-ins of the track, if it has any, and returns those without problems.

    Raises TrackError if the first has any, and warns about the others.
    """
    from pacenote.race.plugins import plugin_names, track_plugins

    request = track_request(options)

    with track_plugins(
        track,
        request.home,
        offline=request.offline,
        warn=console.warning,
        in_copy=options.owns_process,
    ) as plugins:

        def changed(challenge: str) -> Track:
            if plugins is None:
                return track
            plugins.validate(challenge, request.track_params)
            return plugins.after_load(track, challenge)

        return _valid_challenges(challenges, _planner(changed, plugin_names(plugins)), console)


def _valid_challenges(challenges: Sequence[str], plan: Callable[[str], None], console: Console) -> list[str]:
    """Plans challenges and returns those without problems.

    Raises TrackError if the first has any, and warns about the others.
    """
    chosen, *others = challenges
    plan(chosen)
    valid = [chosen]
    for challenge in others:
        try:
            plan(challenge)
            valid.append(challenge)
        except TrackError as error:
            problems = error.problems or (error.message,)
            option = shell_command(f"--challenge={challenge}")
            more = f" (and {len(problems) - 1} more: {option})" if len(problems) > 1 else ""
            console.warning(f"challenge {quoted(challenge)} cannot run: {problems[0]}{more}")
    return valid


def _planner(changed: Callable[[str], Track], plugins: PluginNames) -> Callable[[str], None]:
    """Returns a function that plans a challenge of the track as `changed` returns it, and raises TrackError
    with all its problems.
    """
    from pacenote.plan.build import PlanContext, PlanSettings, build_plan

    settings = PlanSettings(race_id="validation", seed=0, hosts=())

    def plan(challenge: str) -> None:
        track = changed(challenge)
        try:
            build_plan(track, challenge, settings, PlanContext(plugins=plugins))
        except TrackError as error:
            problems = tuple(dict.fromkeys(error.problems or (error.message,)))
            counted = format_count(len(problems), "problem")
            raise TrackError(
                f"challenge {quoted(challenge)} of track {quoted(track.name)} has {counted}",
                problems=problems,
                hint=error.hint,
            ) from error

    return plan
