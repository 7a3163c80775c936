"""Creates and deletes templates of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.problems import preview
from pacenote.model.track import JsonObject
from pacenote.model.work import Request
from pacenote.operations.base import CompileContext, CompiledOperation
from pacenote.operations.index_limits import check_settings
from pacenote.operations.index_settings import with_index_settings
from pacenote.operations.named_resources import (
    allowing_wildcards,
    compile_requests,
    if_exists,
    read_name_body_pairs,
)
from pacenote.operations.request import build_path, json_body, read_common


class DeclaredTemplate(Protocol):
    """A template of the track."""

    @property
    def name(self) -> str:
        """The name of the template."""

    @property
    def body(self) -> JsonObject:
        """The body of the request that creates the template."""


class TemplateToDelete(Struct, frozen=True):
    """A template to delete."""

    name: str
    """The name of the template."""

    pattern: str = ""
    """The pattern of the indices that are deleted as well; empty means no indices."""


def create_templates(
    params: FieldReader,
    context: CompileContext,
    declared: Sequence[DeclaredTemplate],
    api: str,
    settings_in: Sequence[str],
) -> CompiledOperation:
    """Compiles requests that create templates at the path `api`.

    These create the template in the operation if there is one, otherwise the track's template with the given
    name, otherwise all its templates. `settings` are merged into their bodies at the path `settings_in`.
    """
    common = read_common(params)
    if context.supplied and "templates" in params.data:
        bodies: dict[str, Any] = read_name_body_pairs(params, "templates")
    elif params.has("template") and params.has("body"):
        bodies = {params.text("template"): params.mapping("body")}
    else:
        selected = _select(params, declared)
        settings = params.mapping("settings")
        bodies = {template.name: _merged(template.body, settings_in, settings) for template in selected}
    bodies = {
        name: with_index_settings(body, settings_in, context.index_settings) for name, body in bodies.items()
    }
    for name, body in bodies.items():
        check_settings(params, name, body, tuple(settings_in))
    requests = (
        common.request("PUT", build_path(api, name), body=json_body(body)) for name, body in bodies.items()
    )
    return compile_requests(params, requests)


def delete_templates(
    params: FieldReader, context: CompileContext, templates: Sequence[TemplateToDelete], api: str
) -> CompiledOperation:
    """Compiles requests that delete templates at the path `api`, and the indices that match their patterns.

    A missing template is not a failure. Serverless engines reject wildcards, so their indices are not
    deleted.
    """
    common = read_common(params)
    params.flag("only-if-exists", True)
    requests: list[Request] = []
    matching: list[Request] = []
    for template in templates:
        requests.append(if_exists(common.request("DELETE", build_path(api, template.name))))
        if template.pattern and not context.engine.is_serverless:
            matching.append(if_exists(common.request("DELETE", build_path(template.pattern))))
    if matching:
        requests.extend(allowing_wildcards(common, matching))
    return compile_requests(params, requests)


def index_templates_to_delete(
    params: FieldReader, context: CompileContext, declared: Sequence[Any]
) -> tuple[TemplateToDelete, ...]:
    """Returns the index templates to delete: those of the track, or the named one, otherwise the one in the
    operation.
    """
    if context.supplied and "templates" in params.data:
        return _read_supplied(params)
    requested = params.names("template")
    known = {
        template.name: TemplateToDelete(
            template.name, template.pattern if template.delete_matching_indices else ""
        )
        for template in declared
    }
    if known and set(requested) <= set(known):
        return tuple(known[name] for name in requested or known)
    pattern = ""
    if params.flag("delete-matching-indices", False):
        pattern = params.required_text("index-pattern")
    if not requested:
        params.problem("template", "is missing, and the track declares none")
    return tuple(known.get(name) or TemplateToDelete(name, pattern) for name in requested)


def component_templates_to_delete(
    params: FieldReader, context: CompileContext, declared: Sequence[DeclaredTemplate]
) -> tuple[TemplateToDelete, ...]:
    """Returns the component templates to delete: the named one, otherwise all those of the track."""
    if context.supplied and "templates" in params.data:
        return tuple(map(TemplateToDelete, params.names("templates")))
    names = params.names("template") or tuple(template.name for template in declared)
    if not names:
        params.problem("template", "is missing, and the track declares none")
    return tuple(map(TemplateToDelete, names))


def _read_supplied(params: FieldReader) -> tuple[TemplateToDelete, ...]:
    value = params.data["templates"]
    templates = []
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str):
            templates.append(TemplateToDelete(item[0], item[2] or "" if item[1] else ""))
        else:
            params.problem(
                "templates",
                f"contains {preview(item)}, but an item must be a name, true or false, and a pattern",
            )
    return tuple(templates)


def _select(params: FieldReader, declared: Sequence[Any]) -> tuple[Any, ...]:
    names = params.names("template")
    known = [template.name for template in declared]
    if not declared:
        params.problem("template", "and body are missing, and the track declares no such templates")
    for name in names:
        if declared and name not in known:
            text = f"names {quoted(name)}, which the track does not declare{did_you_mean(name, known)}"
            params.problem("template", text)
    return tuple(template for template in declared if not names or template.name in names)


def _merged(body: Mapping[str, Any], path: Sequence[str], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Merges settings into a body at a path, which is created if it is missing."""
    if not settings:
        return body
    for key in reversed(path):
        settings = {key: settings}
    return _merge_deep(body, settings) if len(path) > 1 else _merge_shallow(body, settings)


def _merge_deep(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            value = _merge_deep(inner, value)
        merged[key] = value
    return merged


def _merge_shallow(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{key: {**(base.get(key) or {}), **value} for key, value in over.items()}}
