"""Preparing the data of a race: found, downloaded, unpacked or generated, and counted. Nothing is measured
yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.fetch.address import addresses
from pacenote.fetch.download import NotAvailable, Wanted, download
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_record import CorpusOrigin, RecordedCorpus
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Challenge, Corpus, Documents, Task, Track
from pacenote.plan.corpora import Selected, needed_documents, no_documents
from pacenote.race.corpus_selection import base_of, full_file, generated_counts, is_excerpt
from pacenote.race.data_files import DataFile, Shelf, first_documents, inside, open_data
from pacenote.race.generated_corpora import alone_in, core_call, folder_name, generated_corpus


@dataclass(frozen=True, slots=True)
class PreparedCorpora:
    """All data a challenge needs."""

    used: tuple[RecordedCorpus, ...]
    files: Mapping[tuple[str, str], DataFile] = field(default_factory=dict)

    def data_file(self, corpus: Corpus, documents: Documents) -> tuple[PurePath, int]:
        """The `DataFileLookup` of the planner."""
        file = self.files[corpus.name, documents.source_file]
        return file.path, file.documents


def prepare(
    track: Track,
    challenge: Challenge,
    request: RaceRequest,
    progress: ProgressCallback,
    sourced: Callable[[Task], Selected] = no_documents,
) -> PreparedCorpora:
    """Prepares the data that a challenge indexes, and nothing else; `sourced` says what parameter sources in
    Python read.

    Raises CorpusError: data that is missing and cannot be generated, a broken archive, or another size or
    number of documents than the track declares.
    """
    needed: dict[str, list[Documents]] = {}
    corpora: dict[str, Corpus] = {}
    for corpus, documents in needed_documents(track, challenge, sourced):
        corpora[corpus.name] = corpus
        needed.setdefault(corpus.name, []).append(documents)
    preparation = _Preparation(track, request, progress)
    files: dict[tuple[str, str], DataFile] = {}
    used = []
    for name, wanted in needed.items():
        origin, prepared = preparation.corpus(corpora[name], tuple(wanted))
        for documents, file in zip(wanted, prepared, strict=True):
            files[name, documents.source_file] = file
        used.append(_used(name, origin, prepared, request.seed))
    return PreparedCorpora(tuple(used), files)


def _used(name: str, origin: CorpusOrigin, prepared: tuple[DataFile, ...], seed: int) -> RecordedCorpus:
    # A file that goes into several indices is one file.
    files = tuple(dict.fromkeys(prepared))
    return RecordedCorpus(
        name=name,
        origin=origin,
        documents=sum(file.documents for file in files),
        bytes=sum(file.path.stat().st_size for file in files),
        files=tuple(file.path.name for file in files),
        seed=seed if origin == "generated" else None,
    )


def crc32c(file: Path) -> int:
    """The CRC-32C of a file. Raises CorpusError."""
    return core_call(lambda: _core.crc32c(str(file)))


class _Preparation:
    """Finds and makes data for one race."""

    def __init__(self, track: Track, request: RaceRequest, progress: ProgressCallback) -> None:
        self._folders = (Path(track.root),) if request.track_path else ()
        self._home = request.dataset_cache or request.home / "corpora"
        self._request = request
        self._progress = progress

    def corpus(
        self, corpus: Corpus, wanted: tuple[Documents, ...]
    ) -> tuple[CorpusOrigin, tuple[DataFile, ...]]:
        """The files of a corpus, by the choice of `--corpus`.

        Without a choice the declared data is used where it is there, and otherwise generated where the track
        says how. In test mode, small files that are not to be had are cut out of the full ones, or else
        generated.
        """
        choice = self._request.corpus
        if choice == "generated":
            return "generated", self._generated(corpus, wanted)
        shelf = Shelf(inside(self._home, corpus.name, corpus), self._folders)
        try:
            found, cut = zip(*(self._had(corpus, documents, shelf) for documents in wanted), strict=True)
        except NotAvailable:
            if choice is None and self._falls_back(corpus, wanted):
                return "generated", self._generated(corpus, wanted)
            raise
        files = tuple(
            open_data(path, documents, shelf, self._progress, checked=choice != "as-is")
            for documents, path in zip(wanted, found, strict=True)
        )
        return self._origin(wanted, cut=any(cut)), files

    def _had(self, corpus: Corpus, documents: Documents, shelf: Shelf) -> tuple[Path, bool]:
        """The file, found or downloaded; in test mode, True with the beginning of the full one.

        Raises NotAvailable.
        """
        path = shelf.find(documents)
        if path is not None:
            return path, False
        try:
            return self._downloaded(corpus, documents, shelf), False
        except NotAvailable:
            full = shelf.find(full_file(documents)) if is_excerpt(documents) else None
            if full is None:
                raise
        return first_documents(full, documents, shelf, self._progress), True

    def _downloaded(self, corpus: Corpus, documents: Documents, shelf: Shelf) -> Path:
        request, name = self._request, documents.source_file
        base_url, remote = base_of(documents)
        makes = corpus.generator is not None and request.corpus is None
        known = addresses(base_url, remote, corpus.name, request.corpus_mirrors)
        if documents.is_local or makes or request.offline or not known:
            raise self._missing(corpus, documents, shelf, offline=request.offline and bool(known))
        target = inside(shelf.own, name, corpus)
        size = documents.compressed_bytes if documents.archive else documents.uncompressed_bytes
        with alone_in(target.parent):
            # Another race may have brought it while this one waited.
            if found := shelf.find(documents):
                return found
            checked = None if request.corpus == "as-is" else size
            try:
                download(Wanted(target, known, checked, crc32c), self._progress)
            except NotAvailable as failure:
                hint = f"{failure.hint}; or {self._way_out(corpus, shelf)}"
                raise NotAvailable(f"corpus '{corpus.name}': {failure.message}", hint=hint) from failure
        return target

    def _origin(self, wanted: Sequence[Documents], *, cut: bool) -> CorpusOrigin:
        if self._request.corpus == "as-is" or any(each.document_count is None for each in wanted):
            return "as-is"
        return "excerpt" if cut else "declared"

    def _falls_back(self, corpus: Corpus, wanted: Sequence[Documents]) -> bool:
        """Whether a corpus that cannot be had is generated without being asked for it."""
        return corpus.generator is not None or (
            any(map(is_excerpt, wanted)) and corpus.name in _core.generators()
        )

    def _generated(self, corpus: Corpus, wanted: tuple[Documents, ...]) -> tuple[DataFile, ...]:
        name = corpus.generator.name if corpus.generator else corpus.name
        known = _core.generators()
        if name not in known:
            raise CorpusError(
                f"corpus '{corpus.name}' cannot be generated: there is no generator for it",
                hint=f"there is one for {', '.join(known)}; leave the tasks that need it out with "
                "--exclude-tasks, or choose another --challenge",
            )
        counts = generated_counts(corpus, wanted, self._request.corpus_documents)
        folder = self._home / name / folder_name(counts, self._request.seed)
        made = generated_corpus(name, counts, self._request.seed, folder, self._progress)
        names = [full_file(documents).document_file for documents in wanted]
        return tuple(DataFile(folder / file, made[file]) for file in names)

    def _missing(self, corpus: Corpus, documents: Documents, shelf: Shelf, *, offline: bool) -> NotAvailable:
        message = f"{documents.source_file} of corpus '{corpus.name}' is not there"
        if documents.is_local:
            return NotAvailable(message, hint="the path is seen from the folder you are in")
        if offline:
            message += ", and --offline forbids downloading it"
        return NotAvailable(message, hint=self._way_out(corpus, shelf))

    def _way_out(self, corpus: Corpus, shelf: Shelf) -> str:
        can = corpus.name in _core.generators()
        return f"put it into {shelf.own}" + (", or use --corpus=generated" if can else "")
