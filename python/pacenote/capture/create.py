"""Creating a track from a live cluster: the steps in order."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from pacenote.capture.dump import CaptureJournal, dump, store_errors
from pacenote.capture.foreign_folder import write_inside
from pacenote.capture.limited_reader import LimitedReader
from pacenote.capture.own_names import LOCK, check_names
from pacenote.capture.readers import choose_reader
from pacenote.capture.sources import (
    CaptureSource,
    capture_warnings,
    find_data_streams,
    find_indices,
    url_path,
)
from pacenote.capture.time_limits import PhaseLimit
from pacenote.capture.track_files import TRACK_FILE, check_bodies, track_files
from pacenote.cluster.info import read_info
from pacenote.errors import UsageError
from pacenote.model.node_names import NodeNames
from pacenote.model.progress import ProgressCallback
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient
from pacenote.system.locks import try_lock
from pacenote.system.ownership import create_folder, open_shared_lock, replaceable_folder

HEALTH_S = 600.0
"""Seconds for the health of all sources."""


class CaptureRequest(Struct, frozen=True):
    """The sources to create a track from: indices or data streams, not both."""

    name: str
    """Name of the track."""

    folder: Path
    """Folder of the track."""

    indices: tuple[str, ...] = ()
    """Names or patterns of indices."""

    data_streams: tuple[str, ...] = ()
    """Names or patterns of data streams."""

    batch_size: int = 1000
    """Documents per read request."""


def create_track(
    request: CaptureRequest, rest: RestClient, progress: ProgressCallback, warn: Callable[[str], None]
) -> Path:
    """Creates a track and returns its folder. Continues a capture that was aborted.

    Raises UsageError for unknown names and for a track that already exists, EngineError if the cluster fails,
    and StoreError if files cannot be written.
    """
    # Before the cluster is read, which may take long; again when the folder is there.
    _check_folder(request.folder, replaceable_folder(request.folder))
    info = read_info(rest, NodeNames())
    sources = _find_sources(request, rest)
    check_bodies(sources)
    for text in capture_warnings(sources):
        warn(text)
    with _exclusive_folder(request.folder):
        check_names(request.folder, sources)
        journal = CaptureJournal(request.folder)
        reader = LimitedReader(choose_reader(rest, info, sources[0], request.batch_size))
        dumped = {
            source.name: dump(source, reader, request.folder, journal, progress)
            for source in sources
            if source.documents
        }
        # track.json is written last: its presence means that the track is complete.
        texts = track_files(request.name, sources, dumped, _expected_health(rest, sources))
        for name in sorted(texts, key=lambda name: name == TRACK_FILE):
            if name == TRACK_FILE:
                # What has come meanwhile would be presented as a part of it.
                check_names(request.folder, sources)
            with store_errors(request.folder / name):
                write_inside(request.folder, name, texts[name].encode())
        journal.remove()
        # Another process that has opened it finds the track as soon as it has the lock.
        (request.folder / LOCK).unlink(missing_ok=True)
    return request.folder


def _check_folder(folder: Path, problem: str) -> None:
    """Raises UsageError for a folder with a track or files of others, and for one that others could replace
    by a problem.
    """
    if problem:
        raise UsageError(
            f"{folder} could be replaced by others while the track is written: {problem}",
            hint="choose an --output-path that only you or root can change",
        )
    check_names(folder)


@contextmanager
def _exclusive_folder(folder: Path) -> Iterator[None]:
    """Creates the folder of the track and prevents other captures from writing to it. Raises UsageError, also
    if another user has created it meanwhile, and StoreError.
    """
    with store_errors(folder):
        problem = create_folder(folder)
        if folder.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    _check_folder(folder, problem)
    with store_errors(folder / LOCK):
        # Not the folder itself, which others can open, and so lock, too.
        lock = open_shared_lock(folder / LOCK)
    try:
        if not try_lock(lock):
            hint = "wait until it has finished, or choose another --output-path"
            raise UsageError(f"another create-track is writing to {folder}", hint=hint)
        # It may have ended after the first check.
        _check_folder(folder, problem)
        yield
    finally:
        os.close(lock)


def _find_sources(request: CaptureRequest, rest: RestClient) -> Sequence[CaptureSource]:
    if bool(request.indices) == bool(request.data_streams):
        raise UsageError("give either --indices or --data-streams", hint="for example --indices=logs-*")
    with expected_form("its indices"):
        return (
            find_indices(rest, request.indices)
            if request.indices
            else find_data_streams(rest, request.data_streams)
        )


def _expected_health(rest: RestClient, sources: Sequence[CaptureSource]) -> str:
    """Returns the health that new indices can reach: `yellow` if replicas of the sources have no node."""
    limit = PhaseLimit("reported its health", HEALTH_S, "")
    # One request per source: the names of hundreds of sources do not fit into a URL. The documents are not
    # lost because the cluster is slow now.
    replies = (
        rest.exchange("GET", f"/_cluster/health/{url_path(source.name)}")
        for source in sources
        if not limit.is_over
    )
    # A user who may read documents does not necessarily have the privilege to read the health.
    bodies = (reply.body for reply in replies if reply.ok and isinstance(reply.body, dict))
    return "yellow" if any(health.get("status") == "yellow" for health in bodies) else "green"
