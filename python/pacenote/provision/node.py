"""One engine process on loopback: started, supervised, and always stopped.

prepare() ── launch() ──> starting ── confirm() ──> running ── stop() ──> stopped
                             │                          └─ ended: exit_reason()
                             └─ end_process() ──> prepare() again, with other ports
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.telemetry_options import PROFILER_LIBRARY
from pacenote.net.hosts import HttpHost
from pacenote.provision import engine_log, node_registry, resources
from pacenote.provision.control_groups import ControlGroup, find_method, group_of_process, ran_out_of_memory
from pacenote.provision.data_copy import copy_data, move_data
from pacenote.provision.data_folders import data_folder, mount_point
from pacenote.provision.engine_program import EngineProgram, NodePorts, NodeSetup, ProgramCommand
from pacenote.provision.jvm_options import LOGS
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_facts import NodeFacts
from pacenote.provision.node_files import create_files, node_paths
from pacenote.provision.node_lock import NodeLock
from pacenote.provision.node_logs import keep_logs, replace_log
from pacenote.provision.node_plan import Membership
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.profiler import profiler_library
from pacenote.system.child_process import ChildCommand, ChildProcess, spawn_child
from pacenote.units import format_bytes

STOP_TIMEOUT_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""


class Node:
    """A node; a context manager that stops it. Started by a fleet."""

    def __init__(self, spec: NodeSpec, layout: EngineLayout, log_file: Path) -> None:
        self.spec = spec
        self.log_file = log_file
        self.http_port = 0
        self.started_at = 0.0
        """The time of `time.monotonic` at which its process was spawned."""
        self.start_duration_s = 0.0
        """Seconds from then until the node was healthy."""
        self._layout = layout
        self._child: ChildProcess | None = None
        self._engine_pid: int | None = None
        self._group = ControlGroup()
        self._log_start = 0
        self._stopping = False
        self._exit_reason: str | None = None
        purpose = spec.purpose
        self.id = node_registry.node_id(spec.name, purpose.installation_id or uuid.uuid4().hex[:8])
        self.folder = layout.nodes / self.id
        self._entry = node_registry.NodeEntry(
            self.id,
            self.folder,
            node_registry.current_process(),
            None,
            keeps_data=purpose.keeps_data,
            data_folders=tuple(data_folder(path, self.id) for path in spec.data_paths),
            data_mounts=tuple(dict.fromkeys(map(mount_point, spec.data_paths))),
        )
        self._data_targets: tuple[Path, ...] = ()
        self.data_problem: str | None = None
        """Why its data could not be kept, in one line, or None."""
        self.log_problem = ""
        """Which of its logs were not kept, and why, in one line; empty if all were."""
        self._has_logs = False
        self._lock: NodeLock | None = None
        self._run_lock: NodeLock | None = None

    @property
    def pid(self) -> int:
        """The process id of the engine; once healthy, that of its JVM, even if a launcher started it."""
        if self._child is None:
            raise EngineError(f"node {self.spec.name} has no process", hint="start it first")
        return self._engine_pid or self._child.pid

    @property
    def user(self) -> int:
        """The id of the user that it runs as."""
        return self._layout.user.uid if self._layout.user else os.geteuid()

    @property
    def session(self) -> int:
        """The session of its processes, which is the id of the process that was spawned."""
        return 0 if self._child is None else self._child.pid

    @property
    def entry(self) -> node_registry.NodeEntry:
        """The entry of the node in the registry."""
        return self._entry

    @property
    def host(self) -> HttpHost:
        """The host of the node."""
        return HttpHost(self.spec.access.scheme, "127.0.0.1", self.http_port)

    @property
    def data_paths(self) -> tuple[Path, ...]:
        """The folders of the node's data."""
        return self._entry.indices_folders

    @property
    def control_groups(self) -> tuple[Path, ...]:
        """The folders of the node's control group; empty if it has none."""
        return self._entry.control_groups

    @property
    def keeps_port(self) -> bool:
        """Whether the user specified its port, so that no other port is tried."""
        return self.spec.ports is not None or "http.port" in self.spec.settings

    def prepare(self, program: EngineProgram, ports: NodePorts, member: Membership) -> ProgramCommand:
        """Creates the files of the node and copies its data; returns the command that starts it. `member`
        says how it finds the other nodes of its cluster.

        The caller must call `stop`, also after an error. Raises EngineError, also if the node of an
        installation already runs, and DiskError.
        """
        if self._lock is None:
            self._claim()
        self._register(replace(self._entry, facts=self._facts()))
        self._has_logs = True
        setup = create_files(
            self._setup(ports, member), self._entry, program, self._layout, self.spec.initial_data
        )
        self.http_port = _port(program.settings(setup).get("http.port", ports.http))
        self._create_group()
        command = program.command(setup)
        return replace(command, environment={"HOME": str(setup.paths.tmp), **command.environment})

    def launch(self, command: ProgramCommand) -> None:
        """Spawns the process, after `prepare`. Raises EngineError and DiskError."""
        self.started_at = time.monotonic()
        self._child = self._spawn(command)
        self._register_process()

    def confirm(self, pid: int) -> None:
        """Notes that the node is healthy, and the id of the process that says so."""
        self._engine_pid = pid
        self.start_duration_s = time.monotonic() - self.started_at
        if self.spec.limits:
            groups = group_of_process(self.pid, self.id)
            if not groups:
                raise EngineError(f"the limits of node {self.spec.name} have no effect", hint="omit them")
            self._register(replace(self._entry, control_groups=groups))
        # A script may have started the program that now runs.
        self._register_process()

    def wait(self, timeout_s: float) -> bool:
        """Waits for the process to end, and returns whether it has ended."""
        return self._child is None or self._child.wait(timeout_s)

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
        if ran_out_of_memory(self._entry.control_groups):
            limit = format_bytes(self.spec.limits.memory or 0)
            exit_text = f"killed by the kernel because it needed more than its {limit} (--node-memory)"
        # A killed process cannot log the cause; a JVM that crashes does so before it ends itself.
        logged = bool(memory) or engine_log.CRASH in text or not exit_text.startswith("killed")
        lines = engine_log.cause_lines(text) if logged else ()
        return "; ".join((
            f"node {self.spec.name} ended unexpectedly{memory}: {exit_text}",
            *lines,
            f"see {self.log_file}",
        ))

    def start_error(self, problem: str) -> EngineError:
        """Returns the error for a node that could not be started."""
        text = engine_log.read_tail(self.log_file, self._log_start)
        other = "check what --car, --jvm, --set and --env change" if str(self.log_file) in problem else ""
        return EngineError(problem, hint=engine_log.hint_for(text) or other or f"read {self.log_file}")

    def begin_stop(self) -> None:
        """Sends SIGTERM without waiting, so that several nodes stop at the same time."""
        # The reason is read before the node is stopped: after that, every exit counts as normal.
        self._exit_reason = self.exit_reason()
        self._stopping = True
        if self._child is not None:
            self._child.terminate()

    def stop(self) -> None:
        """Stops the node with SIGTERM, and with SIGKILL after 10 seconds.

        Copies its logs and removes its folders unless `preserve` is set. May be called again. No process
        remains, even if this call is interrupted.
        """
        if self._lock is None:
            # It was never launched, or its installation has a node that runs.
            return
        try:
            self.begin_stop()
            self.end_process()
            self._move_data()
        finally:
            self._keep_logs()
            if not self.spec.preserve:
                node_registry.remove_files(self._layout, self._entry)
            node_registry.unregister(self._layout, self._entry, self._lock)
            self._release_run_lock()

    def keep_data(self, targets: Sequence[Path]) -> None:
        """Has the data moved when the node stops: each data path to one of these folders, which do not exist.

        Afterwards, `data_problem` tells whether that succeeded.
        """
        self._data_targets = tuple(targets)
        self.data_problem = f"node {self.spec.name} has not stopped"

    def detach(self) -> None:
        """Lets the node run without this process, which must not stop it afterwards.

        Raises DiskError if the registry cannot be written; the node still needs this process then.
        """
        self._register(replace(self._entry, detached=True, keeps_data=True))
        self._release_run_lock()
        if self._lock is not None:
            self._lock.release()

    def _keep_logs(self) -> None:
        # A preserved folder still has them when this is called again.
        if self._has_logs:
            self._has_logs = False
            problems = (replace_log(self.log_file), keep_logs(self._entry.logs_folder, self.log_file.parent))
            self.log_problem = "; ".join(filter(None, problems))

    def _move_data(self) -> None:
        if not self._data_targets:
            return
        code = None if self._child is None else self._child.exit_code
        if self._exit_reason is not None or code == -signal.SIGKILL:
            killed = f"node {self.spec.name} was killed, or did not stop within {STOP_TIMEOUT_S:.0f} s"
            self.data_problem = self._exit_reason or killed
            return
        try:
            for source, target in zip(self.data_paths, self._data_targets, strict=True):
                if self.spec.preserve:
                    copy_data(source, target, self._layout.user)
                else:
                    move_data(source, target)
            self.data_problem = None
        except DiskError as error:
            self.data_problem = error.message
        self._data_targets = ()

    def end_process(self) -> None:
        """Stops the process with SIGTERM, and with SIGKILL after 10 seconds; the files remain."""
        try:
            if self._child is not None:
                self._child.terminate()
                self._child.wait(STOP_TIMEOUT_S)
        finally:
            # Has no effect on an ended process; needed if the wait timed out or was interrupted.
            if self._child is not None:
                self._child.kill()
                self._child.wait(STOP_TIMEOUT_S)
            node_registry.end_group(self._entry)

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _claim(self) -> None:
        """Locks the entry of the node. Raises EngineError if the node already runs, and DiskError."""
        if self.spec.purpose.installation_id:
            self._lock = node_registry.claim_node(self._layout, self._entry)
            self._run_lock = node_registry.lock_run(self._layout, self._entry)
        else:
            self._lock = node_registry.lock_node(self._layout, self._entry)

    def _release_run_lock(self) -> None:
        """Closes the lock that the process of the node inherited, which keeps it."""
        if self._run_lock is not None:
            self._run_lock.close()
            self._run_lock = None

    def _setup(self, ports: NodePorts, member: Membership) -> NodeSetup:
        names = {"cluster.name": self.spec.cluster_name, "node.name": self.spec.name}
        return NodeSetup(
            node_paths(self._entry),
            ports,
            heap=resources.parse_heap(self.spec.heap),
            jvm_options=tuple(
                option.replace(LOGS, str(self._entry.logs_folder)).replace(
                    PROFILER_LIBRARY, str(profiler_library(self._layout))
                )
                for option in self.spec.jvm_options
            ),
            settings={**names, **self.spec.settings, **member.settings},
            environment=self.spec.environment,
            all_node_names=member.all_node_names,
        )

    def _create_group(self) -> None:
        if self.spec.limits:
            method = find_method(self.spec.limits)
            # It is registered before it exists, so that it is found if Pacenote is killed.
            self._register(replace(self._entry, control_groups=method.folders(self.id)))
            self._group = method.create(self.id, self.spec.limits)

    def _spawn(self, command: ProgramCommand) -> ChildProcess:
        environment = {
            # The environment of Pacenote may contain secrets, and the engine needs few of its variables.
            **{name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ},
            "LANG": "C.UTF-8",
            **command.environment,
            **self._group.environment,
        }
        try:
            self.log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            output = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise disk_error(failure, self.log_file) from failure
        try:
            self._log_start = os.fstat(output).st_size
            lock = self._run_lock
            return spawn_child(
                ChildCommand(
                    (*self._group.wrapper, *command.arguments),
                    self._entry.logs_folder,
                    environment,
                    output,
                    self._layout.user,
                    command.standard_input,
                    outlives=lock is not None,
                    inherited=() if lock is None else (lock.descriptor,),
                    cpus=self.spec.cpus,
                    group_files=self._group.process_files,
                )
            )
        finally:
            os.close(output)

    def _register_process(self) -> None:
        if self._child is not None:
            self._entry = self._entry.with_process(self._child.identity)
        self._register(replace(self._entry, facts=self._facts()))

    def _register(self, entry: node_registry.NodeEntry) -> None:
        self._entry = entry
        node_registry.register(self._layout, entry)

    def _facts(self) -> NodeFacts:
        earlier = self._entry.facts
        return NodeFacts(
            name=self.spec.name,
            cluster_name=self.spec.cluster_name,
            distribution=self.spec.distribution,
            version=self.spec.version,
            title=self.spec.title,
            absent_modules=self.spec.absent_modules,
            heap=self.spec.heap,
            address=self.host.address if self.start_duration_s else "",
            scheme=self.spec.access.scheme,
            client_options=str(self.spec.access.options_file or ""),
            since=earlier.since if earlier else datetime.now(UTC).isoformat(timespec="seconds"),
            log_file=self.log_file,
            installation_id=self.spec.purpose.installation_id,
            race_id=self.spec.purpose.race_id,
        )


def _port(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise UsageError(f"http.port must be one port number, not '{value}'", hint="omit it") from None
