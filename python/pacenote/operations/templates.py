"""Creating and deleting templates of every kind: which ones, with which bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pacenote.model.field_reader import Reader
from pacenote.model.messages import near, quoted
from pacenote.model.problems import shown
from pacenote.model.track import Json
from pacenote.model.work import Request
from pacenote.operations.base import Compiled, Context
from pacenote.operations.named_resources import allowing_patterns, compiled, if_there, supplied_pairs
from pacenote.operations.request import json_body, path_of, read_common


class Declared(Protocol):
    """A template of the track."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def body(self) -> Json:
        """What it holds."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """A template to delete, and the pattern of indices that go with it (empty: none)."""

    name: str
    pattern: str = ""


def create(
    params: Reader, context: Context, declared: Sequence[Declared], api: str, settings_in: Sequence[str]
) -> Compiled:
    """Puts templates under the path `api`.

    One written out in the operation, else those of the track, all or the named one, with `settings` merged
    into what is at `settings_in` in their bodies.
    """
    common = read_common(params)
    if context.supplied and "templates" in params.data:
        bodies = supplied_pairs(params, "templates")
    elif params.has("template") and params.has("body"):
        bodies = {params.text("template"): params.mapping("body")}
    else:
        chosen = _chosen(params, declared)
        settings = params.mapping("settings")
        bodies = {each.name: _merged(each.body, settings_in, settings) for each in chosen}
    requests = (
        common.request("PUT", path_of(api, name), body=json_body(body)) for name, body in bodies.items()
    )
    return compiled(params, requests)


def delete(params: Reader, context: Context, doomed: Sequence[Doomed], api: str) -> Compiled:
    """Deletes templates under the path `api`, and the indices that match them where that is asked for.

    One that is not there is no failure. Serverless engines take no wildcards, so indices stay there.
    """
    common = read_common(params)
    params.flag("only-if-exists", True)
    requests: list[Request] = []
    matching: list[Request] = []
    for each in doomed:
        requests.append(if_there(common.request("DELETE", path_of(api, each.name))))
        if each.pattern and not context.is_serverless:
            matching.append(if_there(common.request("DELETE", path_of(each.pattern))))
    if matching:
        requests.extend(allowing_patterns(common, matching))
    return compiled(params, requests)


def doomed_with_indices(params: Reader, context: Context, declared: Sequence[Any]) -> tuple[Doomed, ...]:
    """The templates to delete: those of the track, all or the named one, else the one written out."""
    if context.supplied and "templates" in params.data:
        return _supplied_doomed(params)
    asked = params.names("template")
    known = {
        each.name: Doomed(each.name, each.pattern if each.delete_matching_indices else "")
        for each in declared
    }
    if known and set(asked) <= set(known):
        return tuple(known[name] for name in asked or known)
    pattern = ""
    if params.flag("delete-matching-indices", False):
        pattern = params.required_text("index-pattern")
    if not asked:
        params.problem("template", "is missing, and the track declares none")
    return tuple(known.get(name) or Doomed(name, pattern) for name in asked)


def doomed_alone(params: Reader, context: Context, declared: Sequence[Declared]) -> tuple[Doomed, ...]:
    """The same for templates that are no patterns of indices."""
    if context.supplied and "templates" in params.data:
        return tuple(map(Doomed, params.names("templates")))
    names = params.names("template") or tuple(each.name for each in declared)
    if not names:
        params.problem("template", "is missing, and the track declares none")
    return tuple(map(Doomed, names))


def _supplied_doomed(params: Reader) -> tuple[Doomed, ...]:
    value = params.data["templates"]
    doomed = []
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str):
            doomed.append(Doomed(item[0], item[2] or "" if item[1] else ""))
        else:
            params.problem("templates", f"holds {shown(item)}, must be a name, true or false, and a pattern")
    return tuple(doomed)


def _chosen(params: Reader, declared: Sequence[Any]) -> tuple[Any, ...]:
    names = params.names("template")
    known = [each.name for each in declared]
    if not declared:
        params.problem("template", "and body are missing, and the track declares no such templates")
    for name in names:
        if declared and name not in known:
            text = f"names {quoted(name)}, which the track does not declare{near(name, known)}"
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
