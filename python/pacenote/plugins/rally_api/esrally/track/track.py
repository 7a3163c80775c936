"""The objects of a track under Rally's names."""

from pacenote.plugins.rally_api.track import (
    Challenge,
    ComponentTemplate,
    DataStream,
    DocumentCorpus,
    Documents,
    Index,
    IndexTemplate,
    Operation,
    OperationType,
    Parallel,
    Task,
    Throughput,
    Track,
)

__all__ = [
    "Challenge",
    "ComponentTemplate",
    "DataStream",
    "DocumentCorpus",
    "Documents",
    "Index",
    "IndexTemplate",
    "Operation",
    "OperationType",
    "Parallel",
    "Task",
    "Throughput",
    "Track",
]
