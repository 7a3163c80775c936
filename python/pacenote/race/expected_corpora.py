"""The data that a race would use, found without downloading, unpacking or generating anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from pacenote.model.progress import no_progress
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Corpus, CorpusFile, Documents
from pacenote.operations.base import DataFile
from pacenote.plan.corpora import SourceFiles, required_files
from pacenote.race.corpora import CorpusPreparer
from pacenote.race.corpus_selection import (
    download_location,
    full_file,
    generated_document_counts,
    is_excerpt,
)
from pacenote.race.data_files import DataDirs
from pacenote.track.prepare import PreparedTrack


class ExpectedCorpus(Struct, frozen=True):
    """The data of one corpus."""

    name: str
    """The name of the corpus."""

    source: str
    """Where the data comes from, in words."""

    documents: Mapping[str, int | None] = field(default_factory=dict)
    """Number of documents by name of the source file, or None if it is not known before they are counted."""


class ExpectedCorpora(Struct, frozen=True):
    """The data that a challenge indexes."""

    corpora: tuple[ExpectedCorpus, ...]
    """Its corpora, in the order of the track."""

    def data_file(self, file: CorpusFile) -> DataFile:
        """Returns a file with its expected number of documents, 0 if it is not known. Implements
        `DataFileLookup`.
        """
        corpus = next(candidate for candidate in self.corpora if candidate.name == file.corpus.name)
        name = file.documents.source_file
        return DataFile(Path(corpus.name, file.documents.document_file), corpus.documents.get(name) or 0)


def expect_corpora(
    prepared: PreparedTrack, request: RaceRequest, source_files: SourceFiles
) -> ExpectedCorpora:
    """Returns the data that a challenge would index. Raises CorpusError for data that the race would
    reject.
    """
    preparer = CorpusPreparer(prepared.track, request, no_progress)
    wanted: dict[str, list[Documents]] = {}
    corpora: dict[str, Corpus] = {}
    for file in required_files(prepared.track, prepared.challenge, source_files):
        corpora[file.corpus.name] = file.corpus
        wanted.setdefault(file.corpus.name, []).append(file.documents)
    expected = (_expect(preparer, corpora[name], documents, request) for name, documents in wanted.items())
    return ExpectedCorpora(tuple(expected))


def _expect(
    preparer: CorpusPreparer, corpus: Corpus, wanted: Sequence[Documents], request: RaceRequest
) -> ExpectedCorpus:
    """Returns the data of a corpus, from the source that `CorpusPreparer.prepare` would use."""
    if request.corpus == "generated":
        preparer.generator_name(corpus)
        return _generated(corpus, wanted, request)
    dirs = preparer.dirs(corpus)
    sources = [_source(preparer, corpus, documents, dirs) for documents in wanted]
    if "" in sources:
        if request.corpus is None and preparer.can_generate_instead(corpus, wanted):
            return _generated(corpus, wanted, request)
        missing = wanted[sources.index("")]
        if missing.is_local:
            # The user named it, and a race would reject it as well.
            raise preparer.not_found(corpus, missing, dirs)
        return ExpectedCorpus(corpus.name, f"{missing.source_file} is missing, so the race would not begin")
    counts = {documents.source_file: documents.document_count for documents in wanted}
    return ExpectedCorpus(corpus.name, "; ".join(dict.fromkeys(sources)), counts)


def _source(preparer: CorpusPreparer, corpus: Corpus, documents: Documents, dirs: DataDirs) -> str:
    """Returns where a file comes from, or an empty string if it is missing."""
    path = dirs.find(documents)
    if path is not None:
        return f"in {path.parent}"
    if preparer.may_download(corpus, documents):
        return f"to be downloaded from {download_location(documents).base_url or 'a mirror'}"
    full = dirs.find(full_file(documents)) if is_excerpt(documents) else None
    return f"the first documents of {full}" if full else ""


def _generated(corpus: Corpus, wanted: Sequence[Documents], request: RaceRequest) -> ExpectedCorpus:
    counts = generated_document_counts(corpus, wanted, request.corpus_documents)
    by_file = {documents.source_file: counts[full_file(documents).document_file] for documents in wanted}
    return ExpectedCorpus(corpus.name, f"generated with seed {request.seed}", by_file)
