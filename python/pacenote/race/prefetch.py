"""Having everything here that a race will need: the engine, the data (`pacenote download`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.provision.engine import EmbeddedRequest, install_engine
from pacenote.race.corpora import prepare
from pacenote.track.prepare import prepare_track


def prefetch_engine(request: RaceRequest, progress: ProgressCallback) -> Path:
    """The folder of the engine, ready to be started. Raises UsageError and EngineError."""
    wanted = EmbeddedRequest(
        home=request.home,
        artifacts=request.home,
        distribution=request.distribution,
        version=request.distribution_version,
        runtime_jdk=None if request.runtime_jdk is None else str(request.runtime_jdk),
        maven_mirror=request.maven_mirror,
        offline=request.offline,
    )
    return install_engine(wanted, progress).folder


def prefetch_corpora(request: RaceRequest, progress: ProgressCallback) -> Mapping[str, list[Path]]:
    """The data files of a track's challenge by corpus, unpacked and checked.

    Raises TrackError, UsageError and CorpusError as a race does.
    """
    version = request.distribution_version if request.distribution == "elasticsearch" else ""
    prepared = prepare_track(request.track_request(version), lambda label: progress(label, 0, 0))
    corpora = prepare(prepared.track, prepared.challenge, request, progress)
    files: dict[str, list[Path]] = {used.name: [] for used in corpora.used}
    for (corpus, _), file in corpora.files.items():
        files[corpus].append(file.path)
    return files
