"""Prepares the data of a race before it starts: finds, downloads, unpacks or generates it, and counts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.fetch.download import Download, NotAvailable, download_file
from pacenote.fetch.remote_file import RemoteFile, remote_files
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_record import CorpusOrigin, RecordedCorpus
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Challenge, Corpus, CorpusFile, Documents, Track
from pacenote.operations.base import DataFile
from pacenote.plan.corpora import SourceFiles, no_source_files, required_files
from pacenote.race.corpus_selection import (
    download_location,
    full_file,
    generated_document_counts,
    is_excerpt,
)
from pacenote.race.data_file_states import FileChange, FileState, changes
from pacenote.race.data_files import DataDirs, open_data_file, write_excerpt
from pacenote.race.data_folder import call_core, exclusive_folder, path_inside
from pacenote.race.generated_corpora import GeneratedCorpus, ensure_generated
from pacenote.track.source import boundary_of

_DOWNLOAD_HINT = "check the network, or name a mirror with --corpus-mirror"


class PreparedCorpora(Struct, frozen=True):
    """The data that a challenge indexes."""

    recorded: tuple[RecordedCorpus, ...]
    """The entry of each corpus in the race record."""

    files: Mapping[tuple[str, str], DataFile] = field(default_factory=dict)
    """Data files by name of the corpus and name of the source file."""

    comparisons: tuple[Callable[[], None], ...] = ()
    """Wait for the comparisons of checksums that run in the background."""

    states: tuple[FileState, ...] = ()
    """The states of the data files when they were counted."""

    warnings: tuple[str, ...] = ()
    """A message for each corpus whose documents are generated without a request of the user or the track."""

    def verify(self) -> None:
        """Waits until the checksums of generated files are compared.

        Raises CorpusError if one differs, or if a data file was changed since it was counted.
        """
        for wait in self.comparisons:
            wait()
        if changed := [change.text for change in self.changes() if change.certain]:
            raise CorpusError(
                f"{'; '.join(changed)}, after the documents were counted",
                hint="do not change data files while a race uses them",
            )

    def changes(self) -> tuple[FileChange, ...]:
        """Returns what has happened to data files since their documents were counted."""
        return changes(self.states)

    def data_file(self, file: CorpusFile) -> DataFile:
        """Returns the prepared data file of a corpus. Implements `DataFileLookup` for the planner."""
        return self.files[file.corpus.name, file.documents.source_file]


class _CorpusFiles(Struct, frozen=True):
    """The files of one corpus."""

    origin: CorpusOrigin
    files: tuple[DataFile, ...]
    states: tuple[FileState, ...]
    verify: Callable[[], None] = lambda: None
    warning: str = ""
    """Why the documents are generated, if neither the user nor the track asked for it."""


class _LocatedFile(Struct, frozen=True):
    """A data file or an archive of it, before it is opened."""

    path: Path
    excerpt: bool
    """Whether it is an excerpt that was written from the full file for test mode."""


def prepare_corpora(
    track: Track,
    challenge: Challenge,
    request: RaceRequest,
    progress: ProgressCallback,
    source_files: SourceFiles = no_source_files,
) -> PreparedCorpora:
    """Prepares the data that a challenge indexes.

    `source_files` returns the data that the parameter source of a task reads. Raises CorpusError if data is
    missing and cannot be generated, if an archive is damaged, or if a size or number of documents differs
    from the track's declaration.
    """
    needed: dict[str, list[Documents]] = {}
    corpora: dict[str, Corpus] = {}
    for file in required_files(track, challenge, source_files):
        corpora[file.corpus.name] = file.corpus
        needed.setdefault(file.corpus.name, []).append(file.documents)
    preparer = CorpusPreparer(track, request, progress)
    files: dict[tuple[str, str], DataFile] = {}
    recorded, comparisons, states, warnings = [], [], list[FileState](), list[str]()
    for name, wanted in needed.items():
        prepared = preparer.prepare(corpora[name], tuple(wanted))
        for documents, data_file in zip(wanted, prepared.files, strict=True):
            files[name, documents.source_file] = data_file
        recorded.append(_record(name, prepared, request.seed))
        comparisons.append(prepared.verify)
        states.extend(prepared.states)
        warnings += [prepared.warning] if prepared.warning else []
    return PreparedCorpora(tuple(recorded), files, tuple(comparisons), tuple(states), tuple(warnings))


def _states(files: Iterable[DataFile]) -> tuple[FileState, ...]:
    """Returns the states of different files."""
    return tuple(FileState.of(path) for path in dict.fromkeys(file.path for file in files))


def _record(name: str, prepared: _CorpusFiles, seed: int) -> RecordedCorpus:
    # A file that is indexed into several indices counts once.
    files = tuple(dict.fromkeys(prepared.files))
    return RecordedCorpus(
        name=name,
        origin=prepared.origin,
        documents=sum(file.documents for file in files),
        bytes=sum(file.path.stat().st_size for file in files),
        files=tuple(file.path.name for file in files),
        seed=seed if prepared.origin == "generated" else None,
    )


class CorpusNotAvailable(CorpusError):
    """A data file is not on this machine and cannot be downloaded."""


def crc32c(file: Path) -> int:
    """Returns the CRC-32C of a file. Raises CorpusError."""
    return call_core(lambda: _core.crc32c(str(file)))


class CorpusPreparer:
    """Finds, downloads or generates the corpora of one race."""

    def __init__(self, track: Track, request: RaceRequest, progress: ProgressCallback) -> None:
        self._track_folders = (Path(track.root),) if request.track_path else ()
        self._allowed = None if request.allow_outside_paths else (boundary_of(Path(track.root)),)
        self._named_by_user = frozenset(
            value for value in request.track_params.values() if isinstance(value, str)
        )
        self._cache = request.data_root
        # Earlier races may have used the folder in Pacenote's home, before Rally's folder existed.
        other = request.own_data_root
        self._other_cache = None if other.absolute() == self._cache.absolute() else other
        self._request = request
        self._progress = progress

    def prepare(self, corpus: Corpus, wanted: tuple[Documents, ...]) -> _CorpusFiles:
        """Returns the files of a corpus, from the source that `--corpus` selects.

        Without that option, the declared files are used if they are available; otherwise they are generated
        if the track declares a generator. In test mode, a small file that is not available is written as an
        excerpt of the full file, or generated.
        """
        choice = self._request.corpus
        if choice == "generated":
            return self._generate(corpus, wanted)
        dirs = self.dirs(corpus)
        try:
            located = [self._locate(corpus, documents, dirs) for documents in wanted]
        except CorpusNotAvailable as error:
            if choice is not None or not self.can_generate_instead(corpus, wanted):
                raise
            generated = self._generate(corpus, wanted)
            unasked = corpus.generator is None
            return replace(generated, warning=f"{error.message}; documents are generated" if unasked else "")
        files = tuple(
            open_data_file(file.path, documents, dirs, self._progress, checked=choice != "as-is")
            for documents, file in zip(wanted, located, strict=True)
        )
        return _CorpusFiles(self._origin(wanted, located), files, _states(files))

    def dirs(self, corpus: Corpus) -> DataDirs:
        """Returns the folders that are searched for the files of a corpus. Raises CorpusError."""
        cache = path_inside(self._cache, corpus.name, corpus.name)
        other = self._other_cache and path_inside(self._other_cache, corpus.name, corpus.name)
        return DataDirs(cache, self._track_folders, self._allowed, self._named_by_user, other)

    def may_download(self, corpus: Corpus, documents: Documents) -> bool:
        """Returns whether a file is downloaded if it is not on this machine."""
        request = self._request
        generates = corpus.generator is not None and request.corpus is None
        may = not (documents.is_local or generates or request.offline)
        return may and bool(self._sources(corpus, documents))

    def _locate(self, corpus: Corpus, documents: Documents, dirs: DataDirs) -> _LocatedFile:
        """Finds or downloads the file; in test mode, it may be an excerpt of the full one.

        Raises CorpusNotAvailable.
        """
        path = dirs.find(documents)
        if path is not None:
            return _LocatedFile(path, excerpt=False)
        try:
            return _LocatedFile(self._download(corpus, documents, dirs), excerpt=False)
        except CorpusNotAvailable:
            full = dirs.find(full_file(documents)) if is_excerpt(documents) else None
            if full is None:
                raise
        return _LocatedFile(write_excerpt(full, documents, dirs, self._progress), excerpt=True)

    def _download(self, corpus: Corpus, documents: Documents, dirs: DataDirs) -> Path:
        request, name = self._request, documents.source_file
        sources = self._sources(corpus, documents)
        if not self.may_download(corpus, documents):
            raise self.not_found(corpus, documents, dirs, offline=request.offline and bool(sources))
        target = path_inside(dirs.cache, name, corpus.name)
        size = documents.compressed_bytes if documents.archive else documents.uncompressed_bytes
        with exclusive_folder(target.parent, (target.name,)):
            # Another race may have downloaded it while this race waited for the lock.
            if downloaded := dirs.find(documents):
                return downloaded
            expected_size = None if request.corpus == "as-is" else size
            try:
                download_file(
                    Download(target, sources, expected_size, crc32c=crc32c, hint=_DOWNLOAD_HINT),
                    self._progress,
                )
            except NotAvailable as failure:
                hint = f"{failure.hint}; or {self._alternative(corpus, dirs)}"
                raise CorpusNotAvailable(f"corpus '{corpus.name}': {failure.message}", hint=hint) from failure
        return target

    def _sources(self, corpus: Corpus, documents: Documents) -> tuple[RemoteFile, ...]:
        """Returns the published locations of a file, and those of its mirrors."""
        location, mirrors = download_location(documents), self._request.corpus_mirrors
        return remote_files(location.base_url, location.file_name, corpus.name, mirrors)

    def _origin(self, wanted: Sequence[Documents], located: Sequence[_LocatedFile]) -> CorpusOrigin:
        if self._request.corpus == "as-is" or any(documents.document_count is None for documents in wanted):
            return "as-is"
        return "excerpt" if any(file.excerpt for file in located) else "declared"

    def can_generate_instead(self, corpus: Corpus, wanted: Sequence[Documents]) -> bool:
        """Returns whether a corpus that is not available is generated although `--corpus` does not request
        it.
        """
        return corpus.generator is not None or (
            any(map(is_excerpt, wanted)) and corpus.name in _core.generators()
        )

    def generator_name(self, corpus: Corpus) -> str:
        """Returns the name of the generator of a corpus. Raises CorpusError if it has none."""
        name = corpus.generator.name if corpus.generator else corpus.name
        available = _core.generators()
        if name not in available:
            raise CorpusError(
                f"corpus '{corpus.name}' cannot be generated: it has no generator",
                hint=f"generators: {', '.join(available)}; exclude the tasks that need it with "
                "--exclude-tasks, or choose another --challenge",
            )
        return name

    def _generate(self, corpus: Corpus, wanted: tuple[Documents, ...]) -> _CorpusFiles:
        name = self.generator_name(corpus)
        counts = generated_document_counts(corpus, wanted, self._request.corpus_documents)
        generated = GeneratedCorpus(name, counts, self._request.seed)
        folder = self._cache / name / generated.folder_name
        present = ensure_generated(generated, folder, self._progress)
        names = [full_file(documents).document_file for documents in wanted]
        files = tuple(DataFile(folder / file, present.documents[file]) for file in names)
        return _CorpusFiles("generated", files, _states(files), present.verify)

    def not_found(
        self, corpus: Corpus, documents: Documents, dirs: DataDirs, *, offline: bool = False
    ) -> CorpusNotAvailable:
        """Returns the error about a file that is not on this machine and is not downloaded."""
        if documents.is_local and Path(documents.source_file).is_dir():
            return CorpusNotAvailable(
                f"{documents.source_file} of corpus '{corpus.name}' is a folder",
                hint="name a file in it, with one JSON document per line",
            )
        message = f"{documents.source_file} of corpus '{corpus.name}' is missing"
        if documents.is_local:
            return CorpusNotAvailable(message, hint="the path is relative to the current folder")
        if offline:
            message += ", and --offline forbids downloading it"
        return CorpusNotAvailable(message, hint=self._alternative(corpus, dirs))

    def _alternative(self, corpus: Corpus, dirs: DataDirs) -> str:
        has_generator = corpus.name in _core.generators()
        return f"put it into {dirs.cache}" + (", or use --corpus=generated" if has_generator else "")
