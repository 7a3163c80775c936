"""Loading a track: from where it is to its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.names import listed, quoted
from pacenote.model.reader import Problems, Reader
from pacenote.model.track import Track
from pacenote.track.document import Rendered
from pacenote.track.parse import parse_track
from pacenote.track.render import Renderer, RenderOptions, unused_problem
from pacenote.track.source import TrackSource
from pacenote.track.splice import splice
from pacenote.units import format_count


def load_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> Track:
    """The model of a track.

    Raises `TrackError`: for text that cannot be rendered or is no JSON at once, otherwise with every
    problem of the track and of its parameters together, each with its place.
    """
    renderer = Renderer(source, params, options)
    rendered = _rendered(source, renderer)
    problems = Problems()
    root = Reader(rendered.parsed(), (), problems)
    track = parse_track(root, source.name, source.root, renderer.body)
    found = list(rendered.describe(list(problems))) if problems else []
    unused = () if options.ignore_unused else renderer.unused()
    if unused:
        found.append(unused_problem(unused, renderer.known))
    if found:
        raise _refused(source, tuple(found), _hint(renderer) if unused else "")
    return track


def render_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> str:
    """The rendered text of a track, for `render-track`. Raises `TrackError` when it cannot be rendered."""
    return _rendered(source, Renderer(source, params, options)).text


def _rendered(source: TrackSource, renderer: Renderer) -> Rendered:
    assembled = splice(source, source.file)
    return Rendered(source, assembled, renderer.track(assembled))


def _refused(source: TrackSource, problems: tuple[str, ...], hint: str) -> TrackError:
    name = f"track {quoted(source.name)}"
    if len(problems) == 1:
        return TrackError(f"{name}: {problems[0]}", problems=problems, hint=hint)
    return TrackError(f"{name} has {format_count(len(problems), 'problem')}", problems=problems, hint=hint)


def _hint(renderer: Renderer) -> str:
    known = listed(sorted(renderer.known))
    return f"parameters of the track: {known}; --ignore-unused-track-params lets others pass"
