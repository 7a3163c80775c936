"""What a list shows of tracks: read without their bodies, and remembered until a file changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.track.source import FolderRepository, open_track

_FORMAT = 1
_CHALLENGES = ("challenges", "test_procedures", "test-procedures")


@dataclass(frozen=True, slots=True)
class TrackSummary:
    """One line of the list. Sizes are bytes, None where a file of the track declares none; `problem` says why
    a track cannot be read.
    """

    name: str
    description: str = ""
    documents: int = 0
    compressed_bytes: int | None = None
    uncompressed_bytes: int | None = None
    default_challenge: str = ""
    challenges: tuple[str, ...] = ()
    problem: str = ""


def summarize_tracks(repository: FolderRepository, cache: Path | None = None) -> list[TrackSummary]:
    """All tracks below a folder, by name. `cache` is a folder in which the result is kept until any file of
    the repository changes.
    """
    signature = _signature(repository.root)
    place = hashlib.sha256(str(repository.root).encode()).hexdigest()[:16]
    file = cache / f"tracks-{place}.json" if cache else None
    if file is not None and (known := _remembered(file, signature)) is not None:
        return known
    found = [_summary(repository.root / name, name) for name in repository.names()]
    if file is not None:
        _remember(file, signature, found)
    return found


def _summary(folder: Path, name: str) -> TrackSummary:
    # Rendering costs ten times what is needed to read a list that is remembered.
    from pacenote.track.load import render_track
    from pacenote.track.render import RenderOptions

    try:
        text = render_track(open_track(folder), {}, RenderOptions(now=time.time()))
        return _read(name, json.loads(text))
    except TrackError as error:
        return TrackSummary(name, problem=error.message)
    except (ValueError, RecursionError) as error:
        return TrackSummary(name, problem=f"the rendered track is no valid JSON: {error}")
    except (TypeError, AttributeError):
        return TrackSummary(name, problem="`pacenote validate-track` says what is wrong with it")


def _read(name: str, track: Mapping[str, Any]) -> TrackSummary:
    files = [file for corpus in track.get("corpora", ()) for file in corpus.get("documents", ())]
    challenges = next((track[key] for key in _CHALLENGES if key in track), None)
    if challenges is None:
        challenges = [track["challenge"]] if "challenge" in track else []
    names = [str(challenge.get("name", "")) for challenge in challenges]
    default = [challenge["name"] for challenge in challenges if challenge.get("default") is True] or names
    return TrackSummary(
        name=name,
        description=str(track.get("description", "")),
        documents=sum(file.get("document-count") or 0 for file in files),
        compressed_bytes=_total(files, "compressed-bytes"),
        uncompressed_bytes=_total(files, "uncompressed-bytes"),
        default_challenge=default[0] if default else "",
        challenges=tuple(names),
    )


def _total(files: list[Mapping[str, Any]], key: str) -> int | None:
    sizes = [file.get(key) for file in files]
    known = [size for size in sizes if isinstance(size, int)]
    return sum(known) if known and len(known) == len(sizes) else None


def _signature(root: Path) -> str:
    """Changes whenever a file below the root does."""
    stated = hashlib.sha256(str(_FORMAT).encode())
    for path, size, changed in sorted(_files(str(root))):
        stated.update(f"{path}\0{size}\0{changed}\n".encode(errors="surrogateescape"))
    return stated.hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    yield entry.path, status.st_size, status.st_mtime_ns


def _remembered(file: Path, signature: str) -> list[TrackSummary] | None:
    try:
        kept = json.loads(file.read_text("utf-8"))
        if kept["signature"] != signature:
            return None
        return [TrackSummary(**{**one, "challenges": tuple(one["challenges"])}) for one in kept["tracks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(file: Path, signature: str, found: list[TrackSummary]) -> None:
    """A list that cannot be kept is read again the next time."""
    text = json.dumps({"signature": signature, "tracks": [asdict(one) for one in found]})
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_text(text, "utf-8")
        fresh.replace(file)
