"""The parameter source of each built-in type, as in Rally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.operations.registry import find_type
from pacenote.plugins.rally_api.bulk_source import BulkIndexParamSource, ParamSource
from pacenote.plugins.rally_api.request_sources import (
    DownsampleParamSource,
    ForceMergeParamSource,
    SearchParamSource,
    SleepParamSource,
)
from pacenote.plugins.rally_api.resource_sources import (
    CreateComponentTemplateParamSource,
    CreateComposableTemplateParamSource,
    CreateDataStreamParamSource,
    CreateIndexParamSource,
    CreateIndexTemplateParamSource,
    DeleteComponentTemplateParamSource,
    DeleteComposableTemplateParamSource,
    DeleteDataStreamParamSource,
    DeleteIndexParamSource,
    DeleteIndexTemplateParamSource,
)

_SOURCES: Mapping[str, type[ParamSource]] = {
    "create-component-template": CreateComponentTemplateParamSource,
    "create-composable-template": CreateComposableTemplateParamSource,
    "create-data-stream": CreateDataStreamParamSource,
    "create-index": CreateIndexParamSource,
    "create-index-template": CreateIndexTemplateParamSource,
    "delete-component-template": DeleteComponentTemplateParamSource,
    "delete-composable-template": DeleteComposableTemplateParamSource,
    "delete-data-stream": DeleteDataStreamParamSource,
    "delete-index": DeleteIndexParamSource,
    "delete-index-template": DeleteIndexTemplateParamSource,
    "downsample": DownsampleParamSource,
    "force-merge": ForceMergeParamSource,
    "sleep": SleepParamSource,
}
"""Sources by type, apart from those that `source_of_type` recognizes by the flags of the type."""


class ConstantParamSource(ParamSource):
    """A source that returns the parameters of the operation, each time in a new dictionary."""

    def params(self) -> dict[str, Any]:
        """Returns a copy of the operation's parameters."""
        return dict(self._params)


def source_of_type(name: str) -> type[ParamSource]:
    """Returns the source of an operation type, whose parameters the runner of a plug-in expects."""
    operation_type = find_type(name)
    if operation_type is not None and operation_type.indexes_documents:
        return BulkIndexParamSource
    if operation_type is not None and operation_type.searches:
        return SearchParamSource
    return _SOURCES.get(name, ConstantParamSource)
