"""Selects what an engine is installed from: its official archive, or the lock of its published parts."""

from __future__ import annotations

import dataclasses

from pacenote.errors import EngineError
from pacenote.model.messages import list_with_rest
from pacenote.provision.archives.addresses import ArchiveSource, archive_source
from pacenote.provision.archives.archive_cache import is_available_offline
from pacenote.provision.archives.archive_install import requested_archive
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_lock import EngineLock, find_lock
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import EngineLayout, plan_layout
from pacenote.provision.maven import MavenRepository, missing_artifacts
from pacenote.provision.published_versions import is_partly_published

_ONLINE_HINT = "run once without --offline"
_MAX_NAMED_JARS = 3
"""Maximum number of missing jars that a message names."""


def known_archive(request: EngineRequest) -> ArchiveSource | None:
    """Returns the archive to install, as far as that is known without the network, or None."""
    version = request.version
    if request.archive.requested and not version:
        version = find_distribution(request.distribution, "").default_version
    return requested_archive(request.distribution, version, request.archive)


def look_up_parts(request: EngineRequest, layout: EngineLayout) -> EngineRequest:
    """Returns the request with whether all parts of its version are published, if that decides between its
    archive and its parts.

    Raises EngineError if that cannot be determined.
    """
    unknown = request.partly_published is None and request.version and not request.offline
    if not unknown or known_archive(request) is not None:
        return request
    distribution = find_distribution(request.distribution, request.version)
    if find_lock(distribution.name, request.version, layout.locks) is not None:
        return request
    partly = is_partly_published(distribution, request.version, MavenRepository(request.maven_mirror))
    return dataclasses.replace(request, partly_published=partly)


def select_archive(request: EngineRequest, layout: EngineLayout) -> ArchiveSource | None:
    """Returns the archive to install, also for a version of which `look_up_parts` found that some parts are
    not published, or None.
    """
    source = known_archive(request)
    if source is not None or not request.version:
        return source
    distribution = find_distribution(request.distribution, request.version)
    if find_lock(distribution.name, request.version, layout.locks) is not None:
        return None
    official = archive_source(OFFICIAL_ARCHIVES[distribution.name], request.version, request.archive)
    if request.offline:
        return official if is_available_offline(official, layout.archives) else None
    return official if request.partly_published else None


def select_lock(
    request: EngineRequest, distribution: Distribution, layout: EngineLayout
) -> EngineLock | None:
    """Returns the lock, or None if it has to be resolved.

    With `offline`, it exists and all its jars are cached. Raises EngineError for files that `offline` forbids
    downloading.
    """
    version = request.version_of(distribution)
    lock = find_lock(distribution.name, version, layout.locks)
    if not request.offline:
        return lock
    if lock is None:
        raise EngineError(
            f"{distribution.name} {version} was never resolved here, and --offline forbids resolving it",
            hint=_ONLINE_HINT,
        )
    jars = lock.artifacts()
    if missing := missing_artifacts(jars, layout.jars):
        names = list_with_rest([jar.file_name for jar in missing], _MAX_NAMED_JARS)
        raise EngineError(
            f"{len(missing)} of the {len(jars)} jars of {distribution.name} {version} are missing in "
            f"{layout.jars}, and --offline forbids downloading them: {names}",
            hint=_ONLINE_HINT,
        )
    return lock


def expected_absent_modules(request: EngineRequest) -> tuple[str, ...]:
    """Returns the modules of the official archive that the engine is known to lack, before it is installed.

    A version that was never resolved here may lack more. Raises the same errors as `check_engine_choice`.
    """
    if request.partly_published or known_archive(request) is not None:
        return ()
    distribution = find_distribution(request.distribution, request.version)
    version = request.version_of(distribution)
    lock = find_lock(distribution.name, version, plan_layout(request.home).locks)
    return distribution.unpublished_modules(version) if lock is None else absent_modules(distribution, lock)


def expected_title(request: EngineRequest) -> str:
    """Returns what the engine is, as far as that is known without the network, if it must not be mistaken for
    the official distribution; otherwise an empty string.

    Raises the same errors as `check_engine_choice`.
    """
    if known_archive(request) is not None:
        return ""
    distribution = find_distribution(request.distribution, request.version)
    return distribution.title(request.version_of(distribution))


def absent_modules(distribution: Distribution, lock: EngineLock) -> tuple[str, ...]:
    """Returns the modules of the official archive that the repository lacks in this version."""
    present = {module.name for module in lock.modules}
    published = (definition.folder for definition in distribution.module_definitions(lock.version))
    all_modules = (*published, *distribution.unpublished_modules(lock.version))
    return tuple(name for name in all_modules if name not in present)
