"""Summaries of tracks for a list, without index and template bodies; they are cached until a file changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from pacenote.errors import TrackError
from pacenote.model.decoding import parse_json
from pacenote.track.source import FolderRepository, open_track

_FORMAT = 2
_CHALLENGES = ("challenges", "test_procedures", "test-procedures")


class TrackSummary(Struct, frozen=True):
    """One line of the list."""

    name: str
    """The name of the track."""

    description: str = ""
    """The author's description."""

    documents: int = 0
    """Number of documents in all corpora; of one with a generator, those that it generates."""

    compressed_bytes: int | None = None
    """Size of the archives in bytes, or None if a file does not declare it."""

    uncompressed_bytes: int | None = None
    """Size of the data files in bytes, or None if a file does not declare it."""

    default_challenge: str = ""
    """The name of the default challenge."""

    challenges: tuple[str, ...] = ()
    """The names of all challenges."""

    problem: str = ""
    """The reason why the track cannot be read, or empty if it can."""


def summarize_tracks(repository: FolderRepository, cache: Path | None = None) -> list[TrackSummary]:
    """Returns summaries of all tracks below a folder, sorted by name. `cache` is a folder that keeps the
    result until a file changes.
    """
    signature = _signature(repository.root)
    digest = hashlib.sha256(str(repository.root).encode()).hexdigest()[:16]
    file = cache / f"tracks-{digest}.json" if cache else None
    if file is not None and (cached := _read_cache(file, signature)) is not None:
        return cached
    summaries = [_summary(repository.root / name, name) for name in repository.names()]
    if file is not None:
        _write_cache(file, signature, summaries)
    return summaries


def summarize_track(path: Path) -> TrackSummary:
    """Returns the summary of the track at a path, which is its folder or its JSON file. Raises TrackError."""
    source = open_track(path)
    return _summary(source.file, source.name)


def _summary(path: Path, name: str) -> TrackSummary:
    # Importing the renderer takes ten times as long as reading a cached list.
    from pacenote.track.load import render_track
    from pacenote.track.render import RenderOptions

    try:
        text = render_track(open_track(path), {}, RenderOptions(now=time.time()))
        return _read(name, parse_json(text))
    except TrackError as error:
        return TrackSummary(name, problem=error.message)
    except (ValueError, RecursionError) as error:
        return TrackSummary(name, problem=f"the rendered track is not valid JSON: {error}")
    except (TypeError, AttributeError, LookupError):
        return TrackSummary(name, problem="`pacenote validate-track` reports its problems")


def _read(name: str, track: Mapping[str, Any]) -> TrackSummary:
    files = [file for corpus in track.get("corpora", ()) for file in corpus.get("documents", ())]
    challenges = next((track[key] for key in _CHALLENGES if key in track), None)
    if challenges is None:
        challenges = [track["challenge"]] if "challenge" in track else []
    names = [str(challenge.get("name", "")) for challenge in challenges]
    defaults = (challenge.get("default") is True for challenge in challenges)
    default = [name for name, is_default in zip(names, defaults, strict=True) if is_default] or names
    return TrackSummary(
        name=name,
        description=str(track.get("description", "")),
        documents=sum(map(_documents, track.get("corpora", ()))),
        compressed_bytes=_total(files, "compressed-bytes"),
        uncompressed_bytes=_total(files, "uncompressed-bytes"),
        default_challenge=default[0] if default else "",
        challenges=tuple(names),
    )


def _documents(corpus: Mapping[str, Any]) -> int:
    generated: int | None = corpus.get("generator", {}).get("documents")
    return generated or sum(file.get("document-count") or 0 for file in corpus.get("documents", ()))


def _total(files: list[Mapping[str, Any]], key: str) -> int | None:
    sizes = [file.get(key) for file in files]
    known = [size for size in sizes if isinstance(size, int)]
    return sum(known) if known and len(known) == len(sizes) else None


def _signature(root: Path) -> str:
    """Returns a hash that changes whenever a file below the root does."""
    signature = hashlib.sha256(str(_FORMAT).encode())
    for path, size, changed in sorted(_files(str(root))):
        signature.update(f"{path}\0{size}\0{changed}\n".encode(errors="surrogateescape"))
    return signature.hexdigest()


def _files(root: str) -> Iterator[tuple[str, int, int]]:
    waiting = [root]
    while waiting:
        # A folder may be gone, or its path too long to be opened.
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        status = entry.stat()
                        yield entry.path, status.st_size, status.st_mtime_ns


def _read_cache(file: Path, signature: str) -> list[TrackSummary] | None:
    try:
        cached = parse_json(file.read_text("utf-8"))
        if cached["signature"] != signature:
            return None
        return [
            TrackSummary(**{**track, "challenges": tuple(track["challenges"])}) for track in cached["tracks"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_cache(file: Path, signature: str, summaries: list[TrackSummary]) -> None:
    """Writes the cache; if that fails, the tracks are read again next time."""
    text = json.dumps({"signature": signature, "tracks": [to_builtins(summary) for summary in summaries]})
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # The name cannot be known before: another user could have put a link there.
        descriptor, fresh = tempfile.mkstemp(".tmp", f".{file.name}.", file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(fresh).replace(file)
        finally:
            Path(fresh).unlink(missing_ok=True)
