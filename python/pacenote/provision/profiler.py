"""The library of async-profiler, which the telemetry device `profile` loads into an engine.

It comes from Maven Central, for Linux on x86-64 and ARM64: https://github.com/async-profiler/async-profiler.
"""

from __future__ import annotations

import platform
import zipfile
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.model.telemetry_options import PROFILER_FILE, PROFILER_LIBRARY
from pacenote.provision.cars import Car
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import EngineLayout
from pacenote.provision.maven import MavenArtifact, fetch_artifacts, missing_artifacts, verified_jar
from pacenote.provision.public_files import make_public_dir
from pacenote.provision.team_cars import TeamTemplate
from pacenote.system.locks import locked
from pacenote.system.paths import exists

ARTIFACT = MavenArtifact(
    group="tools.profiler",
    name="async-profiler",
    version="4.3",
    sha256="d24119d121e397d9a4dc1441689fbbc5cd197d9612ab1212606dfbe8cdffdbfb",
    size=911_568,
)
"""The jar with the libraries of all platforms."""

_PLATFORMS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
"""Folder of a library in the jar by the name of the machine."""


def profiler_library(layout: EngineLayout) -> Path:
    """Returns the path of the library, which nodes can read, whether it exists or not."""
    return layout.profiler / f"{ARTIFACT.name}-{ARTIFACT.version}" / PROFILER_FILE


def install_profiler(
    request: EngineRequest, layout: EngineLayout, progress: ProgressCallback = no_progress
) -> None:
    """Installs the library if a JVM option of the engine names it.

    Raises EngineError if there is none for this machine, or if it cannot be downloaded, and DiskError.
    """
    if not _is_named(request.car):
        return
    library, machine = profiler_library(layout), platform.machine()
    if exists(library):
        return
    if machine not in _PLATFORMS:
        raise EngineError(
            f"async-profiler has no library for {machine}", hint="omit profile in --telemetry, or use jfr"
        )
    if request.offline and missing_artifacts((ARTIFACT,), layout.jars):
        raise EngineError(
            f"{ARTIFACT} is not on this machine, and --offline forbids downloading it",
            hint="run once without --offline",
        )
    fetch_artifacts((ARTIFACT,), layout.jars, mirror=request.maven_mirror, progress=progress)
    try:
        make_public_dir(library.parent)
        with locked(library.parent / ".lock"):
            _unpack(verified_jar(ARTIFACT, layout.jars), f"{_PLATFORMS[machine]}/{PROFILER_FILE}", library)
    except OSError as failure:
        raise disk_error(failure, library) from failure


def _is_named(car: Car) -> bool:
    """Returns whether an option of the JVM names the library: one of the car, or one that overrides the
    templates of a team repository.
    """
    overrides = car.template.overrides.jvm_options if isinstance(car.template, TeamTemplate) else ()
    return any(PROFILER_LIBRARY in option for option in (*car.jvm_options, *overrides))


def _unpack(jar: Path, member: str, library: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        data = archive.read(member)
    written = library.with_suffix(".part")
    written.write_bytes(data)
    written.chmod(0o755)
    written.replace(library)
