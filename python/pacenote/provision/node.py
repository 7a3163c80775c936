"""One engine process: started on loopback with free ports, watched, and always stopped.

starting ── healthy ──> running ── stop() ──> stopped
   │  port taken: again with others, up to 3 times       (also on any exception and on Ctrl-C)
   └─ died, or not healthy in time ──> EngineError, nothing left behind
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient
from pacenote.provision import engine_log, registry, resources
from pacenote.provision.distribution import Distribution, NodePaths
from pacenote.provision.java import Java
from pacenote.provision.layout import Place
from pacenote.provision.process import Child, Command, start_child

STOP_SECONDS = 10.0
PORT_TRIES = 3
POLL_SECONDS = 0.1
HEALTH_SECONDS = 1.0

_OWN_FOLDERS = ("config", "data", "logs", "tmp")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What node to start. Empty `jvm_options` and `settings` leave the engine's defaults; later options win.

    `start_timeout` in seconds; `preserve` keeps the node's folder (its data) after the stop.
    """

    distribution: str
    version: str
    name: str = "rally-node-0"
    cluster_name: str = "rally-benchmark"
    heap: str = "1g"
    jvm_options: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    start_timeout: float = 120.0
    preserve: bool = False


@dataclass(frozen=True, slots=True)
class Install:
    """An assembled engine and the Java to run it."""

    distribution: Distribution
    folder: Path
    java: Java


class Node:
    """A running node. Made by `start_node`; a context manager that stops it."""

    def __init__(self, spec: NodeSpec, place: Place, log_file: Path) -> None:
        self.spec = spec
        self.log_file = log_file
        self.http_port = 0
        self.start_seconds = 0.0
        self._place = place
        self._child: Child | None = None
        self._log_start = 0
        self._stopping = False
        self._ended: str | None = None
        self.id = f"{re.sub(r'[^A-Za-z0-9._-]', '-', spec.name)[:40]}-{uuid.uuid4().hex[:8]}"
        self.folder = place.nodes / self.id
        self._entry = registry.Entry(self.id, self.folder, registry.ourselves(), None)
        self._held: registry.Hold | None = None

    @property
    def pid(self) -> int:
        """The number of the engine's process."""
        if self._child is None:
            raise EngineError(f"node {self.spec.name} has no process", hint="start it first")
        return self._child.pid

    @property
    def host(self) -> HttpHost:
        """Where it answers."""
        return HttpHost("http", "127.0.0.1", self.http_port)

    def running(self) -> bool:
        """Whether the process still runs."""
        return self._child is not None and self._child.code is None

    def exit_reason(self) -> str | None:
        """Why it ended although nobody stopped it, in one line; None while it runs or after a stop."""
        if self._child is None or self._child.code is None or self._stopping:
            return self._ended
        text = engine_log.read_tail(self.log_file, self._log_start)
        memory = " (OutOfMemoryError)" if engine_log.OUT_OF_MEMORY in text else ""
        how = engine_log.exit_words(self._child.code)
        # A process that is killed has no time to write why.
        lines = () if how.startswith("killed") and not memory else engine_log.telling_lines(text)
        return "; ".join((f"node {self.spec.name} died{memory}: {how}", *lines, f"see {self.log_file}"))

    def stop(self) -> None:
        """Stop it: SIGTERM, after 10 seconds SIGKILL; keep its logs, remove its folder unless `preserve`.

        May be called again. Always leaves no process, also when interrupted while waiting.
        """
        # Kept before the stop makes any end look wanted.
        self._ended = self.exit_reason()
        self._stopping = True
        try:
            self._end_process()
        finally:
            self._keep_logs()
            if not self.spec.preserve:
                registry.remove_node_dir(self._place, self.folder)
            registry.forget(self._place, self._entry, self._held)

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
            self._child.wait(STOP_SECONDS)
        finally:
            # Nothing to do when it has ended; needed also when Ctrl-C cut the waiting short.
            self._child.kill()
            self._child.wait(STOP_SECONDS)

    def _keep_logs(self) -> None:
        """Copy what the JVM wrote (GC log, recordings, crash reports) beside the engine's log."""
        try:
            names = sorted(path.name for path in (self.folder / "logs").iterdir())
        except OSError:
            return
        for name in names:
            try:
                _copy_regular(self.folder / "logs" / name, self.log_file.parent / name)
            except OSError:
                # A log less is no reason to leave a process or files behind.
                continue

    def _prepare(self, install: Install) -> NodePaths:
        """Fresh folders with the node's files in them; only then may the node's user write there.

        What an earlier try left goes first: its user could have put a link where we, who may be root, write.
        """
        paths = NodePaths(install.folder, *(self.folder / name for name in _OWN_FOLDERS))
        own = (paths.config, paths.data, paths.logs, paths.tmp)
        registry.remove_node_dir(self._place, self.folder)
        try:
            self.folder.mkdir(mode=0o755)
            # Ours, so that the node cannot put a link in the place of one of its folders.
            self.folder.chmod(0o755)
            for folder in own:
                folder.mkdir(mode=0o700)
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            self._configure(install, paths)
            if self._place.user is not None:
                for folder in own:
                    os.chown(folder, self._place.user.uid, self._place.user.gid)
        except OSError as failure:
            raise disk_error(failure, self.folder) from failure
        return paths

    def _configure(self, install: Install, paths: NodePaths) -> None:
        ports = free_ports(2)
        names = {"cluster.name": self.spec.cluster_name, "node.name": self.spec.name}
        settings = {**install.distribution.settings(*ports), **names, **self.spec.settings}
        self.http_port = _port(settings.get("http.port", ports[0]))
        for name, text in install.distribution.config_files(paths, settings).items():
            _write_new(paths.config / name, text)

    def _launch(self, install: Install, paths: NodePaths) -> Child:
        heap = resources.parse_heap(self.spec.heap)
        arguments = (
            str(install.java.binary),
            *install.distribution.jvm_options(heap, paths, install.java),
            gc_log_option(paths.logs),
            *self.spec.jvm_options,
            *install.distribution.main(paths, install.java),
        )
        environment = {
            # Ours may hold secrets; the engine needs next to nothing of it.
            **{name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ},
            "LANG": "C.UTF-8",
            "HOME": str(paths.tmp),
            **install.distribution.environment(paths),
        }
        try:
            output = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as failure:
            raise disk_error(failure, self.log_file) from failure
        try:
            self._log_start = os.fstat(output).st_size
            # In its logs folder, so that a relative file name in a JVM option ends up among the kept logs.
            return start_child(Command(arguments, paths.logs, environment, output, self._place.user))
        finally:
            os.close(output)

    def _start(self, install: Install, progress: ProgressCallback) -> None:
        self._held = registry.hold(self._place, self._entry)
        registry.note(self._place, self._entry)
        for attempt in range(1, PORT_TRIES + 1):
            paths = self._prepare(install)
            begun = time.monotonic()
            self._child = self._launch(install, paths)
            self._entry = replace(self._entry, process=self._child.identity)
            registry.note(self._place, self._entry)
            trouble = self._await_health(begun, progress)
            if trouble is None:
                self.start_seconds = time.monotonic() - begun
                return
            # A port the user chose is taken for good.
            hopeless = attempt == PORT_TRIES or "http.port" in self.spec.settings
            if hopeless or engine_log.PORT_TAKEN not in str(trouble):
                raise trouble
            self._end_process()

    def _await_health(self, begun: float, progress: ProgressCallback) -> EngineError | None:
        client = RestClient([self.host], timeout_s=HEALTH_SECONDS)
        limit = self.spec.start_timeout
        status = "it does not answer"
        while time.monotonic() - begun < limit:
            progress(f"starting {self.spec.distribution} {self.spec.version}", 0, 0)
            if not self.running():
                return self._start_failed(self.exit_reason() or "it ended")
            status = _health(client, self.pid)
            if status in ("green", "yellow"):
                client.close()
                return None
            if self._child is not None:
                self._child.wait(POLL_SECONDS)
        words = f"node {self.spec.name} is not healthy after {limit:.0f} s ({status}); see {self.log_file}"
        return self._start_failed(words)

    def _start_failed(self, words: str) -> EngineError:
        text = engine_log.read_tail(self.log_file, self._log_start)
        return EngineError(words, hint=engine_log.advice(text) or f"read {self.log_file}")


def start_node(
    spec: NodeSpec, install: Install, place: Place, log_file: Path, progress: ProgressCallback = no_progress
) -> Node:
    """Start a node and wait until it is healthy. Its output goes to `log_file`, its GC log beside it on stop.

    Raises EngineError: too little memory or disk, it dies or is not healthy in time (with the telling line of
    its log). Whatever goes wrong, also Ctrl-C, no process and no files stay behind.
    """
    resources.check_memory(resources.parse_heap(spec.heap), resources.available_memory())
    resources.check_disk(place.nodes)
    node = Node(spec, place, log_file.absolute())
    try:
        node._start(install, progress)
    except BaseException:
        node.stop()
        raise
    return node


def gc_log_option(logs: Path) -> str:
    """The option for a GC log that parsers can read: one file, no rotation, wall clock and uptime."""
    what, decorations = "gc*=info,gc+age*=trace,safepoint=info", "utctime,uptimenanos,level,tags"
    return f"-Xlog:{what}:file={logs}/gc.log:{decorations}:filecount=0"


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of the loopback address that nobody listens on right now."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        # All bound before any is closed, so that they differ.
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
        raise UsageError(f"http.port must be one port number, not '{value}'", hint="leave it out") from None


def _health(client: RestClient, pid: int) -> str:
    try:
        reply = client.exchange("GET", "/_cluster/health")
        pids = _process_ids(client.exchange("GET", "/_nodes/_local/process").body)
    except EngineError:
        return "it does not answer"
    if not isinstance(reply.body, dict) or not reply.ok:
        return f"HTTP status {reply.status}"
    status = str(reply.body.get("status", "unknown"))
    # Two races that start at once may get the same free port; the loser would measure the winner's engine.
    return status if pid in pids else "another engine answers there"


def _process_ids(body: Any) -> set[int]:
    """The process numbers in a reply of `_nodes/process`."""
    nodes = body.get("nodes", {}) if isinstance(body, dict) else {}
    return {int(node.get("process", {}).get("id", 0)) for node in nodes.values()}


def _write_new(path: Path, text: str) -> None:
    """Write a file that every user can read; never through a link, never into what is there already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        # Whatever the umask: the node's user must read it.
        os.fchmod(file.fileno(), 0o644)
        file.write(text)


def _copy_regular(source: Path, target: Path) -> None:
    """Copy a file the node's user wrote, never what a link of his points to: we may be root."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with target.open("wb") as out:
                shutil.copyfileobj(file, out, 1 << 20)
