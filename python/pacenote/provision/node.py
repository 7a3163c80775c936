"""One engine process: started on loopback with free ports, supervised, and always stopped.

starting ── healthy ──> running ── stop() ──> stopped
   │  port in use: started again with other ports, up to 3 times  (also on any exception and on Ctrl-C)
   └─ ended, or not healthy in time ──> EngineError, no process or files remain
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.engine import DEFAULT_CLUSTER_NAME
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import HttpHost
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient
from pacenote.provision import engine_log, node_registry, resources
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.java import JavaRuntime
from pacenote.provision.layout import EngineLayout
from pacenote.provision.process import ChildCommand, ChildProcess, spawn_child

STOP_TIMEOUT_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""

MAX_PORT_ATTEMPTS = 3
"""Number of attempts with other ports after a port was in use."""

POLL_INTERVAL_S = 0.1
"""Seconds between two health checks during startup."""

HEALTH_TIMEOUT_S = 1.0
"""Timeout of a health check."""

_NODE_FOLDERS = ("config", "data", "logs", "tmp")
_NO_ANSWER = "it does not answer"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The node to start."""

    distribution: str
    """The name of the distribution, for messages."""
    version: str
    """The version of the engine, for messages."""
    name: str = "rally-node-0"
    """`node.name`."""
    cluster_name: str = DEFAULT_CLUSTER_NAME
    """`cluster.name`."""
    heap: str = "1g"
    """Heap size such as `1g`."""
    jvm_options: tuple[str, ...] = ()
    """JVM options after those of the distribution, which they override."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that override those of the distribution."""
    start_timeout_s: float = 120.0
    """Seconds within which the node must be healthy."""
    preserve: bool = False
    """Whether the node's folder with its data is kept after the stop."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An assembled engine and the Java runtime for it."""

    distribution: Distribution
    """The description of the engine."""
    folder: Path
    """Its folder below `installs`."""
    java: JavaRuntime
    """The runtime, which the node's user can run."""


class Node:
    """A running node. Made by `start_node`; a context manager that stops it."""

    def __init__(self, spec: NodeSpec, layout: EngineLayout, log_file: Path) -> None:
        self.spec = spec
        self.log_file = log_file
        self.http_port = 0
        self.start_duration_s = 0.0
        """Seconds from the spawn of the process until the node was healthy."""
        self._layout = layout
        self._child: ChildProcess | None = None
        self._log_start = 0
        self._stopping = False
        self._exit_reason: str | None = None
        self.id = f"{re.sub(r'[^A-Za-z0-9._-]', '-', spec.name)[:40]}-{uuid.uuid4().hex[:8]}"
        self.folder = layout.nodes / self.id
        self._entry = node_registry.NodeEntry(self.id, self.folder, node_registry.current_process(), None)
        self._lock: node_registry.NodeLock | None = None

    @property
    def pid(self) -> int:
        """The process id of the engine."""
        if self._child is None:
            raise EngineError(f"node {self.spec.name} has no process", hint="start it first")
        return self._child.pid

    @property
    def host(self) -> HttpHost:
        """The host of the node."""
        return HttpHost("http", "127.0.0.1", self.http_port)

    def is_running(self) -> bool:
        """Returns whether the process is still running."""
        return self._child is not None and self._child.exit_code is None

    def exit_reason(self) -> str | None:
        """Returns the reason why the process ended without `stop`, in one line, or None while it runs and
        after `stop`.
        """
        if self._child is None or self._child.exit_code is None or self._stopping:
            return self._exit_reason
        text = engine_log.read_tail(self.log_file, self._log_start)
        memory = " (OutOfMemoryError)" if engine_log.OUT_OF_MEMORY in text else ""
        exit_text = engine_log.describe_exit(self._child.exit_code)
        # A killed process cannot log the cause.
        lines = () if exit_text.startswith("killed") and not memory else engine_log.cause_lines(text)
        return "; ".join((
            f"node {self.spec.name} ended unexpectedly{memory}: {exit_text}",
            *lines,
            f"see {self.log_file}",
        ))

    def stop(self) -> None:
        """Stops the node with SIGTERM, and with SIGKILL after 10 seconds.

        Copies its logs and removes its folder unless `preserve` is set. May be called again. No process
        remains, even if this call is interrupted.
        """
        # The reason is read before the node is stopped: after that, every exit counts as normal.
        self._exit_reason = self.exit_reason()
        self._stopping = True
        try:
            self._end_process()
        finally:
            self._keep_logs()
            if not self.spec.preserve:
                node_registry.remove_node_dir(self._layout, self.folder)
            node_registry.unregister(self._layout, self._entry, self._lock)

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _end_process(self) -> None:
        if self._child is None:
            return
        try:
            self._child.terminate()
            self._child.wait(STOP_TIMEOUT_S)
        finally:
            # Has no effect on an ended process; needed if the wait timed out or was interrupted.
            self._child.kill()
            self._child.wait(STOP_TIMEOUT_S)

    def _keep_logs(self) -> None:
        """Copies files of the JVM (GC log, recordings, crash reports) to the folder of the engine's log."""
        try:
            names = sorted(path.name for path in (self.folder / "logs").iterdir())
        except OSError:
            return
        for name in names:
            try:
                _copy_regular(self.folder / "logs" / name, self.log_file.parent / name)
            except OSError:
                # A log that cannot be copied must not stop the rest of the cleanup.
                continue

    def _prepare(self, installation: Installation) -> NodePaths:
        """Creates the node's folders and files; only after that, the node's user may write there.

        Folders of an earlier attempt are removed first: the node could have put a link where Pacenote, which
        may be root, writes.
        """
        paths = NodePaths(installation.folder, *(self.folder / name for name in _NODE_FOLDERS))
        own = (paths.config, paths.data, paths.logs, paths.tmp)
        node_registry.remove_node_dir(self._layout, self.folder)
        try:
            self.folder.mkdir(mode=0o755)
            # Pacenote owns this folder so that the node cannot replace one of its folders with a link.
            self.folder.chmod(0o755)
            for folder in own:
                folder.mkdir(mode=0o700)
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            self._configure(installation, paths)
            if self._layout.user is not None:
                for folder in own:
                    os.chown(folder, self._layout.user.uid, self._layout.user.gid)
        except OSError as failure:
            raise disk_error(failure, self.folder) from failure
        return paths

    def _configure(self, installation: Installation, paths: NodePaths) -> None:
        ports = free_ports(2)
        names = {"cluster.name": self.spec.cluster_name, "node.name": self.spec.name}
        settings = {**installation.distribution.settings(*ports), **names, **self.spec.settings}
        self.http_port = _port(settings.get("http.port", ports[0]))
        for name, text in installation.distribution.config_files(paths, settings).items():
            _write_new(paths.config / name, text)

    def _launch(self, installation: Installation, paths: NodePaths) -> ChildProcess:
        heap = resources.parse_heap(self.spec.heap)
        arguments = (
            str(installation.java.binary),
            *installation.distribution.jvm_options(heap, paths, installation.java),
            gc_log_option(paths.logs),
            *self.spec.jvm_options,
            *installation.distribution.main_arguments(paths, installation.java),
        )
        environment = {
            # The environment of Pacenote may contain secrets, and the engine needs few of its variables.
            **{name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ},
            "LANG": "C.UTF-8",
            "HOME": str(paths.tmp),
            **installation.distribution.environment(paths),
        }
        try:
            output = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as failure:
            raise disk_error(failure, self.log_file) from failure
        try:
            self._log_start = os.fstat(output).st_size
            folder = self._entry.working_folder
            return spawn_child(ChildCommand(arguments, folder, environment, output, self._layout.user))
        finally:
            os.close(output)

    def _start(self, installation: Installation, progress: ProgressCallback) -> None:
        self._lock = node_registry.lock_node(self._layout, self._entry)
        node_registry.register(self._layout, self._entry)
        for attempt in range(1, MAX_PORT_ATTEMPTS + 1):
            paths = self._prepare(installation)
            started = time.monotonic()
            self._child = self._launch(installation, paths)
            self._register_process()
            error = self._await_health(started, progress)
            if error is None:
                self.start_duration_s = time.monotonic() - started
                # A script may have started the program that now runs.
                self._register_process()
                return
            # If the user specified this port, no other port is tried.
            final = attempt == MAX_PORT_ATTEMPTS or "http.port" in self.spec.settings
            if final or engine_log.PORT_IN_USE not in str(error):
                raise error
            self._end_process()

    def _register_process(self) -> None:
        if self._child is not None:
            self._entry = self._entry.with_process(self._child.identity)
        node_registry.register(self._layout, self._entry)

    def _await_health(self, started: float, progress: ProgressCallback) -> EngineError | None:
        client = RestClient([self.host], timeout_s=HEALTH_TIMEOUT_S)
        try:
            return self._poll_health(client, started, progress)
        finally:
            client.close()

    def _poll_health(
        self, client: RestClient, started: float, progress: ProgressCallback
    ) -> EngineError | None:
        limit = self.spec.start_timeout_s
        status = _NO_ANSWER
        while time.monotonic() - started < limit:
            waited_s = int(time.monotonic() - started)
            progress(f"starting {self.spec.distribution} {self.spec.version}", waited_s, int(limit))
            if not self.is_running():
                return self._start_error(self.exit_reason() or "it ended")
            status = _health(client, self.pid)
            if status in ("green", "yellow"):
                return None
            if self._child is not None:
                self._child.wait(POLL_INTERVAL_S)
        message = f"node {self.spec.name} is not healthy after {limit:.0f} s ({status}); see {self.log_file}"
        return self._start_error(message)

    def _start_error(self, message: str) -> EngineError:
        text = engine_log.read_tail(self.log_file, self._log_start)
        return EngineError(message, hint=engine_log.hint_for(text) or f"read {self.log_file}")


def start_node(
    spec: NodeSpec,
    installation: Installation,
    layout: EngineLayout,
    log_file: Path,
    progress: ProgressCallback = no_progress,
) -> Node:
    """Starts a node and waits until it is healthy. Its output goes to `log_file`.

    Raises EngineError if there is too little memory or disk space. Also raises it, with the line of the log
    that shows the cause, if the node ends or does not become healthy in time. After any error and after
    Ctrl-C, no process and no files of the node are left.
    """
    resources.check_memory(resources.parse_heap(spec.heap), resources.available_memory())
    resources.check_disk(layout.nodes)
    node = Node(spec, layout, log_file.absolute())
    try:
        node._start(installation, progress)
    except BaseException:
        node.stop()
        raise
    return node


def gc_log_option(logs: Path) -> str:
    """Returns the JVM option for the GC log: one file, no rotation, each line with wall clock and uptime."""
    tags, decorations = "gc*=info,gc+age*=trace,safepoint=info", "utctime,uptimenanos,level,tags"
    return f"-Xlog:{tags}:file={logs}/gc.log:{decorations}:filecount=0"


def free_ports(count: int) -> tuple[int, ...]:
    """Returns ports of the loopback address that are currently free."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        # All ports are bound before any is closed, so they differ.
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return tuple(int(each.getsockname()[1]) for each in sockets)
    finally:
        for each in sockets:
            each.close()


def _port(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise UsageError(f"http.port must be one port number, not '{value}'", hint="omit it") from None


def _health(client: RestClient, pid: int) -> str:
    try:
        response = client.exchange("GET", "/_cluster/health")
        processes = client.exchange("GET", "/_nodes/_local/process")
        with expected_form("its process"):
            pids = _process_ids(processes.body)
    except EngineError:
        return _NO_ANSWER
    if not isinstance(response.body, dict) or not response.ok:
        return f"HTTP status {response.status}"
    status = str(response.body.get("status", "unknown"))
    # Two races that start at the same time may get the same port, and one would measure the other's engine.
    return status if pid in pids else "another engine answers at its port"


def _process_ids(body: Any) -> set[int]:
    """Returns the process ids in a response of `_nodes/process`."""
    nodes = body.get("nodes", {}) if isinstance(body, dict) else {}
    return {int(node.get("process", {}).get("id", 0)) for node in nodes.values()}


def _write_new(path: Path, text: str) -> None:
    """Creates a file that every user can read. Fails if it exists, and does not follow links."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        # The node's user must be able to read it, whatever the umask.
        os.fchmod(file.fileno(), 0o644)
        file.write(text)


def _copy_regular(source: Path, target: Path) -> None:
    """Copies a regular file without following links, because the node wrote it and Pacenote may be root."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with target.open("wb") as out:
                shutil.copyfileobj(file, out, 1 << 20)
