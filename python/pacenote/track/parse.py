"""Parses the JSON of a track into its model, and reports all problems with their locations.

Rules and names are Rally's. `parse_corpora`, `parse_operations` and `parse_schedule` read their parts of a
track; this file parses the root, and the indices and templates with their bodies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.decoding import parse_json
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.problems import preview
from pacenote.model.track import (
    Challenge,
    ComponentTemplate,
    ComposableTemplate,
    Corpus,
    DataStream,
    Index,
    IndexTemplate,
    Track,
)
from pacenote.track.json_positions import reject_half_surrogates
from pacenote.track.parse_corpora import IndexTargets, parse_corpora
from pacenote.track.parse_operations import parse_operations
from pacenote.track.parse_schedule import parse_challenges

RenderBody = Callable[[Path], str]
"""Renders the file of an index or template body."""

_VERSION = 2


def parse_track(root: FieldReader, name: str, folder: Path, render_body: RenderBody) -> Track:
    """Returns the model of a track. The reader collects problems; if there are any, the result must not be
    used.
    """
    if root.data.get("version", _VERSION) != _VERSION:
        root.problem(
            "version", f"is {preview(root.data['version'])}, but only version {_VERSION} of the format exists"
        )
    bodies = _Bodies(folder, render_body)
    indices, streams = _indices(root, bodies), _data_streams(root)
    if indices and streams:
        root.problem("data-streams", "cannot be used together with indices: a track writes to one kind")
    targets = IndexTargets(tuple(index.name for index in indices), tuple(stream.name for stream in streams))
    corpora: tuple[Corpus, ...] = parse_corpora(root, targets)
    operations = parse_operations(root)
    challenges: tuple[Challenge, ...] = parse_challenges(root, operations)
    return Track(
        name=name,
        root=folder,
        challenges=challenges,
        description=root.text("description"),
        indices=indices,
        data_streams=streams,
        templates=_templates(root, bodies),
        composable_templates=_composable_templates(root, bodies),
        component_templates=_component_templates(root, bodies),
        corpora=corpora,
        operations=tuple(operations.values()),
        dependencies=root.names("dependencies"),
        meta=root.mapping("meta"),
        params=root.data,
    )


class _Bodies:
    """Reads the bodies of indices and templates, which are in separate files."""

    def __init__(self, folder: Path, render: RenderBody) -> None:
        self._folder = folder
        self._render = render

    def read(self, item: FieldReader, key: str) -> dict[str, Any] | None:
        """Returns the body in the file that `key` specifies, or None after recording a problem."""
        name = item.required_text(key)
        if not name:
            return None
        try:
            text = self._render(self._folder / name)
            body = parse_json(text)
            reject_half_surrogates(text)
        except TrackError as cause:
            item.problem(key, f"names {quoted(name)}: {cause.message}")
            return None
        except json.JSONDecodeError as cause:
            place = f"line {cause.lineno}, column {cause.colno}"
            item.problem(
                key,
                f"names {quoted(name)}, which is not valid JSON when rendered: {cause.msg} at {place}",
                text.split("\n")[cause.lineno - 1],
            )
            return None
        except ValueError as cause:
            item.problem(key, f"names {quoted(name)}, which cannot be read: {cause}")
            return None
        if not isinstance(body, dict):
            item.problem(
                key, f"names {quoted(name)}, which contains {preview(body)}, but must contain an object"
            )
            return None
        return body

    def template(self, item: FieldReader) -> dict[str, Any]:
        """Returns the body of a template: the file, or the part of it at `template-path`."""
        body = self.read(item, "template")
        for part in item.text("template-path").split(".") if item.has("template-path") else ():
            body = body.get(part) if isinstance(body, dict) else None
        if body is None and item.has("template-path") and item.has("template"):
            path = item.text("template-path")
            item.problem("template-path", f"is {quoted(path)}, which the template file does not contain")
        return body or {}


def _indices(root: FieldReader, bodies: _Bodies) -> tuple[Index, ...]:
    indices = []
    for item in root.children("indices"):
        if "types" in item.data:
            item.problem("types", "is not supported: engines no longer have mapping types")
        body = bodies.read(item, "body") if "body" in item.data else None
        indices.append(Index(item.required_text("name"), body))
    return tuple(indices)


def _data_streams(root: FieldReader) -> tuple[DataStream, ...]:
    return tuple(DataStream(item.required_text("name")) for item in root.children("data-streams"))


def _templates(root: FieldReader, bodies: _Bodies) -> tuple[IndexTemplate, ...]:
    return tuple(
        IndexTemplate(
            name=item.required_text("name"),
            pattern=item.required_text("index-pattern"),
            body=bodies.template(item),
            delete_matching_indices=item.flag("delete-matching-indices", True),
        )
        for item in root.children("templates")
    )


def _composable_templates(root: FieldReader, bodies: _Bodies) -> tuple[ComposableTemplate, ...]:
    return tuple(
        ComposableTemplate(
            name=item.required_text("name"),
            pattern=item.required_text("index-pattern"),
            body=bodies.template(item),
            delete_matching_indices=item.flag("delete-matching-indices", True),
        )
        for item in root.children("composable-templates")
    )


def _component_templates(root: FieldReader, bodies: _Bodies) -> tuple[ComponentTemplate, ...]:
    return tuple(
        ComponentTemplate(name=item.required_text("name"), body=bodies.template(item))
        for item in root.children("component-templates")
    )
