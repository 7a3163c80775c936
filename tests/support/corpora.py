"""Corpora for tests."""

from __future__ import annotations

import dataclasses

from pacenote.model.track import Corpus


def in_test_mode(corpus: Corpus) -> Corpus:
    """Returns a corpus as changed by test mode: with small files of 1,000 documents."""
    return dataclasses.replace(
        corpus,
        documents=tuple(
            dataclasses.replace(
                each,
                source_file=each.source_file.replace(".json", "-1k.json"),
                document_count=1_000,
                compressed_bytes=None,
                uncompressed_bytes=None,
            )
            for each in corpus.documents
        ),
    )
