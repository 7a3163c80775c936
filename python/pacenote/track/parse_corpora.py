"""Parses the corpora of a track: data files and the targets of their documents."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.track import Corpus, CorpusGenerator, Documents


class IndexTargets(Struct, frozen=True):
    """The indices and data streams that documents can be written to."""

    indices: tuple[str, ...]
    """Names of the indices of the track."""

    data_streams: tuple[str, ...]
    """Names of its data streams."""


class _Defaults(Struct, frozen=True):
    """The defaults that a corpus sets for its files."""

    base_url: str | None
    source_format: str
    has_action_lines: bool
    index: str | None
    data_stream: str | None


class _DocumentTarget(Struct, frozen=True):
    """The index or the data stream that the documents of a file are written to."""

    index: str | None = None
    data_stream: str | None = None


def parse_corpora(root: FieldReader, targets: IndexTargets) -> tuple[Corpus, ...]:
    """Returns the corpora of a track; their names are unique."""
    corpora: list[Corpus] = []
    for item in root.children("corpora"):
        corpus = _corpus(item, targets)
        if any(corpus.name == other.name for other in corpora):
            item.problem("name", f"is {quoted(corpus.name)}, which is not unique among the corpora")
        corpora.append(corpus)
    return tuple(corpora)


def _corpus(item: FieldReader, targets: IndexTargets) -> Corpus:
    defaults = _Defaults(
        base_url=item.text("base-url") or None,
        source_format=_source_format(item, "bulk"),
        has_action_lines=item.flag("includes-action-and-meta-data", False),
        index=_target(item, "target-index", _sole(targets.indices)),
        data_stream=_target(item, "target-data-stream", _sole(targets.data_streams)),
    )
    _reject_mapping_type(item)
    item.required("documents")
    return Corpus(
        name=item.required_text("name"),
        documents=tuple(_documents(file, defaults, targets) for file in item.children("documents")),
        base_url=defaults.base_url,
        meta=item.mapping("meta"),
        generator=_generator(item),
        params=item.data,
    )


def _documents(item: FieldReader, defaults: _Defaults, targets: IndexTargets) -> Documents:
    _reject_mapping_type(item)
    has_action_lines = item.flag("includes-action-and-meta-data", defaults.has_action_lines)
    target = _DocumentTarget() if has_action_lines else _document_target(item, defaults, targets)
    return Documents(
        source_file=item.required_text("source-file"),
        document_count=item.integer("document-count", 1),
        compressed_bytes=item.integer("compressed-bytes", 1),
        uncompressed_bytes=item.integer("uncompressed-bytes", 1),
        includes_action_and_meta_data=has_action_lines,
        target_index=target.index,
        target_data_stream=target.data_stream,
        base_url=item.text("base-url") or defaults.base_url,
        source_format=_source_format(item, defaults.source_format),
        meta=item.mapping("meta"),
        params=item.data,
    )


def _document_target(item: FieldReader, defaults: _Defaults, targets: IndexTargets) -> _DocumentTarget:
    index = _target(item, "target-index", defaults.index)
    stream = _target(item, "target-data-stream", defaults.data_stream)
    if targets.indices and stream:
        item.problem("target-data-stream", "cannot be used: the track declares indices, not data streams")
    elif targets.data_streams and index:
        item.problem("target-index", "cannot be used: the track declares data streams, not indices")
    elif index and stream:
        item.problem("target-data-stream", "cannot be used together with target-index")
    elif not index and not stream:
        key = "target-data-stream" if targets.data_streams else "target-index"
        item.problem(key, "is missing: the track has no single target, and the file has no action lines")
    return _DocumentTarget(index, stream)


def _target(item: FieldReader, key: str, default: str | None) -> str | None:
    return item.text(key) or default


def _sole(names: tuple[str, ...]) -> str | None:
    return names[0] if len(names) == 1 else None


def _source_format(item: FieldReader, default: str) -> str:
    return item.choice("source-format", ["bulk"], default)


def _reject_mapping_type(item: FieldReader) -> None:
    if "target-type" in item.data:
        item.problem("target-type", "is not supported: engines no longer have mapping types")


def _generator(item: FieldReader) -> CorpusGenerator | None:
    if not item.has("generator"):
        return None
    generator = item.child("generator")
    generator.required("documents")
    return CorpusGenerator(
        name=generator.required_text("name"),
        documents=generator.integer("documents", 1) or 1,
        params=generator.data,
    )
