"""Preparing the data of a race: found, unpacked or generated, and counted. Nothing is measured yet."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.model.race import CorpusUsed, Origin
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import ARCHIVES, Challenge, Corpus, Documents, Track
from pacenote.plan.corpora import needed_documents
from pacenote.race.generated import alone_in, core_call, generated_corpus

Progress = Callable[[str, int, int], None]
"""Told (label, done, total); total 0 when it is not known."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """An unpacked data file, ready to be read; `documents` were counted, not believed."""

    path: Path
    documents: int


@dataclass(frozen=True, slots=True)
class PreparedCorpora:
    """All data a challenge needs."""

    used: tuple[CorpusUsed, ...]
    files: Mapping[tuple[str, str], DataFile] = field(default_factory=dict)

    def data_file(self, corpus: Corpus, documents: Documents) -> tuple[PurePath, int]:
        """The `DataFileLookup` of the planner."""
        file = self.files[corpus.name, documents.source_file]
        return file.path, file.documents


def prepare(track: Track, challenge: Challenge, request: RaceRequest, progress: Progress) -> PreparedCorpora:
    """Prepares the data that a challenge indexes, and nothing else.

    Raises CorpusError: data that is missing and cannot be generated, a broken archive, or another number of
    documents than the track declares.
    """
    needed: dict[str, list[Documents]] = {}
    corpora: dict[str, Corpus] = {}
    for corpus, documents in needed_documents(track, challenge):
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


def generate(name: str, documents: int, seed: int, folder: Path, progress: Progress) -> None:
    """Writes a generated corpus into a folder (`pacenote generate`). Raises CorpusError."""
    if name not in _core.generators():
        known = ", ".join(_core.generators())
        raise CorpusError(f"there is no generator for '{name}'", hint=f"there is one for {known}")
    generated_corpus(name, documents, seed, folder, progress)


def _used(name: str, origin: Origin, files: tuple[DataFile, ...], seed: int) -> CorpusUsed:
    return CorpusUsed(
        name=name,
        origin=origin,
        documents=sum(file.documents for file in files),
        bytes=sum(file.path.stat().st_size for file in files),
        files=tuple(file.path.name for file in files),
        seed=seed if origin == "generated" else None,
    )


class _Preparation:
    """Finds and makes data for one race."""

    def __init__(self, track: Track, request: RaceRequest, progress: Progress) -> None:
        self._folders = (Path(track.root),) if request.track_path else ()
        self._home = request.home / "corpora"
        self._choice = request.corpus
        self._seed = request.seed
        self._progress = progress

    def corpus(self, corpus: Corpus, wanted: tuple[Documents, ...]) -> tuple[Origin, tuple[DataFile, ...]]:
        """The files of a corpus, by the choice of `--corpus`.

        Without a choice the declared data is used where it is there, and otherwise generated where the track
        says how.
        """
        if self._choice == "generated":
            return "generated", self._generated(corpus, wanted)
        found = [self._find(corpus, documents) for documents in wanted]
        missing = [documents for documents, path in zip(wanted, found, strict=True) if path is None]
        if missing and self._choice is None and corpus.generator is not None:
            return "generated", self._generated(corpus, wanted)
        if missing:
            raise self._missing(corpus, missing[0])
        files = tuple(
            self._open(corpus, documents, path)
            for documents, path in zip(wanted, found, strict=True)
            if path is not None
        )
        undeclared = any(documents.document_count is None for documents in wanted)
        return "as-is" if self._choice == "as-is" or undeclared else "declared", files

    def _find(self, corpus: Corpus, documents: Documents) -> Path | None:
        """The unpacked file or an archive of it, wherever it may be."""
        names = dict.fromkeys(
            [documents.document_file, documents.source_file]
            + [documents.document_file + ending for ending in ARCHIVES]
        )
        folders = [Path()] if documents.is_local else [*self._folders, self._home / corpus.name]
        candidates = (folder / name for folder in folders for name in names)
        return next((path.absolute() for path in candidates if path.is_file()), None)

    def _open(self, corpus: Corpus, documents: Documents, path: Path) -> DataFile:
        if path.name.endswith(ARCHIVES):
            path = self._unpack(path, self._home / corpus.name, documents)
        lines = core_call(lambda: _core.count_lines(str(path)))
        count = lines // 2 if documents.includes_action_and_meta_data else lines
        declared = documents.document_count
        if self._choice != "as-is" and declared is not None and declared != count:
            raise CorpusError(
                f"{path} holds {count:,} documents, the track declares {declared:,}",
                hint="--corpus=as-is uses the file as it is; otherwise replace it",
            )
        return DataFile(path, count)

    def _unpack(self, archive: Path, folder: Path, documents: Documents) -> Path:
        # A file of the user's own is unpacked into our folder, under a name that tells it from its namesakes
        # and from its own earlier contents.
        if documents.is_local:
            status = archive.stat()
            mark = f"{archive}\n{status.st_size}\n{status.st_mtime_ns}"
            folder = folder / f"local-{hashlib.sha256(mark.encode()).hexdigest()[:16]}"
        target = folder / archive.name.removesuffix(archive.suffix)
        if target.is_file():
            return target
        label = f"unpacking {archive.name}"
        with alone_in(folder):
            path, _ = core_call(
                lambda: _core.unpack(
                    str(archive), str(folder), None, lambda done, total: self._progress(label, done, total)
                )
            )
        return Path(path)

    def _generated(self, corpus: Corpus, wanted: tuple[Documents, ...]) -> tuple[DataFile, ...]:
        name = corpus.generator.name if corpus.generator else corpus.name
        if name not in _core.generators():
            raise CorpusError(
                f"corpus '{corpus.name}' cannot be generated: there is no generator for it",
                hint=f"there is one for {', '.join(_core.generators())}",
            )
        declared = sum(count or 0 for count in corpus.declared_counts())
        total = corpus.generator.documents if corpus.generator else declared
        folder = self._home / name / f"generated-{total}-seed-{self._seed}"
        made = generated_corpus(name, total, self._seed, folder, self._progress)
        files = []
        for documents in wanted:
            if documents.document_file not in made:
                raise CorpusError(
                    f"the generator of '{name}' makes no file {documents.document_file}",
                    hint=f"it makes {', '.join(made)}",
                )
            files.append(DataFile(folder / documents.document_file, made[documents.document_file]))
        return tuple(files)

    def _missing(self, corpus: Corpus, documents: Documents) -> CorpusError:
        if documents.is_local:
            return CorpusError(
                f"{documents.source_file} of corpus '{corpus.name}' is not there",
                hint="the path is seen from the folder you are in",
            )
        hint = f"put it into {self._home / corpus.name}"
        if corpus.name in _core.generators():
            hint += ", or use --corpus=generated"
        return CorpusError(f"{documents.source_file} of corpus '{corpus.name}' is not there", hint=hint)
