"""Which data a race asks for: the names in test mode, and how much of a corpus is generated. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from pacenote.model.track import Corpus, Documents
from pacenote.units import split_by_weight

MOST_GENERATED = 1_000_000
"""Documents of a corpus that are generated unless another number is asked for."""


def is_excerpt(documents: Documents) -> bool:
    """Whether test mode asks for a small file (`-1k`) in the place of the declared one."""
    return bool(documents.source_file != documents.params.get("source-file", documents.source_file))


def full_file(documents: Documents) -> Documents:
    """The file as the track declares it, also where test mode asks for a small one."""
    if not is_excerpt(documents):
        return documents
    return dataclasses.replace(
        documents,
        source_file=str(documents.params["source-file"]),
        document_count=documents.params.get("document-count"),
        compressed_bytes=documents.params.get("compressed-bytes"),
        uncompressed_bytes=documents.params.get("uncompressed-bytes"),
    )


def base_of(documents: Documents) -> tuple[str | None, str]:
    """The address of the folder a file is downloaded from (None: not declared), and its name there.

    OpenSearch Benchmark's `source-url` names the file itself.
    """
    url = documents.params.get("source-url")
    if isinstance(url, str) and not is_excerpt(documents):
        folder, _, name = url.rpartition("/")
        return folder, name
    return documents.base_url, documents.source_file


def generated_counts(corpus: Corpus, wanted: Sequence[Documents], most: int | None) -> Mapping[str, int]:
    """Documents to generate by the name of the unpacked file.

    What the track declares, in the same proportions but together at most `most` (`MOST_GENERATED` when it is
    None); each file gets one at least. A track that says itself how many are generated gets those, unless
    `most` is given or test mode wants fewer.
    """
    declared = {_name(documents): documents.document_count or MOST_GENERATED for documents in wanted}
    total = sum(declared.values())
    if corpus.generator is None:
        total = min(total, most or MOST_GENERATED)
    elif any(map(is_excerpt, wanted)):
        total = min(total, most or corpus.generator.documents)
    else:
        shares = _generator_shares(corpus, most)
        return {name: shares[name] for name in declared}
    counts = split_by_weight(max(total, len(declared)), tuple(declared.values()))
    return dict(zip(declared, counts, strict=True))


def _generator_shares(corpus: Corpus, most: int | None) -> Mapping[str, int]:
    """The shares of all files, those that no task needs too: a file is the same whichever others are made."""
    names = [_name(documents) for documents in corpus.documents]
    if most is None or corpus.generator is None:
        counts = corpus.declared_counts()
    else:
        asked = dataclasses.replace(corpus.generator, documents=most)
        counts = dataclasses.replace(corpus, generator=asked).declared_counts()
    return {name: count or 0 for name, count in zip(names, counts, strict=True)}


def _name(documents: Documents) -> str:
    return full_file(documents).document_file
