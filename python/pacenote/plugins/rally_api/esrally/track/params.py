"""Parameter sources that plug-ins extend."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pacenote.plugins.rally_api.bulk_source import BulkIndexParamSource, IndexIdConflict, ParamSource, Slice
from pacenote.plugins.rally_api.errors import InvalidSyntax
from pacenote.plugins.rally_api.track import Track

__all__ = [
    "BulkIndexParamSource",
    "CreateComponentTemplateParamSource",
    "CreateComposableTemplateParamSource",
    "IndexIdConflict",
    "ParamSource",
    "SearchParamSource",
    "Slice",
]

Params = dict[str, Any]


class SearchParamSource(ParamSource):
    """The parameters of a search."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        target = params.get("index") or params.get("data-stream") or _sole_target(track)
        if not target:
            raise InvalidSyntax("'index' or 'data-stream' is mandatory and is missing")
        self.query_params: Params = {
            "index": target,
            "cache": params.get("cache"),
            "detailed-results": params.get("detailed-results", False),
            "request-params": params.get("request-params", {}),
            "response-compression-enabled": params.get("response-compression-enabled", True),
            "body": params.get("body"),
        }
        for key in ("pages", "results-per-page", "with-point-in-time-from", "assertions"):
            if params.get(key):
                self.query_params[key] = params[key]
        self.query_params.update(self._client_params())

    def params(self) -> Params:
        """Returns the same search each time, in a new dictionary."""
        return dict(self.query_params)


def _sole_target(track: Track) -> str | None:
    for targets in (track.index_names(), track.data_stream_names()):
        if len(targets) == 1:
            return targets[0]
    return None


class _CreateTemplateParamSource(ParamSource):
    """The templates of the track, or the template in the operation, with the settings of the operation."""

    def __init__(self, track: Track, params: Params, templates: list[Any], **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.request_params = params.get("request-params", {})
        self.template_definitions: list[tuple[str, Params]] = []
        if "template" in params and "body" in params:
            self.template_definitions.append((params["template"], params["body"]))
            return
        wanted = params.get("template")
        if not templates:
            raise InvalidSyntax("the operation has no 'template' and 'body', and the track has no templates")
        chosen = [one for one in templates if not wanted or one.name == wanted]
        if not chosen:
            names = ", ".join(one.name for one in templates)
            raise InvalidSyntax(f"Unknown template: {wanted}. Available templates: {names}.")
        for template in chosen:
            content = copy.deepcopy(template.content)
            if settings := params.get("settings"):
                _merge(content.setdefault("template", {}).setdefault("settings", {}), settings)
            self.template_definitions.append((template.name, content))

    def params(self) -> Params:
        """Returns all templates, which are created by one operation."""
        return {"templates": self.template_definitions, "request-params": self.request_params}


def _merge(into: Params, new: Mapping[str, Any]) -> None:
    for key, value in new.items():
        if isinstance(into.get(key), dict) and isinstance(value, Mapping):
            _merge(into[key], value)
        else:
            into[key] = value


class CreateComposableTemplateParamSource(_CreateTemplateParamSource):
    """Composable index templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.composable_templates, **kwargs)


class CreateComponentTemplateParamSource(_CreateTemplateParamSource):
    """Component templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.component_templates, **kwargs)
