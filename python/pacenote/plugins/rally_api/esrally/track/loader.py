"""Track processors and the preparation of data files under Rally's names."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from pacenote.plugins.plugin_registry import current_registry
from pacenote.plugins.rally_api.errors import DataError
from pacenote.plugins.rally_api.request_sources import DelegatingParamSource
from pacenote.plugins.rally_api.track import DocumentCorpus, Documents, Task, Track
from pacenote.plugins.rally_api.type_sources import source_of_type
from pacenote.plugins.tools import current_tools


class TrackProcessor:
    """Changes a track after it was loaded, and prepares its data."""

    def on_after_load_track(self, track: Track) -> None:
        """Changes the track."""

    def on_prepare_track(
        self,
        track: Track,  # noqa: ARG002  # used by subclasses
        data_root_dir: str,  # noqa: ARG002
    ) -> Iterable[tuple[Callable[..., Any], dict[str, Any]]]:
        """Returns functions with their arguments, which are called in parallel."""
        return ()


def operation_parameters(t: Track, task: Task) -> Any:
    """Returns the parameter source of a task."""
    operation = task.operation
    params = operation.params if operation.params is not None else {}
    source = current_registry().param_sources.get(operation.param_source or "")
    if source is None:
        return source_of_type(str(getattr(operation.type, "value", operation.type)))(
            t, params, operation_name=task.name
        )
    return DelegatingParamSource(t, params, source) if inspect.isfunction(source) else source(t, params)


def used_corpora(t: Track) -> Collection[DocumentCorpus]:
    """Returns the corpora that the parameter sources of the challenge's tasks use."""
    used: dict[str, DocumentCorpus] = {}
    challenge = t.selected_challenge_or_default
    for element in challenge.schedule if challenge is not None and t.corpora else ():
        for task in element:
            for corpus in getattr(operation_parameters(t, task), "corpora", ()):
                used[corpus.name] = used.get(corpus.name, corpus).union(corpus)
    return used.values()


def data_dir(cfg: object, track_name: str, corpus_name: str) -> list[str]:  # noqa: ARG001
    """Returns the folders in which the data files of a corpus are looked up."""
    tools = current_tools()
    folders = [] if tools.track_folder is None else [tools.track_folder]
    return [str(folder) for folder in (*folders, tools.data_root / corpus_name)]


class DefaultTrackPreparator(TrackProcessor):
    """Prepares the data that tasks index. Does nothing, because Pacenote prepares this data."""

    def __init__(self) -> None:
        self.cfg: Any = None
        self.downloader: Any = None
        self.decompressor: Any = None
        self.track: Any = None


class Downloader:
    """Downloads data files."""

    def __init__(self, offline: bool = False, test_mode: bool = False) -> None:
        self.offline = offline
        self.test_mode = test_mode

    def download(self, base_url: str | None, target_path: str, size_in_bytes: int | None = None) -> None:
        """Downloads the file with the target's name from a base URL."""
        if not base_url:
            raise DataError(f"Cannot download {target_path} because no base URL is provided.")
        url = f"{base_url.rstrip('/')}/{os.path.basename(target_path)}"  # noqa: PTH119
        os.makedirs(os.path.dirname(target_path), exist_ok=True)  # noqa: PTH103, PTH120
        current_tools().download(url, target_path, size_in_bytes)


class Decompressor:
    """Unpacks archives."""

    def decompress(self, archive_path: str, documents_path: str, uncompressed_size: int | None) -> None:
        """Unpacks an archive into its folder; the data file must then exist and have the declared size."""
        current_tools().unpack(Path(archive_path), Path(documents_path))
        if not os.path.isfile(documents_path):  # noqa: PTH113
            raise DataError(f"{archive_path} does not contain {documents_path}")
        size = os.path.getsize(documents_path)  # noqa: PTH202
        if uncompressed_size and size != uncompressed_size:
            raise DataError(f"{documents_path} has {size} bytes, but the track declares {uncompressed_size}")


class DocumentSetPreparator:
    """Provides the data file of a corpus: an existing one, or one from an archive or a download."""

    def __init__(self, track_name: str, downloader: Any, decompressor: Any) -> None:
        self.track_name = track_name
        self.downloader = downloader
        self.decompressor = decompressor

    def prepare_document_set(self, document_set: Documents, data_root: str) -> None:
        """Prepares a data file in a folder: finds, unpacks or downloads it, and writes its offset table."""
        name, archive = document_set.document_file, document_set.document_archive
        data = os.path.join(data_root, name or "")  # noqa: PTH118
        packed = os.path.join(data_root, archive) if archive else None  # noqa: PTH118
        if not _has_size(data, document_set.uncompressed_size_in_bytes):
            if packed and not _has_size(packed, document_set.compressed_size_in_bytes):
                self.downloader.download(document_set.base_url, packed, document_set.compressed_size_in_bytes)
            if packed:
                self.decompressor.decompress(packed, data, document_set.uncompressed_size_in_bytes)
            else:
                self.downloader.download(document_set.base_url, data, document_set.uncompressed_size_in_bytes)
        self._count(data, document_set)

    def prepare_bundled_document_set(self, document_set: Documents, data_root: str) -> bool:
        """Prepares a data file if the folder contains it or its archive, and returns False if it contains
        neither.
        """
        names = [document_set.document_file, document_set.document_archive]
        if not any(name and os.path.isfile(os.path.join(data_root, name)) for name in names):  # noqa: PTH113, PTH118
            return False
        self.prepare_document_set(document_set, data_root)
        return True

    def _count(self, data: str, document_set: Documents) -> None:
        lines, expected = current_tools().count_lines(Path(data)), document_set.number_of_lines
        if lines is not None and expected and lines != expected:
            raise DataError(
                f"{data} of track {self.track_name} has {lines} lines, but the track declares {expected}"
            )


def _has_size(path: str, expected: int | None) -> bool:
    return os.path.isfile(path) and (not expected or os.path.getsize(path) == expected)  # noqa: PTH113, PTH202
