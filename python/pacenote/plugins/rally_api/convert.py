"""Converts the frozen track to the objects that plug-ins change, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pacenote.errors import TrackError
from pacenote.model import track as model
from pacenote.model.messages import quoted
from pacenote.operations.base import include_in_reporting
from pacenote.operations.registry import find_type
from pacenote.plugins.rally_api import track as rally
from pacenote.units import OPS, Rate


def to_rally(track: model.Track, selected: str | None) -> rally.Track:
    """Converts a track for plug-ins; `selected` is the name of the challenge that the user chose."""
    operations = _Operations()
    return rally.Track(
        name=track.name,
        description=track.description,
        meta_data=_mutable(track.meta),
        challenges=[
            _challenge(challenge, selected, track.default_challenge, operations)
            for challenge in track.challenges
        ],
        indices=[rally.Index(index.name, _mutable(index.body)) for index in track.indices],
        data_streams=[rally.DataStream(stream.name) for stream in track.data_streams],
        templates=[_template(template) for template in track.templates],
        composable_templates=[_template(template) for template in track.composable_templates],
        component_templates=[
            rally.ComponentTemplate(template.name, _mutable(template.body))
            for template in track.component_templates
        ],
        corpora=[_corpus(corpus) for corpus in track.corpora],
        dependencies=list(track.dependencies),
        has_plugins=True,
        root=str(track.root),
    )


def to_model(track: rally.Track, before: model.Track) -> model.Track:
    """Converts a track back after plug-ins changed it; parts without a Rally equivalent are taken from
    `before`.

    Raises `TrackError` if the changes made the track invalid.
    """
    frozen = _Freezer()
    try:
        return dataclasses.replace(
            before,
            name=track.name,
            meta=track.meta_data,
            challenges=tuple(frozen.challenge(challenge) for challenge in track.challenges),
            indices=tuple(model.Index(index.name, index.body or None) for index in track.indices),
            data_streams=tuple(model.DataStream(stream.name) for stream in track.data_streams),
            templates=tuple(
                model.IndexTemplate(
                    template.name, template.pattern, template.content, template.delete_matching_indices
                )
                for template in track.templates
            ),
            composable_templates=tuple(
                model.ComposableTemplate(
                    template.name, template.pattern, template.content, template.delete_matching_indices
                )
                for template in track.composable_templates
            ),
            component_templates=tuple(
                model.ComponentTemplate(template.name, template.content)
                for template in track.component_templates
            ),
            corpora=tuple(map(_frozen_corpus, track.corpora)),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise TrackError(
            f"the track processors of {quoted(before.name)} left an invalid track: {error}"
        ) from error


def _mutable(value: Any) -> Any:
    """Returns a mutable copy of a JSON value."""
    if isinstance(value, Mapping):
        return {key: _mutable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mutable(item) for item in value]
    return value


def _template(template: model.IndexTemplate | model.ComposableTemplate) -> rally.IndexTemplate:
    return rally.IndexTemplate(
        template.name, template.pattern, _mutable(template.body), template.delete_matching_indices
    )


def _corpus(corpus: model.Corpus) -> rally.DocumentCorpus:
    documents = [_documents(corpus, document) for document in corpus.documents]
    converted = rally.DocumentCorpus(corpus.name, documents, _mutable(corpus.meta))
    converted.origin = corpus
    return converted


def _documents(corpus: model.Corpus, documents: model.Documents) -> rally.Documents:
    converted = rally.Documents(
        documents.source_format,
        documents.document_file,
        documents.archive,
        documents.base_url or corpus.base_url,
        includes_action_and_meta_data=documents.includes_action_and_meta_data,
        number_of_documents=documents.document_count or 0,
        compressed_size_in_bytes=documents.compressed_bytes,
        uncompressed_size_in_bytes=documents.uncompressed_bytes,
        target_index=documents.target_index,
        target_data_stream=documents.target_data_stream,
        meta_data=_mutable(documents.meta),
    )
    converted.origin = documents
    return converted


class _Operations:
    """Converts operations; an operation that tasks share remains one object."""

    def __init__(self) -> None:
        self._made: dict[int, rally.Operation] = {}

    def of(self, operation: model.Operation) -> rally.Operation:
        known = self._made.get(id(operation))
        if known is None:
            known = self._made[id(operation)] = self._make(operation)
        return known

    def _make(self, operation: model.Operation) -> rally.Operation:
        params = {"name": operation.name, "operation-type": operation.type, **_mutable(operation.params)}
        params.setdefault("include-in-reporting", include_in_reporting(find_type(operation.type), params))
        return rally.Operation(
            operation.name,
            operation.type,
            meta_data=_mutable(operation.meta),
            params=params,
            param_source=params.get("param-source"),
            origin=operation,
        )


def _challenge(
    challenge: model.Challenge, selected: str | None, default: model.Challenge, operations: _Operations
) -> rally.Challenge:
    return rally.Challenge(
        name=challenge.name,
        description=challenge.description,
        user_info=challenge.user_info,
        default=challenge is default,
        selected=challenge.name == selected,
        auto_generated=challenge.auto_generated,
        parameters=_mutable(challenge.parameters),
        meta_data=_mutable(challenge.meta),
        schedule=[_element(element, operations) for element in challenge.schedule],
        origin=challenge,
    )


def _element(element: model.Task | model.Parallel, operations: _Operations) -> rally.Task | rally.Parallel:
    if isinstance(element, model.Task):
        return _task(element, operations)
    tasks = [_task(task, operations) for task in element.tasks]
    for task in tasks:
        task.completes_parent = task.name == element.completed_by
        task.any_completes_parent = element.completed_by == model.ANY_TASK
    converted = rally.Parallel(tasks, element.clients)
    converted.origin = element
    return converted


def _task(task: model.Task, operations: _Operations) -> rally.Task:
    return rally.Task(
        name=task.name,
        operation=operations.of(task.operation),
        tags=task.tags,
        meta_data=_mutable(task.meta),
        warmup_iterations=task.warmup_iterations,
        iterations=task.iterations,
        warmup_time_period=task.warmup_time_period,
        time_period=task.time_period,
        ramp_up_time_period=task.ramp_up_time_period,
        clients=task.clients,
        schedule=task.schedule if "schedule" in task.params else None,
        params=_with_rate(_mutable(task.params), task),
        origin=task,
    )


def _with_rate(params: dict[str, Any], task: model.Task) -> dict[str, Any]:
    """Returns the keys of a task with the target rate of the model, which test mode may have changed."""
    if task.target_throughput is not None and "target-throughput" not in params:
        params["target-throughput"] = task.target_throughput.value
    return params


def _frozen_corpus(corpus: rally.DocumentCorpus) -> model.Corpus:
    documents = tuple(map(_frozen_documents, corpus.documents))
    origin: model.Corpus = corpus.origin or model.Corpus(corpus.name, ())
    return replace(origin, name=corpus.name, documents=documents, meta=corpus.meta_data)


def _frozen_documents(documents: rally.Documents) -> model.Documents:
    origin: model.Documents = documents.origin or model.Documents("")
    return replace(
        origin,
        source_file=documents.document_archive or documents.document_file or "",
        document_count=documents.number_of_documents or None,
        compressed_bytes=documents.compressed_size_in_bytes or None,
        uncompressed_bytes=documents.uncompressed_size_in_bytes or None,
        includes_action_and_meta_data=documents.includes_action_and_meta_data,
        target_index=documents.target_index,
        target_data_stream=documents.target_data_stream,
        base_url=origin.base_url or documents.base_url,
        source_format=documents.source_format,
        meta=documents.meta_data,
    )


class _Freezer:
    """Converts challenges back; an operation that tasks share remains one object."""

    def __init__(self) -> None:
        self._operations: dict[int, model.Operation] = {}

    def challenge(self, challenge: rally.Challenge) -> model.Challenge:
        schedule = tuple(self._element(element) for element in challenge.schedule)
        origin: model.Challenge = challenge.origin or model.Challenge(challenge.name, ())
        return replace(
            origin,
            name=challenge.name,
            schedule=schedule,
            meta=challenge.meta_data,
            parameters=challenge.parameters,
        )

    def _element(self, element: rally.Task | rally.Parallel) -> model.Task | model.Parallel:
        if isinstance(element, rally.Task):
            return self._task(element)
        tasks = tuple(map(self._task, element.tasks))
        origin: model.Parallel = element.origin or model.Parallel(())
        completed_by = _completed_by(element.tasks)
        return dataclasses.replace(origin, tasks=tasks, clients=element.wanted, completed_by=completed_by)

    def _task(self, task: rally.Task) -> model.Task:
        origin: model.Task = task.origin or model.Task(task.name, self._operation(task.operation))
        rate, interval = _pace(task, origin)
        return dataclasses.replace(
            origin,
            name=task.name,
            operation=self._operation(task.operation),
            clients=task.clients,
            warmup_iterations=task.warmup_iterations,
            iterations=task.iterations,
            warmup_time_period=task.warmup_time_period,
            time_period=task.time_period,
            ramp_up_time_period=task.ramp_up_time_period,
            target_throughput=rate,
            target_interval=interval,
            schedule=task.schedule or "deterministic",
            tags=tuple(task.tags),
            tolerates_errors=task.ignore_response_error_level == "non-fatal",
            meta=task.meta_data or {},
            params=task.params,
        )

    def _operation(self, operation: rally.Operation) -> model.Operation:
        known = self._operations.get(id(operation))
        if known is None:
            params = {
                key: value for key, value in (operation.params or {}).items() if key not in _NAMING_KEYS
            }
            if not _is_declared("include-in-reporting", operation.origin):
                params.pop("include-in-reporting", None)
            if operation.param_source:
                params["param-source"] = operation.param_source
            origin = operation.origin or model.Operation(operation.name, operation.type)
            known = dataclasses.replace(
                origin,
                name=operation.name,
                type=_type_name(operation.type),
                params=params,
                meta=operation.meta_data,
            )
            self._operations[id(operation)] = known
        return known


_NAMING_KEYS = ("name", "operation-type")


def _is_declared(key: str, origin: model.Operation | None) -> bool:
    return origin is None or key in origin.params


def _type_name(name: object) -> str:
    """Returns the name of an operation type, given as a string or as a member of `OperationType`."""
    return name if isinstance(name, str) else str(getattr(name, "value", name))


def _completed_by(tasks: Iterable[rally.Task]) -> str | None:
    for task in tasks:
        if task.any_completes_parent:
            return model.ANY_TASK
        if task.completes_parent:
            return task.name
    return None


def _pace(task: rally.Task, origin: model.Task) -> tuple[Rate | None, float | None]:
    """Returns the target rate or interval of a task: that of the model, unless a plug-in changed it."""
    keys = ("target-throughput", "target-interval")
    written = _with_rate(dict(origin.params), origin)
    if task.origin is not None and all(task.params.get(key) == written.get(key) for key in keys):
        return origin.target_throughput, origin.target_interval
    target = task.target_throughput
    return (
        (None, None) if target is None else (Rate(target.value, target.unit.removesuffix("/s") or OPS), None)
    )


def set_data_files(
    track: rally.Track, folders: Sequence[Path], data_files: Mapping[tuple[str, str], tuple[Path, int]]
) -> None:
    """Sets the absolute path of every data file of the track, as parameter sources expect it.

    `data_files` maps corpus and source file to a prepared file and its number of documents. Other files are
    looked up in `folders`, which contain a folder for each corpus, or the files directly.
    """
    for corpus in track.corpora:
        for documents in corpus.documents:
            name = documents.document_archive or documents.document_file or ""
            prepared = data_files.get((corpus.name, name))
            if prepared is not None:
                documents.document_file, documents.number_of_documents = str(prepared[0]), prepared[1]
                continue
            if documents.document_file:
                documents.document_file = _first_existing(folders, corpus.name, documents.document_file)


def _first_existing(folders: Sequence[Path], corpus: str, name: str) -> str:
    candidates = [path for folder in folders for path in (folder / corpus / name, folder / name)]
    return str(next((path for path in candidates if path.exists()), candidates[0] if candidates else name))
