"""The jars of a Maven repository, and their cache on this machine.

The address of the repository comes from jgo, or from --maven-mirror; it is not part of the code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.disk import disk_error
from pacenote.fetch.download import ChecksumMismatch, Download, NotAvailable, download_files
from pacenote.fetch.http_file import DOWNLOAD_LIMITS, Digest, HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.remote_file import RemoteFile, resolve
from pacenote.fetch.retry import read_text
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.http_pool import ConnectionPools
from pacenote.net.url import parse_url
from pacenote.provision.public_files import make_public_dir
from pacenote.system.locks import locked
from pacenote.units import format_count

NETWORK_HINT = "check the network, or name a reachable Maven repository with --maven-mirror"

DOWNLOAD_OPTIONS = DownloadOptions(retry=DownloadRetryPolicy(first_attempts=4, attempts=4))
"""Settings for many small files: a download fails after four attempts."""


@dataclass(frozen=True, slots=True)
class MavenArtifact:
    """One jar of a Maven repository."""

    group: str
    """Group id, such as `org.opensearch`."""
    name: str
    """Artifact id."""
    version: str
    """Version."""
    sha256: str = ""
    """SHA-256 checksum in hexadecimal form; empty if it is not known yet."""
    size: int = 0
    """Size in bytes; 0 if it is not known yet."""

    @property
    def group_and_name(self) -> str:
        """Group id and artifact id, which identify the artifact in any version."""
        return f"{self.group}:{self.name}"

    @property
    def file_name(self) -> str:
        """The name of the jar in the repository and in an installation."""
        return f"{self.name}-{self.version}.jar"

    @property
    def repository_path(self) -> str:
        """The path of the jar below the URL of a repository."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    def path_in(self, cache_dir: Path) -> Path:
        """Returns the path of the jar in a cache; it contains the group id, because groups may use the same
        name.
        """
        return cache_dir / self.group / self.file_name

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


class MavenRepository:
    """Reads small files of a Maven repository. Safe to use from several threads."""

    def __init__(self, mirror: str | None = None, *, options: DownloadOptions = DOWNLOAD_OPTIONS) -> None:
        """`mirror` is the URL of a repository, by default the one that jgo names.

        It may contain credentials, which are sent but never shown: they are in `location`, not in `url`.
        Raises UsageError if it is not a URL.
        """
        location = mirror or _default_url()
        self.url = parse_url(location, "the address of the Maven repository").parts.geturl().rstrip("/")
        self.location = location.rstrip("/")
        self.options = options
        self._pools = ConnectionPools(options.parallel_files, DOWNLOAD_LIMITS)

    def file(self, path: str) -> RemoteFile:
        """Returns the file at a path below the repository."""
        return resolve(f"{self.location}/{path}")

    def exists(self, path: str) -> bool:
        """Returns whether the repository has a file. Raises EngineError if the request fails."""
        return self.read_text(path) is not None

    def read_text(self, path: str) -> str | None:
        """Returns the text of a small file, or None if the repository does not have it.

        Raises EngineError.
        """
        try:
            file = HttpFile(self.file(path), self._pools)
            return read_text(file, self.options.retry, Cancellation())
        except (TransientError, RequestRejected) as failure:
            raise self.cannot_fetch(path, failure) from None

    def cannot_fetch(self, what: str, failure: Exception) -> EngineError:
        """Returns the error for a file that the repository does not provide."""
        match failure:
            case RequestRejected(status=404):
                return EngineError(
                    f"{what} is not in the Maven repository {self.url}",
                    hint="check the version, or --maven-mirror",
                )
            case ChecksumMismatch():
                return EngineError(
                    f"{what} has the {failure}",
                    hint="the repository, or a proxy before it, sends a different file; try another "
                    "--maven-mirror",
                )
            case _:
                return EngineError(f"{what} cannot be fetched from {self.url}: {failure}", hint=NETWORK_HINT)


def fetch_artifacts(
    artifacts: Sequence[MavenArtifact],
    cache_dir: Path,
    *,
    mirror: str | None = None,
    progress: ProgressCallback = no_progress,
    options: DownloadOptions = DOWNLOAD_OPTIONS,
) -> tuple[MavenArtifact, ...]:
    """Downloads the artifacts that are missing from the cache, and returns all artifacts with checksums and
    sizes.

    A cached file of the right size is not checked again, because it was verified before it got its name. A
    download whose checksum is not known is verified against the SHA-1 that the repository publishes. Progress
    is in bytes. Raises EngineError with the artifact that cannot be downloaded, and DiskError if the cache
    cannot be written.
    """
    if not missing_artifacts(artifacts, cache_dir):
        return tuple(artifacts)
    try:
        make_public_dir(cache_dir)
        with locked(cache_dir / ".lock"):
            # Another race may have downloaded them while this race waited for the lock.
            missing = missing_artifacts(artifacts, cache_dir)
            for artifact in missing:
                make_public_dir(artifact.path_in(cache_dir).parent)
            _download(missing, cache_dir, MavenRepository(mirror, options=options), progress)
            # Modules share jars, so a jar may be listed twice.
            fetched = {artifact: _measured(artifact, cache_dir) for artifact in missing}
    except OSError as failure:
        raise disk_error(failure, cache_dir) from failure
    return tuple(fetched.get(artifact, artifact) for artifact in artifacts)


def missing_artifacts(artifacts: Sequence[MavenArtifact], cache_dir: Path) -> list[MavenArtifact]:
    """Returns the artifacts that are not in the cache, each once."""
    return [artifact for artifact in dict.fromkeys(artifacts) if not _is_cached(artifact, cache_dir)]


def _is_cached(artifact: MavenArtifact, cache_dir: Path) -> bool:
    try:
        return artifact.size > 0 and artifact.path_in(cache_dir).stat().st_size == artifact.size
    except OSError:
        return False


def _download(
    artifacts: Sequence[MavenArtifact],
    cache_dir: Path,
    repository: MavenRepository,
    progress: ProgressCallback,
) -> None:
    by_target = {artifact.path_in(cache_dir): artifact for artifact in artifacts}
    pool = ThreadPoolExecutor(repository.options.parallel_files, thread_name_prefix="pacenote-checksum")
    try:
        digests = list(pool.map(lambda artifact: _expected_digest(artifact, repository), artifacts))
    finally:
        # After a failure or Ctrl-C, the checksums that are still queued are not requested.
        pool.shutdown(wait=True, cancel_futures=True)
    downloads = [
        Download(
            target=artifact.path_in(cache_dir),
            sources=(repository.file(artifact.repository_path),),
            size=artifact.size or None,
            digest=digest,
            public=True,
        )
        for artifact, digest in zip(artifacts, digests, strict=True)
    ]
    label = f"downloading {format_count(len(downloads), 'file')}"
    try:
        download_files(downloads, label, progress, repository.options)
    except NotAvailable as failure:
        artifact = by_target[failure.download.target]
        raise repository.cannot_fetch(str(artifact), failure.failures[-1].error) from None


def _expected_digest(artifact: MavenArtifact, repository: MavenRepository) -> Digest:
    if artifact.sha256:
        return Digest("sha256", bytes.fromhex(artifact.sha256))
    path = f"{artifact.repository_path}.sha1"
    try:
        # Some files contain the name of the jar after the checksum.
        return Digest("sha1", bytes.fromhex((repository.read_text(path) or "").split()[0]))
    except (IndexError, ValueError):
        raise EngineError(
            f"{artifact} has no checksum in the Maven repository {repository.url}: there is no valid {path}",
            hint="check the version, or --maven-mirror",
        ) from None


def _measured(artifact: MavenArtifact, cache_dir: Path) -> MavenArtifact:
    """Returns the artifact with the checksum and size of its file in the cache."""
    if artifact.sha256 and artifact.size:
        return artifact
    with artifact.path_in(cache_dir).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return replace(artifact, sha256=sha256, size=artifact.path_in(cache_dir).stat().st_size)


def _default_url() -> str:
    """Returns the Maven repository that jgo uses."""
    # Imported here because it takes 100 ms, and a race with a warm cache does not need it.
    from jgo.maven import MavenContext

    return str(next(iter(MavenContext().remote_repos.values())))
