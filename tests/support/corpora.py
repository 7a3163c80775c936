"""Corpora for tests."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.track import Corpus


def in_test_mode(corpus: Corpus) -> Corpus:
    """Returns a corpus as changed by test mode: with small files of 1,000 documents."""
    return replace(
        corpus,
        documents=tuple(
            replace(
                each,
                source_file=each.source_file.replace(".json", "-1k.json"),
                document_count=1_000,
                compressed_bytes=None,
                uncompressed_bytes=None,
            )
            for each in corpus.documents
        ),
    )
