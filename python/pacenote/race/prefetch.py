"""Downloads the engine and the data of a race before it runs (`pacenote download`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.provision.engine_installation import install_engine
from pacenote.race.corpora import prepare_corpora
from pacenote.race.engine_request import engine_request
from pacenote.race.planning import expected_engine
from pacenote.race.team import with_team
from pacenote.track.prepare import prepare_track


def prefetch_engine(request: RaceRequest, progress: ProgressCallback) -> Path:
    """Installs the engine and returns its archive, or the folder of an assembled engine.

    Raises UsageError, EngineError and DownloadError.
    """
    request = with_team(request)
    return install_engine(engine_request(request, artifacts=request.home), progress).file


def prefetch_corpora(request: RaceRequest, progress: ProgressCallback) -> Mapping[str, list[Path]]:
    """Returns the data files of the request's challenge by corpus, unpacked and checked.

    Raises TrackError, UsageError and CorpusError as a race does.
    """
    version = expected_engine(request, None).track_version
    prepared = prepare_track(request.track_request(version), lambda label: progress(label, 0, 0))
    corpora = prepare_corpora(prepared.track, prepared.challenge, request, progress)
    corpora.verify()
    files: dict[str, list[Path]] = {corpus.name: [] for corpus in corpora.recorded}
    for (corpus, _), file in corpora.files.items():
        files[corpus].append(file.path)
    return files
