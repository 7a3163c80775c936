"""Selects the files of a corpus, their download locations, and the number of documents to generate.

Pure: does not access the disk or the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.track import Corpus, Documents
from pacenote.units import split_by_weight

MAX_GENERATED_DOCUMENTS = 1_000_000
"""Maximum number of documents generated for a corpus, unless `--corpus-documents` is given."""


class DownloadLocation(Struct, frozen=True):
    """The published location of a data file."""

    base_url: str | None
    """URL of the folder, or None if the track declares none."""

    file_name: str
    """Name of the file in that folder."""


def is_excerpt(documents: Documents) -> bool:
    """Returns whether test mode has replaced the declared file with a small one (`-1k`)."""
    return bool(documents.source_file != documents.params.get("source-file", documents.source_file))


def full_file(documents: Documents) -> Documents:
    """Returns the file that the track declares, even if test mode has replaced it with a small one."""
    if not is_excerpt(documents):
        return documents
    return replace(
        documents,
        source_file=str(documents.params["source-file"]),
        document_count=documents.params.get("document-count"),
        compressed_bytes=documents.params.get("compressed-bytes"),
        uncompressed_bytes=documents.params.get("uncompressed-bytes"),
    )


def download_location(documents: Documents) -> DownloadLocation:
    """Returns the published location of a data file.

    `source-url`, a parameter of OpenSearch Benchmark, is the URL of the file itself.
    """
    url = documents.params.get("source-url")
    if isinstance(url, str) and not is_excerpt(documents):
        folder, _, name = url.rpartition("/")
        return DownloadLocation(folder, name)
    return DownloadLocation(documents.base_url, documents.source_file)


def generated_document_counts(
    corpus: Corpus, files: Sequence[Documents], limit: int | None
) -> Mapping[str, int]:
    """Returns the number of documents to generate for each unpacked file, by file name.

    The counts keep the declared proportions and add up to at most `limit` (None:
    `MAX_GENERATED_DOCUMENTS`), with at least one document per file. If the track declares the number of
    generated documents, that number is used, unless `limit` is given or test mode needs fewer.
    """
    declared = {_name(documents): documents.document_count or MAX_GENERATED_DOCUMENTS for documents in files}
    total = sum(declared.values())
    if corpus.generator is None:
        total = min(total, limit or MAX_GENERATED_DOCUMENTS)
    elif any(map(is_excerpt, files)):
        total = min(total, limit or corpus.generator.documents)
    else:
        counts_by_name = _generator_counts(corpus, limit)
        return {name: counts_by_name[name] for name in declared}
    counts = split_by_weight(max(total, len(declared)), tuple(declared.values()))
    return dict(zip(declared, counts, strict=True))


def _generator_counts(corpus: Corpus, limit: int | None) -> Mapping[str, int]:
    """Returns the counts of all files, including those that no task needs.

    The content of a file therefore does not depend on the other files that are generated.
    """
    names = [_name(documents) for documents in corpus.documents]
    if limit is None or corpus.generator is None:
        counts = corpus.declared_counts()
    else:
        generator = replace(corpus.generator, documents=limit)
        counts = replace(corpus, generator=generator).declared_counts()
    return {name: count or 0 for name, count in zip(names, counts, strict=True)}


def _name(documents: Documents) -> str:
    return full_file(documents).document_file
