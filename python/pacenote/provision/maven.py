"""The jars of a Maven repository, and their cache on this machine.

The address of the repository comes from jgo, or from --maven-mirror; it is not part of the code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.disk import disk_error
from pacenote.fetch.download import ChecksumMismatch, Download, NotAvailable, download_files
from pacenote.fetch.http_file import DOWNLOAD_LIMITS, Digest, HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.remote_file import RemoteFile, resolve
from pacenote.fetch.retry import read_text
from pacenote.model.printable import single_line
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.http_pool import ConnectionPools
from pacenote.net.url import parse_url
from pacenote.provision.public_files import make_public_dir
from pacenote.system.locks import locked
from pacenote.units import format_count

NETWORK_HINT = "check the network, or name a reachable Maven repository with --maven-mirror"

DOWNLOAD_OPTIONS = DownloadOptions(retry=DownloadRetryPolicy(first_attempts=4, attempts=4))
"""Settings for many small files: a download fails after four attempts."""

MAX_JAR_BYTES = 256 << 20
"""Largest size of a jar whose size is not known before it is downloaded; that of the core of Elasticsearch
9.5.3 has 22 MB.
"""

# Coordinates and names in locks become names of folders and files, so they must not lead elsewhere.
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_MAX_NAME = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")

NEW_JARS = ".new"
"""Folder in the cache for jars whose checksum is not known until they are downloaded."""

LOCK = ".lock"
"""The lock of a cache, which is held while jars get into it."""


def safe_name(name: str) -> str:
    """Returns a name that can be part of a path. Raises ValueError for any other."""
    if len(name) > _MAX_NAME or not _SAFE_NAME.fullmatch(name):
        raise ValueError(f"'{single_line(name)}' is not a valid name")
    return name


class MavenArtifact(Struct, frozen=True):
    """One jar of a Maven repository. Raises ValueError for coordinates that cannot be part of a path."""

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

    def __post_init__(self) -> None:
        for part in (self.group, self.name, self.version):
            safe_name(part)
        if self.sha256 and not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"{self} has no valid sha256")

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

    @property
    def pom_path(self) -> str:
        """The path of the description of the jar, its POM, below the URL of a repository."""
        return f"{self.repository_path.removesuffix('.jar')}.pom"

    def path_in(self, cache_dir: Path) -> Path:
        """Returns the path of the jar in a cache; it contains the checksum, so that no other content, and no
        jar without a known checksum, takes the place of the file. Raises ValueError if it is not known yet.
        """
        if not self.sha256:
            raise ValueError(f"the checksum of {self} is not known yet")
        return cache_dir / self.group / self.sha256 / self.file_name

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

    def read_text(self, path: str, cancellation: Cancellation | None = None) -> str | None:
        """Returns the text of a file of at most 1 MiB, or None if the repository does not have it.

        Raises EngineError, also if it is cancelled.
        """
        try:
            file = HttpFile(self.file(path), self._pools)
            return read_text(file, self.options.retry, cancellation or Cancellation())
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
    jar whose checksum is not known may have `MAX_JAR_BYTES`; it is downloaded, and verified against the SHA-1
    that the repository publishes; so is one that an earlier call has left when another jar failed, which is
    not downloaded again.

    Progress is in bytes. Raises EngineError with the artifact that cannot be downloaded, and DiskError if the
    cache cannot be written.
    """
    if not missing_artifacts(artifacts, cache_dir):
        return tuple(artifacts)
    try:
        make_public_dir(cache_dir)
        with locked(cache_dir / LOCK):
            # Another race may have downloaded them while this race waited for the lock.
            missing = missing_artifacts(artifacts, cache_dir)
            for artifact in missing:
                make_public_dir(_download_path(artifact, cache_dir).parent)
            _download(missing, cache_dir, MavenRepository(mirror, options=options), progress)
            # Modules share jars, so a jar may be listed twice.
            fetched = {artifact: _stored(artifact, cache_dir) for artifact in missing}
    except OSError as failure:
        raise disk_error(failure, cache_dir) from failure
    return tuple(fetched.get(artifact, artifact) for artifact in artifacts)


def missing_artifacts(artifacts: Sequence[MavenArtifact], cache_dir: Path) -> list[MavenArtifact]:
    """Returns the artifacts that are not in the cache, each once.

    A jar in a cache of an earlier version, whose paths lack the checksum, is moved to its path first if it
    has the right checksum.
    """
    return [artifact for artifact in dict.fromkeys(artifacts) if not _is_cached(artifact, cache_dir)]


def verified_jar(artifact: MavenArtifact, cache_dir: Path) -> Path:
    """Returns the path of a cached jar that is about to be run or loaded, after its checksum was compared.

    Raises EngineError if it has another one, and OSError.
    """
    path = artifact.path_in(cache_dir)
    if _sha256(path) != artifact.sha256:
        raise EngineError(
            f"{path} does not have the checksum of {artifact}",
            hint="delete this file; it will be downloaded again",
        )
    return path


def _is_cached(artifact: MavenArtifact, cache_dir: Path) -> bool:
    if not artifact.sha256 or artifact.size <= 0:
        return False
    path = artifact.path_in(cache_dir)
    return _has_size(path, artifact.size) or _is_moved(artifact, cache_dir)


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _is_moved(artifact: MavenArtifact, cache_dir: Path) -> bool:
    """Returns whether the jar is at its path, after moving it there from the path without its checksum."""
    source, target = cache_dir / artifact.group / artifact.file_name, artifact.path_in(cache_dir)
    if not _has_size(source, artifact.size):
        return False
    try:
        if _sha256(source) != artifact.sha256:
            return False
        make_public_dir(target.parent)
        source.replace(target)
    except OSError:
        # Another process may have moved it. Otherwise, it is downloaded.
        return _has_size(target, artifact.size)
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _has_digest(path: Path, digest: Digest) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, digest.algorithm).digest() == digest.value
    except FileNotFoundError:
        return False


def _download_path(artifact: MavenArtifact, cache_dir: Path) -> Path:
    if artifact.sha256:
        return artifact.path_in(cache_dir)
    # The version is a folder: `a-b` and `c` are not the same as `a` and `b-c`.
    return cache_dir / NEW_JARS / artifact.group / artifact.name / artifact.version / artifact.file_name


def _download(
    artifacts: Sequence[MavenArtifact],
    cache_dir: Path,
    repository: MavenRepository,
    progress: ProgressCallback,
) -> None:
    by_target = {_download_path(artifact, cache_dir): artifact for artifact in artifacts}
    pool = ThreadPoolExecutor(repository.options.parallel_files, thread_name_prefix="pacenote-checksum")
    try:
        digests = list(pool.map(lambda artifact: _expected_digest(artifact, repository), artifacts))
    finally:
        # After a failure or Ctrl-C, the checksums that are still queued are not requested.
        pool.shutdown(wait=True, cancel_futures=True)
    downloads = [
        Download(
            target=_download_path(artifact, cache_dir),
            sources=(repository.file(artifact.repository_path),),
            size=artifact.size or None,
            max_size=None if artifact.size else MAX_JAR_BYTES,
            digest=digest,
            public=True,
        )
        for artifact, digest in zip(artifacts, digests, strict=True)
        if artifact.sha256 or not _has_digest(_download_path(artifact, cache_dir), digest)
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


def _stored(artifact: MavenArtifact, cache_dir: Path) -> MavenArtifact:
    """Returns a downloaded artifact with its checksum and size, after moving it to the path with its
    checksum. Raises OSError.
    """
    if artifact.sha256 and artifact.size:
        return artifact
    downloaded = _download_path(artifact, cache_dir)
    stored = replace(artifact, sha256=_sha256(downloaded), size=downloaded.stat().st_size)
    if not artifact.sha256:
        make_public_dir(stored.path_in(cache_dir).parent)
        downloaded.replace(stored.path_in(cache_dir))
        _remove_empty(downloaded.parent, cache_dir)
    return stored


def _remove_empty(folder: Path, below: Path) -> None:
    """Removes a folder and those above it, as far as they are empty."""
    for path in (folder, *folder.parents):
        if path == below:
            return
        try:
            path.rmdir()
        except OSError:
            return


def _default_url() -> str:
    """Returns the Maven repository that jgo uses."""
    # Imported here because it takes 100 ms, and a race with a warm cache does not need it.
    from jgo.maven import MavenContext

    return str(next(iter(MavenContext().remote_repos.values())))
