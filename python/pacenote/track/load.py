"""Loading a track: from where it is to its model."""

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
"""The file of a track's Python plugin."""

_OTHER_PLUGIN = "workload.py"


def load_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> Track:
    """The model of a track.

    Raises `TrackError`: for text that cannot be rendered or is no JSON at once, otherwise with every
    problem of the track and of its parameters together, each with its place.
    """
    with _hiding(params) as secrets:
        return _load(source, params, options, secrets)


@contextlib.contextmanager
def _hiding(params: Mapping[str, Any]) -> Generator[frozenset[str], None, None]:
    """Keeps the secrets among the parameters out of errors."""
    secrets = secret_values(params)
    try:
        yield secrets
    except TrackError as error:
        if not secrets:
            raise
        # A trace of what this error came from would show what is hidden here.
        raise TrackError(
            redact(error.message, secrets),
            problems=tuple(redact(problem, secrets) for problem in error.problems),
            hint=error.hint,
        ) from None


def _load(
    source: TrackSource, params: Mapping[str, Any], options: RenderOptions, secrets: frozenset[str]
) -> Track:
    renderer = Renderer(source, params, options)
    rendered = _rendered(source, renderer)
    problems = Problems()
    root = FieldReader(rendered.parsed(), (), problems)
    track = parse_track(root, source.name, source.root, renderer.body)
    found = [*_other_plugin(source), *rendered.describe(problems)]
    taken = sorted(RESERVED_NAMES & set(params))
    found += [f"{quoted(name)} is no name for a parameter: templates have it already" for name in taken]
    unused = () if options.ignore_unused else renderer.unused()
    if unused:
        found.append(unused_params_message(unused, renderer.known()))
    if found:
        raise _refused(source, tuple(found), _hint(renderer) if unused else "")

    def describe(later: Iterable[Problem]) -> tuple[str, ...]:
        return tuple(redact(text, secrets) for text in rendered.describe(later))

    plugin = source.root / PLUGIN_FILE
    return dataclasses.replace(track, describe=describe, plugin=plugin if plugin.is_file() else None)


def _other_plugin(source: TrackSource) -> list[str]:
    """Code for another tool beside the track. Without it the track would do something else than it says."""
    if not (source.root / _OTHER_PLUGIN).is_file():
        return []
    return [f"{_OTHER_PLUGIN} is a plugin for OpenSearch Benchmark; those of Rally are run ({PLUGIN_FILE})"]


def render_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> str:
    """The rendered text of a track, for `render-track`. Raises `TrackError` when it cannot be rendered."""
    with _hiding(params):
        return _rendered(source, Renderer(source, params, options)).text


def _rendered(source: TrackSource, renderer: Renderer) -> RenderedTrack:
    assembled = assemble(source, source.file)
    return RenderedTrack(source, assembled, renderer.track(assembled))


def _refused(source: TrackSource, problems: tuple[str, ...], hint: str) -> TrackError:
    name = f"track {quoted(source.name)}"
    if len(problems) == 1:
        return TrackError(f"{name}: {problems[0]}", problems=problems, hint=hint)
    return TrackError(f"{name} has {format_count(len(problems), 'problem')}", problems=problems, hint=hint)


def _hint(renderer: Renderer) -> str:
    known = quoted_list(sorted(renderer.known()))
    return f"parameters of the track: {known}; --ignore-unused-track-params lets others pass"
