"""A running container with an engine: started, supervised, and always stopped.

    HOME/containers/ID/docker-compose.yml   the compose file of a container
    HOME/containers/ID.lock                 held by the command that started it

Docker runs containers, so they do not end with Pacenote. If its command was killed, the next one that uses
engines stops the container.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error, replace_text
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient
from pacenote.provision.containers.compose import (
    ComposedEngine,
    ContainerSpec,
    compose_text,
    home_of_compose_file,
    read_compose_file,
)
from pacenote.provision.containers.docker import ComposeProject, check_docker
from pacenote.system.folder_trees import discard_tree
from pacenote.system.locks import lock, open_lock
from pacenote.system.own_home import check_own_home
from pacenote.system.paths import real_path

CONTAINERS = "containers"
"""Name of the folder with compose files in a home folder."""

COMPOSE_FILE = "docker-compose.yml"
"""Name of a compose file."""

_POLL_S = 0.2
_HEALTH_TIMEOUT_S = 1.0
_SHOWN_LINES = 3


class EngineContainer:
    """A running container. Made by `start_container`; a context manager that stops it."""

    def __init__(self, spec: ContainerSpec, home: Path, log_file: Path) -> None:
        self.spec = spec
        self.log_file = log_file
        self.id = f"pacenote-{uuid.uuid4().hex[:12]}"
        self.start_duration_s = 0.0
        """Seconds from the start of the container until its engine was healthy."""
        self.compose_file = home / CONTAINERS / self.id / COMPOSE_FILE
        self._project = ComposeProject(self.id, self.compose_file)
        self._watch: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None
        self._stopped = False

    @property
    def host(self) -> HttpHost:
        """The host of the engine."""
        return HttpHost("http", "127.0.0.1", self.spec.http_port)

    def exit_reason(self) -> str | None:
        """Returns why the container has ended without `stop`, in one line; None while it runs and after
        `stop`.
        """
        if self._stopped or (self._watch is not None and self._watch.poll() is None):
            return None
        lines = [line.strip() for line in self._project.logs().splitlines() if line.strip()]
        return "; ".join((f"container {self.id} ended unexpectedly", *lines[-_SHOWN_LINES:]))

    def stop(self) -> None:
        """Keeps the log of the container, and removes the container with its data. May be called again.

        Raises EngineError if docker does not stop it; the next command tries it again.
        """
        if self._stopped:
            return
        try:
            with contextlib.suppress(EngineError, OSError):
                self.log_file.parent.mkdir(parents=True, exist_ok=True)
                self.log_file.write_text(self._project.logs(), "utf-8")
            self._project.down()
            self._stopped = True
            if self._watch is not None:
                self._watch.kill()
                self._watch.wait()
            discard_tree(self.compose_file.parent)
            _lock_file(self.compose_file.parent).unlink(missing_ok=True)
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def __enter__(self) -> EngineContainer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, timeout_s: float, progress: ProgressCallback) -> None:
        label = f"starting {self.spec.image}"
        try:
            # Environment variables may contain secrets.
            self.compose_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(self.compose_file.parent)
        except OSError as failure:
            raise disk_error(failure, self.compose_file) from failure
        replace_text(self.compose_file, compose_text(self.spec, self.compose_file.parents[2]))
        self._project.validate()
        self._project.up(lambda: progress(label, 0, 0))
        self._watch = self._project.watch()
        started = time.monotonic()
        client = RestClient([self.host], timeout_s=_HEALTH_TIMEOUT_S)
        try:
            while time.monotonic() - started < timeout_s:
                progress(label, int(time.monotonic() - started), int(timeout_s))
                if _is_healthy(client):
                    self.start_duration_s = time.monotonic() - started
                    return
                if reason := self.exit_reason():
                    raise EngineError(reason, hint=f"see {self.log_file}")
                time.sleep(_POLL_S)
        finally:
            client.close()
        raise EngineError(
            f"the engine in container {self.id} is not healthy after {timeout_s:.0f} s",
            hint=f"see {self.log_file}",
        )


def start_container(
    spec: ContainerSpec,
    home: Path,
    log_file: Path,
    progress: ProgressCallback = no_progress,
    timeout_s: float = 300.0,
) -> EngineContainer:
    """Starts a container and waits until its engine is healthy. Its output is in `log_file` after the stop.

    After any error and after Ctrl-C, the container is stopped. Raises EngineError, UsageError and DiskError.
    """
    check_docker()
    container = EngineContainer(spec, home, log_file)
    try:
        container._start(timeout_s, progress)
    except BaseException:
        with contextlib.suppress(EngineError):
            container.stop()
        raise
    return container


def cleanup_containers(home: Path) -> tuple[str, ...]:
    """Stops the containers of commands that were killed, and returns the names of their projects.

    Containers that docker does not stop are left for the next command. Those of another home, which this one
    is a copy of, are left alone. Raises EngineError if another user could change what is in the home folder.
    """
    check_own_home(home)
    stopped = []
    for folder in sorted((home / CONTAINERS).glob("*/")):
        try:
            descriptor = _locked(folder)
        except OSError:
            continue  # The command that started it still runs.
        try:
            owner = home_of_compose_file(folder / COMPOSE_FILE)
            if owner not in (None, real_path(home)) or (owner and shutil.which("docker") is None):
                continue
            # Without a compose file, no container was started.
            if owner:
                ComposeProject(folder.name, folder / COMPOSE_FILE).down()
                stopped.append(folder.name)
            discard_tree(folder)
            _lock_file(folder).unlink(missing_ok=True)
        except EngineError:
            continue
        finally:
            os.close(descriptor)
    return tuple(stopped)


class RunningContainer(Struct, frozen=True):
    """A container of a command that runs."""

    id: str
    """The name of its project."""
    folder: Path
    """The folder with its compose file."""
    engine: ComposedEngine
    """Its engine."""


def running_containers(home: Path) -> tuple[RunningContainer, ...]:
    """Returns the containers of a home that run or are being started, sorted by id."""
    containers = []
    for folder in sorted((home / CONTAINERS).glob("*/")):
        engine = read_compose_file(folder / COMPOSE_FILE)
        if engine is not None and home_of_compose_file(folder / COMPOSE_FILE) == real_path(home):
            try:
                os.close(_locked(folder))
            except BlockingIOError:
                containers.append(RunningContainer(folder.name, folder, engine))
            except OSError:
                continue
    return tuple(containers)


def _is_healthy(client: RestClient) -> bool:
    try:
        response = client.exchange("GET", "/_cluster/health")
    except EngineError:
        return False
    body = response.body if response.ok and isinstance(response.body, dict) else {}
    return body.get("status") in ("green", "yellow")


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _locked(folder: Path) -> int:
    """Returns the open lock file of a container. Raises OSError if another process holds it."""
    file = _lock_file(folder)
    descriptor = open_lock(file)
    try:
        lock(descriptor, wait=False)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
