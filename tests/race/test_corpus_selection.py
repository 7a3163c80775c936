"""The number of documents that are generated for each file of a corpus."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.track import Corpus, CorpusGenerator, Documents
from pacenote.race.corpus_selection import generated_document_counts
from support.corpora import in_test_mode


def test_document_counts_keep_the_declared_proportions() -> None:
    files = (Documents("a.json.bz2", 3_000_000), Documents("b.json", 1_000_000), Documents("c.json.gz", 5))
    corpus = Corpus("notes", files)
    assert generated_document_counts(corpus, files, None) == {
        "a.json": 749_999,
        "b.json": 250_000,
        "c.json": 1,
    }
    assert generated_document_counts(corpus, files, 40) == {"a.json": 29, "b.json": 10, "c.json": 1}
    assert generated_document_counts(corpus, files[2:], 40) == {"c.json": 5}
    assert generated_document_counts(corpus, files, 2) == {"a.json": 1, "b.json": 1, "c.json": 1}
    excerpts = in_test_mode(
        Corpus("notes", (Documents("a.json", 3_000_000, params={"source-file": "a.json"}),))
    )
    assert generated_document_counts(excerpts, excerpts.documents, None) == {"a.json": 1_000}
    own = replace(corpus, generator=CorpusGenerator("http_logs", 400))
    assert generated_document_counts(own, files[1:], None) == {"b.json": 100, "c.json": 1}
    assert generated_document_counts(own, files, 40) == {"a.json": 29, "b.json": 10, "c.json": 1}
