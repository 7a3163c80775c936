"""A track from a live cluster: what is taken, read and written, in order."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pacenote.capture.dump import Journal, dump, writing
from pacenote.capture.readers import choose
from pacenote.capture.sources import Source, data_streams, indices, path_of, remarks
from pacenote.capture.track_files import track_files
from pacenote.cluster.info import read_info
from pacenote.errors import UsageError
from pacenote.model.progress import ProgressCallback
from pacenote.net.rest import RestClient


@dataclass(frozen=True, slots=True)
class TrackWanted:
    """What to make a track of: patterns of indices or of data streams, one of the two.

    `folder` is the folder of the track itself; `batch` is how many documents are read at once.
    """

    name: str
    folder: Path
    indices: tuple[str, ...] = ()
    data_streams: tuple[str, ...] = ()
    batch: int = 1000


def create_track(
    wanted: TrackWanted, rest: RestClient, progress: ProgressCallback, warn: Callable[[str], None]
) -> Path:
    """Makes a track and returns its folder. A run that was cut is gone on with.

    Raises UsageError for names that are not there and for a track that is, EngineError when the cluster
    fails, StoreError when files cannot be written.
    """
    if (wanted.folder / "track.json").exists():
        raise UsageError(
            f"there is a track in {wanted.folder} already", hint="remove it, or choose another --output-path"
        )
    info = read_info(rest)
    found = _found(wanted, rest)
    for remark in remarks(found):
        warn(remark)
    with _alone_in(wanted.folder):
        journal = Journal(wanted.folder)
        reading = choose(rest, info, found[0], wanted.batch)
        dumped = {
            source.name: dump(source, reading, wanted.folder, journal, progress)
            for source in found
            if source.documents
        }
        # The entry file last: with it the track is whole.
        texts = track_files(wanted.name, found, dumped, _health(rest, found))
        for name in sorted(texts, key=lambda name: name == "track.json"):
            _write(wanted.folder / name, texts[name])
        journal.remove()
    return wanted.folder


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Makes the folder of the track; two runs that write the same files would spoil them."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for it, or choose another --output-path"
            raise UsageError(f"another create-track writes to {folder}", hint=hint) from None
        yield
    finally:
        os.close(lock)


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def _found(wanted: TrackWanted, rest: RestClient) -> Sequence[Source]:
    if bool(wanted.indices) == bool(wanted.data_streams):
        raise UsageError("give either --indices or --data-streams", hint="for example --indices=logs-*")
    return indices(rest, wanted.indices) if wanted.indices else data_streams(rest, wanted.data_streams)


def _health(rest: RestClient, found: Sequence[Source]) -> str:
    """What the health of new indices can become: replicas that find no node today will find none later."""
    # One by one: the names of hundreds do not fit into an address.
    replies = (rest.exchange("GET", f"/_cluster/health/{path_of(source.name)}") for source in found)
    # Who may read documents may not be allowed to see this.
    said = (reply.body for reply in replies if reply.ok and isinstance(reply.body, dict))
    return "yellow" if any(health.get("status") == "yellow" for health in said) else "green"
