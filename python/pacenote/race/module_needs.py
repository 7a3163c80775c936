"""Finds tasks and indices of a challenge that need a module of the engine, for example for scripts.

The requests are read as the track declares them; what a plug-in sends is not known. The names of modules are
those of the official archives, and those of plugins that an official archive contains.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pacenote.model.messages import list_with_rest
from pacenote.model.track import (
    Challenge,
    ComponentTemplate,
    ComposableTemplate,
    IndexTemplate,
    Task,
    Track,
)
from pacenote.operations.base import OperationType
from pacenote.operations.registry import find_type

_MAX_NAMED = 3
"""Maximum number of tasks and indices that a message names for one module."""

_OF_FIELD_TYPE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("scaled_float", "rank_feature", "rank_features", "search_as_you_type", "token_count"),
        ("mapper-extras",),
    ),
    "match_only_text": ("mapper-extras",),
    "join": ("parent-join",),
    "percolator": ("percolator",),
    "geo_shape": ("legacy-geo", "geo"),
    "shape": ("spatial",),
    "wildcard": ("wildcard",),
    "constant_keyword": ("constant-keyword",),
    "unsigned_long": ("unsigned-long",),
    "histogram": ("x-pack-analytics",),
    "aggregate_metric_double": ("x-pack-aggregate-metric",),
    "dense_vector": ("vectors",),
    "version": ("mapper-version",),
    "knn_vector": ("opensearch-knn",),
}
"""Type of a field → the modules that have it, of every engine in which a module may be missing."""

_OF_CLAUSE: Mapping[str, str] = {
    "percolate": "percolator",
    **dict.fromkeys(("has_child", "has_parent", "parent_id"), "parent-join"),
    "rank_feature": "mapper-extras",
    "matrix_stats": "aggs-matrix-stats",
    "processors": "ingest-common",
    **dict.fromkeys(("adjacency_matrix", "auto_date_histogram", "time_series"), "aggregations"),
    **dict.fromkeys(
        ("bucket_selector", "bucket_sort", "derivative", "moving_fn", "serial_diff"), "aggregations"
    ),
}
"""Key of a query, an aggregation or a pipeline → the module that has it."""

_OF_PATH = (
    (re.compile(r"/_(reindex|update_by_query|delete_by_query)\b"), "reindex"),
    (re.compile(r"/_(msearch|search|render)/template\b"), "lang-mustache"),
    (re.compile(r"/_rank_eval\b"), "rank-eval"),
    (re.compile(r"^/_query\b"), "x-pack-esql"),
    (re.compile(r"^/_sql\b"), "x-pack-sql"),
    (re.compile(r"^/_data_stream\b"), "data-streams"),
)
"""Path of a request → the module that answers it."""

_NAMED = ("properties", "fields", "aggs", "aggregations", "runtime", "runtime_mappings", "script_fields")
"""Keys of objects that map names to fields, aggregations or scripts."""

_TIME_RANGE = {"start_time", "end_time"}
"""Keys of a setting with the same name as the aggregation `time_series`."""

_SCRIPTS = ("script", "script_score", "script_fields")
_OF_LANGUAGE = {"painless": "lang-painless", "expression": "lang-expression", "mustache": "lang-mustache"}

_SERVER_ANALYSIS = frozenset({
    *("standard", "simple", "stop", "whitespace", "keyword", "default", "custom", "lowercase", "shingle"),
    "hunspell",
})
"""Analyzers, tokenizers and filters that need no module."""

_LANGUAGES = frozenset({
    *("arabic", "armenian", "basque", "bengali", "brazilian", "bulgarian", "catalan", "cjk", "czech"),
    *("danish", "dutch", "english", "estonian", "finnish", "french", "galician", "german", "greek"),
    *("hindi", "hungarian", "indonesian", "irish", "italian", "latvian", "lithuanian", "norwegian"),
    *("persian", "portuguese", "romanian", "russian", "sorani", "spanish", "swedish", "thai", "turkish"),
})
"""Analyzers of analysis-common."""


def absent_module_warnings(
    track: Track, challenge: Challenge, absent: Collection[str], engine: str
) -> tuple[str, ...]:
    """Returns a warning for each absent module that the challenge needs, with the tasks and indices that
    need it. `engine` names the engine.
    """
    users: dict[str, list[str]] = {}
    for user, modules in _all_needs(track, challenge):
        for module in sorted(modules & set(absent)):
            if user not in users.setdefault(module, []):
                users[module].append(user)
    return tuple(_warning(module, names, engine) for module, names in users.items())


def _warning(module: str, users: list[str], engine: str) -> str:
    named = list_with_rest(users, _MAX_NAMED)
    verb = "needs" if len(users) == 1 else "need"
    # Mappings are not tasks, so they cannot be left out.
    only_tasks = all(user.startswith("task ") for user in users)
    change = (
        "leave them out with --exclude-tasks"
        if only_tasks
        else "set a parameter of the track that avoids it (`pacenote info`)"
    )
    return (
        f"{named} {verb} the module {module}, which is not published for {engine}, and will fail; "
        f"{change}, or race another version or an existing cluster"
    )


def _all_needs(track: Track, challenge: Challenge) -> Iterator[tuple[str, set[str]]]:
    tasks = tuple(challenge.tasks())
    if any(kind is not None and kind.may_create_indices for kind in map(_type_of, tasks)):
        for index in track.indices:
            yield f"index '{index.name}'", set(_needs(index.body))
        templates: list[IndexTemplate | ComposableTemplate | ComponentTemplate] = []
        templates += [*track.templates, *track.composable_templates, *track.component_templates]
        for template in templates:
            yield f"template '{template.name}'", set(_needs(template.body))
    for task in tasks:
        operation_type = _type_of(task)
        modules = operation_type.needs_modules if operation_type is not None else ()
        yield f"task '{task.name}'", {*modules, *_needs(task.operation.params)}


def _type_of(task: Task) -> OperationType | None:
    return find_type(task.operation.type)


def _needs(value: object) -> Iterator[str]:
    """Yields the modules that a value of a request needs."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _needs_of_key(str(key), part)
            # The keys of such an object are names of the user, which may equal those of clauses.
            named = key in _NAMED and isinstance(part, Mapping)
            for nested in part.values() if named else (part,):
                yield from _needs(nested)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _needs(part)


def _needs_of_key(key: str, value: object) -> Iterator[str]:
    if key in ("properties", "fields") and isinstance(value, Mapping):
        yield from _needs_of_fields(value.values())
    elif key == "mapping":
        yield from _needs_of_fields((value,))
    elif key in _SCRIPTS:
        yield from _needs_of_script(value)
    elif key == "analysis" and isinstance(value, Mapping):
        yield from _needs_of_analysis(value)
    elif key == "path" and isinstance(value, str):
        yield from (module for pattern, module in _OF_PATH if pattern.search(value))
    elif key in _OF_CLAUSE and isinstance(value, Mapping | list) and not _TIME_RANGE & set(map(str, value)):
        yield _OF_CLAUSE[key]


def _needs_of_fields(fields: Any) -> Iterator[str]:
    for field in fields:
        kind = field.get("type") if isinstance(field, Mapping) else None
        if isinstance(kind, str) and kind in _OF_FIELD_TYPE:
            yield from _OF_FIELD_TYPE[kind]
        analyzer = field.get("analyzer") if isinstance(field, Mapping) else None
        if isinstance(analyzer, str) and analyzer in _LANGUAGES:
            yield "analysis-common"


def _needs_of_script(value: object) -> Iterator[str]:
    language: object = "painless"
    if isinstance(value, Mapping):
        # Scripts of fields and of scores are one level deeper, where the key `script` is found again.
        if not {"source", "inline", "lang", "id"} & set(value):
            return
        if "id" in value:
            return
        language = value.get("lang", language)
    if isinstance(value, str | Mapping):
        yield _OF_LANGUAGE.get(str(language), "lang-painless")


def _needs_of_analysis(analysis: Mapping[str, Any]) -> Iterator[str]:
    defined = {name for part in analysis.values() if isinstance(part, Mapping) for name in part}
    for part in analysis.values():
        for definition in part.values() if isinstance(part, Mapping) else ():
            if isinstance(definition, Mapping) and not _names_used(definition) <= defined | _SERVER_ANALYSIS:
                yield "analysis-common"


def _names_used(definition: Mapping[str, Any]) -> set[str]:
    """Returns the analyzers, tokenizers and filters that a definition of an index is made of."""
    names: set[str] = set()
    for key in ("type", "tokenizer", "filter", "char_filter"):
        value = definition.get(key)
        names.update(map(str, value if isinstance(value, list | tuple) else [value] if value else ()))
    return names
