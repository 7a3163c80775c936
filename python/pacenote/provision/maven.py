"""Files from a Maven repository: what they are called, and how they get here whole.

The address of the repository comes from jgo, or from --maven-mirror; it is written nowhere in our code.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pacenote.errors import EngineError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.http_pool import Access, open_pool, plain_reason, split_url
from pacenote.provision.files import disk_error, make_public_dir
from pacenote.units import format_count

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

THREADS = 8
CHUNK = 1 << 16
NETWORK_HINT = "check the network, or name a reachable Maven repository with --maven-mirror"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One jar of a Maven repository. `sha256` in hex, `size` in bytes; empty and 0 while not yet known."""

    group: str
    name: str
    version: str
    sha256: str = ""
    size: int = 0

    @property
    def file_name(self) -> str:
        """The file's name in the repository and in `lib/`."""
        return f"{self.name}-{self.version}.jar"

    @property
    def repository_path(self) -> str:
        """Where it lies below the repository's address."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    def cached(self, cache_dir: Path) -> Path:
        """Where it lies in the cache. The group is part of it: two groups may use one name."""
        return cache_dir / self.group / self.file_name

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed download is tried again; waits `pause` seconds first, twice that next, and so on."""

    times: int = 3
    pause: float = 0.5


class _Again(Exception):
    """A failure that may pass: reset, timeout, 429, 5xx, short body."""


class _Meter:
    """Bytes so far over all threads, told to one callback, one call at a time."""

    def __init__(self, progress: ProgressCallback, total: int, label: str) -> None:
        self._progress = progress
        self._total = total
        self._label = label
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._progress(self._label, self._done, self._total)


class Repository:
    """A Maven repository over HTTP. Safe to use from several threads."""

    def __init__(self, url: str, *, retry: Retry = Retry(), timeout: float = 20.0) -> None:
        """`url` may hold credentials, which are sent but never shown; `timeout` in seconds per connect and
        read.
        """
        parts, access = split_url(url, "the address of the Maven repository")
        self.url = parts.geturl().rstrip("/")
        self._headers = dict(access.headers)
        self._pool = open_pool(parts.scheme, parts.hostname or "", Access(), THREADS)
        self._retry = retry
        self._timeout = timeout
        self._stop = threading.Event()

    def has(self, path: str) -> bool:
        """Whether a file exists below the repository. Raises EngineError when the repository cannot tell."""
        return self.text(path) is not None

    def text(self, path: str) -> str | None:
        """A small text file, or None when the repository has none. Raises EngineError when unreachable."""
        return self._retried(path, lambda: self._read(path))

    def download(self, artifact: Artifact, cache_dir: Path, meter: _Meter) -> Artifact:
        """Bring one artifact into the cache, whole and verified; returns it with size and sha256 known.

        Raises EngineError: not found, unreachable, wrong checksum, disk full.
        """
        target = artifact.cached(cache_dir)
        try:
            make_public_dir(target.parent)
            return self._retried(str(artifact), lambda: self._store(artifact, target, meter))
        except OSError as failure:
            raise disk_error(failure, target) from failure

    def stop(self) -> None:
        """Make downloads under way in other threads end soon; used when one of them has failed for good."""
        self._stop.set()

    def _retried(self, what: str, action: Callable[[], Result]) -> Result:
        for attempt in range(self._retry.times + 1):
            try:
                return action()
            except _Again as failure:
                reason = str(failure)
            if attempt < self._retry.times and self._stop.wait(self._retry.pause * 2**attempt):
                break
        raise EngineError(f"{what} cannot be fetched from {self.url}: {reason}", hint=NETWORK_HINT)

    def _get(self, path: str) -> BaseHTTPResponse:
        import urllib3

        if self._stop.is_set():
            raise _Again("given up because another file failed")
        try:
            reply = self._pool.request(
                "GET",
                f"{self.url}/{path}",
                headers=self._headers,
                timeout=urllib3.Timeout(connect=self._timeout, read=self._timeout),
                preload_content=False,
                redirect=True,
                retries=urllib3.Retry(total=False, redirect=3),
            )
        except urllib3.exceptions.HTTPError as failure:
            raise _Again(plain_reason(failure)) from None
        if reply.status == 429 or reply.status >= 500:
            reply.drain_conn()
            raise _Again(f"HTTP status {reply.status}")
        return reply

    def _read(self, path: str) -> str | None:
        import urllib3

        reply = self._get(path)
        try:
            body = reply.read()
        except urllib3.exceptions.HTTPError as failure:
            raise _Again(plain_reason(failure)) from None
        finally:
            reply.release_conn()
        if reply.status == 404:
            return None
        if reply.status != 200:
            raise self._refused(path, reply.status)
        return body.decode("utf-8", "replace")

    def _refused(self, what: str, status: int) -> EngineError:
        if status == 404:
            return EngineError(
                f"{what} is not in the Maven repository {self.url}",
                hint="check the version, or --maven-mirror",
            )
        return EngineError(
            f"{what} cannot be fetched from {self.url}: HTTP status {status}", hint=NETWORK_HINT
        )

    def _store(self, artifact: Artifact, target: Path, meter: _Meter) -> Artifact:
        reply = self._get(artifact.repository_path)
        if reply.status != 200:
            reply.drain_conn()
            raise self._refused(str(artifact), reply.status)
        part = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
        try:
            found = self._receive(reply, part, artifact, meter)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
            reply.release_conn()
        return found

    def _receive(self, reply: BaseHTTPResponse, part: Path, artifact: Artifact, meter: _Meter) -> Artifact:
        import urllib3

        sha1, sha256, size = hashlib.sha1(usedforsecurity=False), hashlib.sha256(), 0
        try:
            with part.open("wb") as out:
                # Readable whatever the umask: the node's user must read it, and only we may write it.
                os.fchmod(out.fileno(), 0o644)
                for chunk in reply.stream(CHUNK):
                    if self._stop.is_set():
                        raise _Again("given up because another file failed")
                    out.write(chunk)
                    sha1.update(chunk)
                    sha256.update(chunk)
                    size += len(chunk)
                    meter.add(len(chunk))
            if artifact.size and size < artifact.size:
                raise _Again(f"got {size} of {artifact.size} bytes")
        except (_Again, urllib3.exceptions.HTTPError) as failure:
            # What a retry fetches again must not count twice.
            meter.add(-size)
            raise _Again(plain_reason(failure)) from None
        if artifact.sha256:
            _compare(artifact, "sha256", artifact.sha256, sha256.hexdigest())
        else:
            published = self.text(f"{artifact.repository_path}.sha1")
            _compare(artifact, "sha1", (published or "?").split()[0].lower(), sha1.hexdigest())
        return replace(artifact, sha256=sha256.hexdigest(), size=size)


def _compare(artifact: Artifact, kind: str, expected: str, found: str) -> None:
    if expected != found:
        raise EngineError(
            f"{artifact} has the wrong checksum: {kind} {found} instead of {expected}",
            hint="the repository or a proxy on the way sends another file; try another --maven-mirror",
        )


def repository_url(mirror: str | None) -> str:
    """The repository to use: the mirror when one is set, else the one jgo knows."""
    if mirror:
        return mirror
    # Only here: jgo takes 100 ms to import, and a race with a warm cache does not need it.
    from jgo.maven import MavenContext

    return str(next(iter(MavenContext().remote_repos.values())))


def fetch(
    artifacts: Sequence[Artifact],
    cache_dir: Path,
    *,
    mirror: str | None = None,
    progress: ProgressCallback = no_progress,
    retry: Retry = Retry(),
) -> tuple[Artifact, ...]:
    """Have all artifacts in the cache, downloading what is missing; returns them with sha256 and size known.

    A file already there with the right size is taken as it is: it was verified before it got its name.
    ProgressCallback is in bytes. Raises EngineError naming the artifact that cannot be had.
    """
    # Asked for twice is fetched and counted once: modules share jars.
    missing = missing_artifacts(artifacts, cache_dir)
    if not missing:
        return tuple(artifacts)
    make_public_dir(cache_dir)
    repository = Repository(repository_url(mirror), retry=retry)
    # A total is only true when every size is known, which it is for a lock and is not while one is made.
    sizes = [artifact.size for artifact in missing]
    label = f"downloading {format_count(len(missing), 'file')}"
    meter = _Meter(progress, sum(sizes) if all(sizes) else 0, label)
    fetched = _in_parallel(
        missing, lambda artifact: repository.download(artifact, cache_dir, meter), repository.stop
    )
    return tuple(fetched.get(artifact, artifact) for artifact in artifacts)


def missing_artifacts(artifacts: Sequence[Artifact], cache_dir: Path) -> list[Artifact]:
    """Those that are not in the cache, each once."""
    return [artifact for artifact in dict.fromkeys(artifacts) if not _present(artifact, cache_dir)]


def _present(artifact: Artifact, cache_dir: Path) -> bool:
    try:
        return artifact.size > 0 and artifact.cached(cache_dir).stat().st_size == artifact.size
    except OSError:
        return False


def _in_parallel(
    artifacts: Sequence[Artifact], action: Callable[[Artifact], Artifact], stop: Callable[[], None]
) -> dict[Artifact, Artifact]:
    with ThreadPoolExecutor(THREADS, thread_name_prefix="pacenote-fetch") as pool:
        futures: dict[Artifact, Future[Artifact]] = {
            artifact: pool.submit(action, artifact) for artifact in artifacts
        }
        try:
            done, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            failed = next((future for future in done if future.exception() is not None), None)
            if failed is not None:
                failed.result()
            return {artifact: future.result() for artifact, future in futures.items()}
        except BaseException:
            # Also for Ctrl-C: leaving the `with` would otherwise wait for every queued download.
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
