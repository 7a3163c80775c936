"""Loads a track: from its files to its model."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted, quoted_list
from pacenote.model.problems import Problem, Problems
from pacenote.model.secrets import redact, secret_values
from pacenote.model.track import Track
from pacenote.track.includes import assemble
from pacenote.track.parse import parse_track
from pacenote.track.render import RESERVED_NAMES, Renderer, RenderOptions, unused_params_message
from pacenote.track.rendered import RenderedTrack
from pacenote.track.source import TrackSource
from pacenote.units import format_count

PLUGIN_FILE = "track.py"
"""The file of a track's Python plug-in."""

_OSB_PLUGIN_FILE = "workload.py"


def load_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> Track:
    """Returns the model of a track.

    Raises `TrackError`: immediately for text that cannot be rendered or is not JSON, otherwise with all
    problems of the track and its parameters, each with its location.
    """
    with _redacting(params) as secrets:
        return _load(source, params, options, secrets)


@contextlib.contextmanager
def _redacting(params: Mapping[str, Any]) -> Generator[frozenset[str], None, None]:
    """Redacts secret parameters in errors, and yields the secrets."""
    secrets = secret_values(params)
    try:
        yield secrets
    except TrackError as error:
        if not secrets:
            raise
        # The traceback of the original error would contain the secrets.
        raise TrackError(
            redact(error.message, secrets),
            problems=tuple(redact(problem, secrets) for problem in error.problems),
            hint=error.hint,
        ) from None


def _load(
    source: TrackSource, params: Mapping[str, Any], options: RenderOptions, secrets: frozenset[str]
) -> Track:
    renderer = Renderer(source, params, options)
    rendered = _rendered(source, renderer, params)
    problems = Problems()
    root = FieldReader(rendered.parsed(), (), problems)
    track = parse_track(root, source.name, source.root, renderer.body)
    messages = [*_osb_plugin_problem(source), *rendered.describe(problems)]
    reserved = sorted(RESERVED_NAMES & set(params))
    messages += [
        f"{quoted(name)} cannot be the name of a parameter: templates have a variable of that name"
        for name in reserved
    ]
    unused = () if options.ignore_unused else renderer.unused_params()
    if unused:
        messages.append(unused_params_message(unused, renderer.known_params()))
    if messages:
        raise _load_error(source, tuple(messages), _params_hint(renderer) if unused else "")

    def describe(later: Iterable[Problem]) -> tuple[str, ...]:
        return tuple(redact(text, secrets) for text in rendered.describe(later))

    plugin = source.root / PLUGIN_FILE
    if plugin.is_file():
        source.check(plugin)
    return dataclasses.replace(
        track,
        describe=describe,
        parameters=renderer.parameters,
        plugin=plugin if plugin.is_file() else None,
    )


def _osb_plugin_problem(source: TrackSource) -> list[str]:
    """Returns a problem if the track has a plug-in for another tool, without which it would behave
    differently.
    """
    if not (source.root / _OSB_PLUGIN_FILE).is_file():
        return []
    return [
        f"{_OSB_PLUGIN_FILE} is a plug-in for OpenSearch Benchmark; "
        f"Pacenote only runs those of Rally ({PLUGIN_FILE})"
    ]


def render_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> str:
    """Returns the rendered text of a track (`render-track`). Raises `TrackError` if rendering fails."""
    with _redacting(params):
        return _rendered(source, Renderer(source, params, options), params).text


def _rendered(source: TrackSource, renderer: Renderer, params: Mapping[str, Any]) -> RenderedTrack:
    assembled = assemble(source, source.file)
    return RenderedTrack(source, assembled, renderer.track(assembled), params)


def _load_error(source: TrackSource, problems: tuple[str, ...], hint: str) -> TrackError:
    name = f"track {quoted(source.name)}"
    if len(problems) == 1:
        return TrackError(f"{name}: {problems[0]}", problems=problems, hint=hint)
    return TrackError(f"{name} has {format_count(len(problems), 'problem')}", problems=problems, hint=hint)


def _params_hint(renderer: Renderer) -> str:
    known = quoted_list(sorted(renderer.known_params()))
    return f"parameters of the track: {known}; --ignore-unused-track-params accepts others"
