"""A track from a live cluster: what is taken, read and written, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.capture.dump import Journal, Progress, dump, writing
from pacenote.capture.files import track_files
from pacenote.capture.reading import choose
from pacenote.capture.source import Source, data_streams, indices, remarks
from pacenote.cluster.info import read_info
from pacenote.cluster.rest import RestClient
from pacenote.errors import UsageError


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
    wanted: TrackWanted, rest: RestClient, progress: Progress, warn: Callable[[str], None]
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
    with writing(wanted.folder):
        wanted.folder.mkdir(parents=True, exist_ok=True)
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
        path = wanted.folder / name
        with writing(path):
            path.parent.mkdir(exist_ok=True)
            path.write_text(texts[name], encoding="utf-8")
    journal.remove()
    return wanted.folder


def _found(wanted: TrackWanted, rest: RestClient) -> Sequence[Source]:
    if bool(wanted.indices) == bool(wanted.data_streams):
        raise UsageError("give either --indices or --data-streams", hint="for example --indices=logs-*")
    return indices(rest, wanted.indices) if wanted.indices else data_streams(rest, wanted.data_streams)


def _health(rest: RestClient, found: Sequence[Source]) -> str:
    """What the health of new indices can become: replicas that find no node today will find none later."""
    reply = rest.exchange("GET", f"/_cluster/health/{','.join(source.name for source in found)}")
    is_yellow = reply.ok and isinstance(reply.body, dict) and reply.body.get("status") == "yellow"
    return "yellow" if is_yellow else "green"
