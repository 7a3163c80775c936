"""Loading a track: from where it is to its model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.names import listed, quoted
from pacenote.model.reader import Problem, Problems, Reader
from pacenote.model.secrets import hide, secret_values
from pacenote.model.track import Track
from pacenote.track.document import Rendered
from pacenote.track.parse import parse_track
from pacenote.track.render import Renderer, RenderOptions, unused_problem
from pacenote.track.source import TrackSource
from pacenote.track.splice import splice
from pacenote.units import format_count

PLUGIN_FILES = ("track.py", "workload.py")
"""Names of a track's Python plugin: Rally's, and OpenSearch Benchmark's."""

_PLUGINS_LATER = "tracks with Python plugins come later"


def load_track(source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> Track:
    """The model of a track.

    Raises `TrackError`: for text that cannot be rendered or is no JSON at once, otherwise with every
    problem of the track and of its parameters together, each with its place.
    """
    secrets = secret_values(params)
    try:
        return _load(source, params, options, secrets)
    except TrackError as error:
        if not secrets:
            raise
        # A trace of what this error came from would show what is hidden here.
        raise TrackError(
            hide(error.message, secrets),
            problems=tuple(hide(problem, secrets) for problem in error.problems),
            hint=error.hint,
        ) from None


def _load(
    source: TrackSource, params: Mapping[str, Any], options: RenderOptions, secrets: frozenset[str]
) -> Track:
    renderer = Renderer(source, params, options)
    rendered = _rendered(source, renderer)
    problems = Problems()
    root = Reader(rendered.parsed(), (), problems)
    track = parse_track(root, source.name, source.root, renderer.body)
    _refuse_plugins(root)
    found = [*_plugins(source), *rendered.describe(problems)]
    unused = () if options.ignore_unused else renderer.unused()
    if unused:
        found.append(unused_problem(unused, renderer.known))
    if found:
        raise _refused(source, tuple(found), _hint(renderer) if unused else "")

    def describe(later: Iterable[Problem]) -> tuple[str, ...]:
        return tuple(hide(text, secrets) for text in rendered.describe(later))

    return dataclasses.replace(track, describe=describe)


def _plugins(source: TrackSource) -> list[str]:
    """Python code beside the track. Without it the track would do something else than it says."""
    found = [name for name in PLUGIN_FILES if (source.root / name).is_file()]
    return [f"{name} is a Python plugin of the track; {_PLUGINS_LATER}" for name in found]


def _refuse_plugins(root: Reader) -> None:
    if root.data.get("dependencies"):
        root.problem("dependencies", f"names Python packages for a plugin; {_PLUGINS_LATER}")


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
