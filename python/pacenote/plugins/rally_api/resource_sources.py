"""Rally's parameter sources of operations that create and delete indices, data streams and templates.

Runners of plug-ins that replace such a built-in type receive the parameters that these sources make: the
parameters of the operation, and the resources of the track that they select.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.plugins.rally_api.bulk_source import ParamSource
from pacenote.plugins.rally_api.errors import InvalidSyntax
from pacenote.plugins.rally_api.track import IndexTemplate, Track

Params = dict[str, Any]


class _ResourceParamSource(ParamSource):
    """Adds the selected resources under a key to the parameters of the operation."""

    resources_key = ""
    """The key of the resources."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.request_params = params.get("request-params", {})

    def _with_resources(self, resources: Sequence[Any], **others: Any) -> Params:
        named = {name.replace("_", "-"): value for name, value in others.items()}
        return {
            **self._params,
            self.resources_key: resources,
            "request-params": self.request_params,
            **named,
        }


def _names(params: Params, key: str) -> list[str]:
    """Returns a parameter that is a name or a list of names."""
    value = params.get(key) or ()
    return [value] if isinstance(value, str) else list(value)


def _missing(params: Params, what: str) -> InvalidSyntax:
    operation = params.get("operation-type") or "operation"
    return InvalidSyntax(f"the {operation} operation needs {what}, because the track declares none")


def _with_settings(body: Any, settings: Any) -> Any:
    """Adds the settings of an operation to a body, which is changed as by Rally."""
    if settings:
        body = body or {}
        body["settings"] = {**body.get("settings", {}), **settings}
    return body


class CreateIndexParamSource(_ResourceParamSource):
    """The indices of the track with the settings of the operation, or the index in the operation."""

    resources_key = "indices"

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        wanted = _names(params, "index")
        if track.indices:
            self.index_definitions = [
                (index.name, _with_settings(index.body, params.get("settings")))
                for index in track.indices
                if not wanted or index.name in wanted
            ]
        elif "index" in params:
            self.index_definitions = [(name, params.get("body")) for name in wanted]
        else:
            raise _missing(params, "the property 'index'")

    def params(self) -> Params:
        """Returns all indices, which are created by one operation."""
        return self._with_resources(self.index_definitions)


class DeleteIndexParamSource(_ResourceParamSource):
    """The indices in the operation, or all of the track."""

    resources_key = "indices"

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.only_if_exists = params.get("only-if-exists", True)
        self.index_definitions = _names(params, "index") or track.index_names()
        if not self.index_definitions:
            raise InvalidSyntax("the delete-index operation targets no index")

    def params(self) -> Params:
        """Returns all indices, which are deleted by one operation."""
        return self._with_resources(self.index_definitions, only_if_exists=self.only_if_exists)


class CreateDataStreamParamSource(_ResourceParamSource):
    """The data streams of the track, or those in the operation."""

    resources_key = "data-streams"

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        wanted = _names(params, "data-stream")
        if track.data_streams:
            names = track.data_stream_names()
            self.data_stream_definitions = [name for name in names if not wanted or name in wanted]
        elif "data-stream" in params:
            self.data_stream_definitions = wanted
        else:
            raise _missing(params, "the property 'data-stream'")

    def params(self) -> Params:
        """Returns all data streams, which are created by one operation."""
        return self._with_resources(self.data_stream_definitions)


class DeleteDataStreamParamSource(_ResourceParamSource):
    """The data streams in the operation, or all of the track."""

    resources_key = "data-streams"

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.only_if_exists = params.get("only-if-exists", True)
        self.data_stream_definitions = _names(params, "data-stream") or track.data_stream_names()
        if not self.data_stream_definitions:
            raise InvalidSyntax("the delete-data-stream operation targets no data stream")

    def params(self) -> Params:
        """Returns all data streams, which are deleted by one operation."""
        return self._with_resources(self.data_stream_definitions, only_if_exists=self.only_if_exists)


class CreateIndexTemplateParamSource(_ResourceParamSource):
    """The index templates of the track with the settings of the operation, or the one in the operation."""

    resources_key = "templates"

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        wanted = params.get("template")
        if track.templates:
            self.template_definitions = [
                (template.name, _with_settings(template.content, params.get("settings")))
                for template in track.templates
                if not wanted or template.name == wanted
            ]
        elif "template" in params and "body" in params:
            self.template_definitions = [(params["template"], params["body"])]
        else:
            raise _missing(params, "the properties 'template' and 'body'")

    def params(self) -> Params:
        """Returns all templates, which are created by one operation."""
        return self._with_resources(self.template_definitions)


class CreateTemplateParamSource(ParamSource):
    """The composable or component templates of the track with the settings of the operation, or the template
    in the operation.
    """

    def __init__(self, track: Track, params: Params, templates: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.request_params = params.get("request-params", {})
        self.template_definitions: list[tuple[str, Params]] = []
        if "template" in params and "body" in params:
            self.template_definitions.append((params["template"], params["body"]))
            return
        wanted = params.get("template")
        if not templates:
            raise _missing(params, "the properties 'template' and 'body'")
        chosen = [declared for declared in templates if not wanted or declared.name == wanted]
        if not chosen:
            names = ", ".join(declared.name for declared in templates)
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


class CreateComposableTemplateParamSource(CreateTemplateParamSource):
    """Composable index templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.composable_templates, **kwargs)


class CreateComponentTemplateParamSource(CreateTemplateParamSource):
    """Component templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.component_templates, **kwargs)


class DeleteTemplateParamSource(_ResourceParamSource):
    """The templates of the track, or the one in the operation: name, whether its indices are deleted, and
    their pattern.
    """

    resources_key = "templates"

    def __init__(
        self, track: Track, params: Params, templates: Sequence[IndexTemplate], **kwargs: Any
    ) -> None:
        super().__init__(track, params, **kwargs)
        self.only_if_exists = params.get("only-if-exists", True)
        wanted = params.get("template")
        if templates:
            self.template_definitions: list[tuple[str, bool, str | None]] = [
                (template.name, template.delete_matching_indices, template.pattern)
                for template in templates
                if not wanted or template.name == wanted
            ]
            return
        if "template" not in params:
            raise _missing(params, "the property 'template'")
        deletes = params.get("delete-matching-indices", False)
        if deletes and "index-pattern" not in params:
            raise InvalidSyntax("'delete-matching-indices' needs the property 'index-pattern'")
        pattern = params["index-pattern"] if deletes else None
        self.template_definitions = [(params["template"], deletes, pattern)]

    def params(self) -> Params:
        """Returns all templates, which are deleted by one operation."""
        return self._with_resources(self.template_definitions, only_if_exists=self.only_if_exists)


class DeleteIndexTemplateParamSource(DeleteTemplateParamSource):
    """Legacy index templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.templates, **kwargs)


class DeleteComposableTemplateParamSource(DeleteTemplateParamSource):
    """Composable index templates."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, track.composable_templates, **kwargs)


class DeleteComponentTemplateParamSource(ParamSource):
    """The names of the component templates of the track, or the one in the operation."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.only_if_exists = params.get("only-if-exists", True)
        self.request_params = params.get("request-params", {})
        wanted = params.get("template")
        if track.component_templates:
            names = [template.name for template in track.component_templates]
            self.template_definitions = [name for name in names if not wanted or name == wanted]
        elif wanted:
            self.template_definitions = [wanted]
        else:
            raise _missing(params, "the property 'template'")

    def params(self) -> Params:
        """Returns all names, whose templates are deleted by one operation."""
        return {
            "templates": self.template_definitions,
            "only-if-exists": self.only_if_exists,
            "request-params": self.request_params,
        }
