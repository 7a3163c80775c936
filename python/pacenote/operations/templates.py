"""Creating and deleting templates of every kind: which ones, with which bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.problems import preview
from pacenote.model.track import JsonObject
from pacenote.model.work import Request
from pacenote.operations.base import CompileContext, CompiledOperation
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
        """Its name."""

    @property
    def body(self) -> JsonObject:
        """What it holds."""


@dataclass(frozen=True, slots=True)
class TemplateToDelete:
    """A template to delete, and the pattern of indices that go with it (empty: none)."""

    name: str
    pattern: str = ""


def create_templates(
    params: FieldReader,
    context: CompileContext,
    declared: Sequence[DeclaredTemplate],
    api: str,
    settings_in: Sequence[str],
) -> CompiledOperation:
    """Puts templates under the path `api`.

    One written out in the operation, else those of the track, all or the named one, with `settings` merged
    into what is at `settings_in` in their bodies.
    """
    common = read_common(params)
    if context.supplied and "templates" in params.data:
        bodies = read_name_body_pairs(params, "templates")
    elif params.has("template") and params.has("body"):
        bodies = {params.text("template"): params.mapping("body")}
    else:
        chosen = _chosen(params, declared)
        settings = params.mapping("settings")
        bodies = {each.name: _merged(each.body, settings_in, settings) for each in chosen}
    requests = (
        common.request("PUT", build_path(api, name), body=json_body(body)) for name, body in bodies.items()
    )
    return compile_requests(params, requests)


def delete_templates(
    params: FieldReader, context: CompileContext, doomed: Sequence[TemplateToDelete], api: str
) -> CompiledOperation:
    """Deletes templates under the path `api`, and the indices that match them where that is asked for.

    One that is not there is no failure. Serverless engines take no wildcards, so indices stay there.
    """
    common = read_common(params)
    params.flag("only-if-exists", True)
    requests: list[Request] = []
    matching: list[Request] = []
    for each in doomed:
        requests.append(if_exists(common.request("DELETE", build_path(api, each.name))))
        if each.pattern and not context.is_serverless:
            matching.append(if_exists(common.request("DELETE", build_path(each.pattern))))
    if matching:
        requests.extend(allowing_wildcards(common, matching))
    return compile_requests(params, requests)


def index_templates_to_delete(
    params: FieldReader, context: CompileContext, declared: Sequence[Any]
) -> tuple[TemplateToDelete, ...]:
    """The templates to delete: those of the track, all or the named one, else the one written out."""
    if context.supplied and "templates" in params.data:
        return _supplied_doomed(params)
    asked = params.names("template")
    known = {
        each.name: TemplateToDelete(each.name, each.pattern if each.delete_matching_indices else "")
        for each in declared
    }
    if known and set(asked) <= set(known):
        return tuple(known[name] for name in asked or known)
    pattern = ""
    if params.flag("delete-matching-indices", False):
        pattern = params.required_text("index-pattern")
    if not asked:
        params.problem("template", "is missing, and the track declares none")
    return tuple(known.get(name) or TemplateToDelete(name, pattern) for name in asked)


def component_templates_to_delete(
    params: FieldReader, context: CompileContext, declared: Sequence[DeclaredTemplate]
) -> tuple[TemplateToDelete, ...]:
    """The same for templates that are no patterns of indices."""
    if context.supplied and "templates" in params.data:
        return tuple(map(TemplateToDelete, params.names("templates")))
    names = params.names("template") or tuple(each.name for each in declared)
    if not names:
        params.problem("template", "is missing, and the track declares none")
    return tuple(map(TemplateToDelete, names))


def _supplied_doomed(params: FieldReader) -> tuple[TemplateToDelete, ...]:
    value = params.data["templates"]
    doomed = []
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str):
            doomed.append(TemplateToDelete(item[0], item[2] or "" if item[1] else ""))
        else:
            params.problem(
                "templates", f"holds {preview(item)}, must be a name, true or false, and a pattern"
            )
    return tuple(doomed)


def _chosen(params: FieldReader, declared: Sequence[Any]) -> tuple[Any, ...]:
    names = params.names("template")
    known = [each.name for each in declared]
    if not declared:
        params.problem("template", "and body are missing, and the track declares no such templates")
    for name in names:
        if declared and name not in known:
            text = f"names {quoted(name)}, which the track does not declare{did_you_mean(name, known)}"
            params.problem("template", text)
    return tuple(each for each in declared if not names or each.name in names)


def _merged(body: Mapping[str, Any], where: Sequence[str], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body with settings merged into it, at every depth, at a path that is made if it is not there."""
    if not settings:
        return body
    for key in reversed(where):
        settings = {key: settings}
    return _deep(body, settings) if len(where) > 1 else _shallow(body, settings)


def _deep(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        inner = merged.get(key)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            value = _deep(inner, value)
        merged[key] = value
    return merged


def _shallow(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{key: {**(base.get(key) or {}), **value} for key, value in over.items()}}
