"""Installs, starts and stops engines outside of races (`pacenote install`, `start` and `stop`).

installed ── start ──> running ── stop --preserve-install ──> installed, with its data
                          └────── stop ──> removed
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from pacenote.errors import EngineError, PacenoteError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.engine import DEFAULT_NODE_NAME, FIRST_HTTP_PORT, TRANSPORT_OFFSET
from pacenote.model.engine_options import EngineOptions
from pacenote.model.messages import list_with_rest
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.model.shell_command import shell_command
from pacenote.provision.car_rules import check_engine_name
from pacenote.provision.containers.engine_container import cleanup_containers
from pacenote.provision.data_folders import data_folder, remove_data_folder
from pacenote.provision.engine import start_engine
from pacenote.provision.engine_checks import check_engine_request
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_log import PORT_IN_USE
from pacenote.provision.engine_program import NodePorts
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.fleet import MAX_PORT_ATTEMPTS
from pacenote.provision.layout import plan_layout
from pacenote.provision.node_facts import NodePurpose
from pacenote.provision.node_logs import keep_logs
from pacenote.provision.node_plan import node_names
from pacenote.provision.node_registry import (
    NodeEntry,
    cleanup_orphans,
    node_id,
    registered_nodes,
    remove_node_dir,
    stop_detached,
)
from pacenote.provision.ports import is_taken, reserve_ports
from pacenote.provision.public_files import link_file
from pacenote.provision.security.secured_cluster import remove_client_options
from pacenote.race.engine_request import engine_request
from pacenote.race.engine_sources import build_all, installable, versioned
from pacenote.race.race_secrets import race_secrets
from pacenote.race.team import TeamMessages, located_engine
from pacenote.store.atomic_files import store_error
from pacenote.store.home import RACES
from pacenote.store.installation_store import InstallationStore, InstalledEngine, is_installation_id
from pacenote.store.redacted_file import RedactedCopy
from pacenote.system.paths import is_dir, is_link

_LAST_PORT = FIRST_HTTP_PORT + TRANSPORT_OFFSET - 1
_MAX_NAMED = 5
_TAKEN = "is used by another process"


class NewInstallation(Struct, frozen=True, kw_only=True):
    """An installation as requested on the command line."""

    home: Path
    """Pacenote's home folder."""
    engine: EngineOptions
    """The engine."""
    installation_id: str = ""
    """The id of the installation; empty for a new one."""
    node_name: str = DEFAULT_NODE_NAME
    """`node.name`, which the names of several nodes begin with."""
    http_port: int | None = None
    """`http.port` of the first node; None for the first port from `FIRST_HTTP_PORT` that is free."""
    offline: bool = False
    """Whether downloads are forbidden."""


class InstalledStart(Struct, frozen=True):
    """The start of an installation as requested on the command line."""

    home: Path
    """Pacenote's home folder."""
    installation_id: str
    """The id of the installation."""
    runtime_jdk: int | Literal["bundled"] | None = None
    """The JDK from now on; None for that of the installation."""
    offline: bool = False
    """Whether downloads are forbidden."""


class StoppedEngine(Struct, frozen=True):
    """What `stop_installation` did."""

    installation_id: str
    """The id of the installation."""
    nodes: tuple[NodeEntry, ...]
    """The nodes that were stopped; empty if none ran."""
    removed: bool
    """Whether the installation and its data were removed."""
    problems: tuple[str, ...] = ()
    """Which logs were not kept, and why."""


def install(new: NewInstallation, progress: ProgressCallback) -> InstalledEngine:
    """Installs an engine without starting it, and returns the state of the installation.

    Raises UsageError for an id that exists, and the errors of `install_engine` and of the store.
    """
    _sweep(new.home)
    state = _ready(new, progress)
    install_engine(_request(state, new.home, offline=new.offline), progress)
    InstallationStore(new.home).save(state)
    return state


def start_new(new: NewInstallation, race_id: str, progress: ProgressCallback) -> tuple[NodeEntry, ...]:
    """Installs an engine and starts it; returns its nodes, which outlive this process.

    Raises EngineError if a node with this name already runs in an installation. If the start fails, there is
    no installation.
    """
    _sweep(new.home)
    names = node_names(new.node_name, new.engine.nodes.count)
    for entry in running_nodes(new.home):
        facts = entry.facts
        if facts is not None and facts.installation_id and facts.name in names:
            raise EngineError(
                f"node {facts.name} already runs at {facts.address or 'a port that is not known yet'} "
                f"(installation {facts.installation_id})",
                hint="give another --node-name to start a second one, or stop it: "
                + _stop_command(facts.installation_id),
            )
    state = _ready(new, progress)
    store = InstallationStore(new.home)
    more_attempts = MAX_PORT_ATTEMPTS - 1 if new.http_port is None else 0
    while True:
        request = _request(state, new.home, race_id, offline=new.offline)
        try:
            # Nodes that outlive this process have a state, whenever it is killed.
            return _start(request, progress, partial(store.save, structs.replace(state, used=True)))
        except BaseException as error:
            store.remove_state(state.id)
            # Another process may have taken a port that was free.
            if not (isinstance(error, EngineError) and more_attempts and _is_port_taken(error)):
                raise
        more_attempts -= 1
        state = _with_ports(state, _free_ports(store, state.engine.nodes.count))


def _is_port_taken(error: EngineError) -> bool:
    return any(text in str(error) for text in (_TAKEN, PORT_IN_USE))


def start_installed(
    installed: InstalledStart, race_id: str, progress: ProgressCallback
) -> tuple[NodeEntry, ...]:
    """Starts the engine of an installation; returns its nodes, which outlive this process.

    Raises UsageError if there is no such installation, or if it has a name that is refused, and EngineError
    if it already runs.
    """
    home, installation_id = installed.home, installed.installation_id
    _sweep(home)
    store = InstallationStore(home)
    state = store.load(installation_id)
    if running := _nodes_of(running_nodes(home), installation_id):
        facts, count = running[0].facts, state.engine.nodes.count
        # A node of it may have ended.
        part = f"{len(running)} of {count} nodes of " if len(running) < count else ""
        verb = "already run" if len(running) > 1 and part else "already runs"
        raise EngineError(
            f"{part}installation {installation_id} {verb} at {facts.address if facts else 'an unknown port'}",
            hint=f"stop it first: {_stop_command(installation_id)}",
        )
    if installed.runtime_jdk is not None:
        state = structs.replace(
            state, engine=structs.replace(state.engine, runtime_jdk=installed.runtime_jdk)
        )
    request = _request(state, home, race_id, offline=installed.offline)
    _check_stored_names(request, installation_id)
    # From now on there may be data, also if this process is killed.
    store.save(structs.replace(state, used=True))
    return _start(request, progress)


def _check_stored_names(request: EngineRequest, installation_id: str) -> None:
    """Raises UsageError for names that an earlier version of Pacenote accepted: no option of a start changes
    those of an installation.
    """
    try:
        request.check_names()
    except UsageError as error:
        raise UsageError(
            f"installation {installation_id} cannot be started, because it has a name that is refused: "
            f"{error.message}",
            hint="install the engine again with another name; this installation and its data are removed by: "
            + _stop_command(installation_id),
        ) from error


def stop_installation(home: Path, installation_id: str, *, preserve: bool) -> StoppedEngine:
    """Stops the engine of an installation, and removes the installation with its data unless `preserve` is
    set. An empty id means the one that runs.

    Its logs are copied to the folder of the race that it was started for, if that exists. Raises UsageError
    if there is no such installation, or if an id is needed, and EngineError for a node that cannot be
    stopped.
    """
    _sweep(home)
    store = InstallationStore(home)
    running = [entry for entry in running_nodes(home) if entry.detached]
    chosen = installation_id or _only_running(running, store)
    nodes = _nodes_of(running, chosen)
    if not nodes:
        store.load(chosen)
    problems = [*_stop_together(home, nodes), *(_copy_logs_to_race(home, entry) for entry in nodes)]
    remove_client_options(store.folder(chosen))
    if not preserve:
        _remove_data(home, chosen, nodes)
        store.remove(chosen)
    return StoppedEngine(chosen, nodes, not preserve, tuple(filter(None, problems)))


def _stop_together(home: Path, nodes: Iterable[NodeEntry]) -> list[str]:
    """Stops nodes, and returns a line about the logs of each that were left out; empty if none were."""
    with ThreadPoolExecutor() as threads:
        # The nodes of a cluster stop together: one that lost the others would wait for them.
        return list(threads.map(partial(stop_detached, plan_layout(home)), nodes))


def _remove_data(home: Path, installation_id: str, stopped: Iterable[NodeEntry]) -> None:
    """Removes the data of all nodes of an installation, also in other folders of `--data-paths`."""
    layout, store = plan_layout(home), InstallationStore(home)
    # The state may be missing, because someone has removed it.
    folders = {entry.id: entry.data_folders for entry in stopped}
    if installation_id in store.ids():
        state = store.load(installation_id)
        nodes = state.engine.nodes
        for index, identifier in enumerate(_node_ids(state)):
            folders[identifier] = tuple(data_folder(path, identifier) for path in nodes.data_paths_of(index))
    for identifier, data in folders.items():
        remove_node_dir(layout, layout.nodes / identifier)
        for folder in data:
            remove_data_folder(folder, identifier, layout)


def running_nodes(home: Path) -> tuple[NodeEntry, ...]:
    """Returns the nodes of this home that run or are being started: those of races and of installations."""
    _sweep(home)
    return registered_nodes(plan_layout(home))


def _sweep(home: Path) -> None:
    cleanup_orphans(plan_layout(home))
    cleanup_containers(home)
    InstallationStore(home).remove_abandoned()


def _nodes_of(nodes: Iterable[NodeEntry], installation_id: str) -> tuple[NodeEntry, ...]:
    return tuple(node for node in nodes if node.facts and node.facts.installation_id == installation_id)


def _only_running(running: Iterable[NodeEntry], store: InstallationStore) -> str:
    """Returns the id of the only installation that runs. Raises UsageError."""
    ids = sorted({entry.facts.installation_id for entry in running if entry.facts})
    if len(ids) == 1:
        return ids[0]
    if not ids:
        others = list_with_rest(store.ids(), _MAX_NAMED)
        raise UsageError(
            "no engine runs that `pacenote start` started",
            hint=f"--installation-id removes an installation: {others}"
            if others
            else "`pacenote list nodes` shows what runs",
        )
    raise UsageError(
        f"several engines run: {list_with_rest(ids, _MAX_NAMED)}",
        hint="name one with --installation-id; `pacenote list nodes` shows them",
    )


def _new_state(new: NewInstallation) -> InstalledEngine:
    check_engine_name(new.engine.cluster_name, "--cluster-name")
    check_engine_name(new.node_name, "--node-name")
    store = InstallationStore(new.home)
    chosen = new.installation_id or str(uuid.uuid4())
    if not is_installation_id(chosen):
        raise UsageError(
            f"--installation-id cannot be '{chosen}'", hint="use at most 64 letters, digits and . _ -"
        )
    if chosen in store.ids():
        raise UsageError(f"installation '{chosen}' already exists", hint="choose another --installation-id")
    count = new.engine.nodes.count
    port = _free_ports(store, count) if new.http_port is None else new.http_port
    _check_node_ids(new, chosen)
    return InstalledEngine(
        id=chosen,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=located_engine(
            structs.replace(new.engine, preserve_install=False), new.home, offline=new.offline
        ),
        node_name=new.node_name,
        http_port=port,
        transport_port=port + TRANSPORT_OFFSET,
    )


def _node_ids(state: InstalledEngine) -> list[str]:
    """Returns the ids of the nodes of an installation."""
    return [node_id(name, state.id) for name in node_names(state.node_name, state.engine.nodes.count)]


def _check_node_ids(new: NewInstallation, chosen: str) -> None:
    """Raises UsageError if a node would have the id of another one, and so its data."""
    layout, store = plan_layout(new.home), InstallationStore(new.home)
    taken = {identifier for state in store.all() for identifier in _node_ids(state)}
    node_ids = [node_id(name, chosen) for name in node_names(new.node_name, new.engine.nodes.count)]
    for identifier in node_ids:
        # Also those of races, whose folders may have been preserved.
        if identifier in taken or os.path.lexists(layout.nodes / identifier):
            raise UsageError(
                f"a node with the id {identifier}, its name and the id of its installation, already exists",
                hint="choose another --installation-id",
            )


def _with_ports(state: InstalledEngine, first: int) -> InstalledEngine:
    return structs.replace(state, http_port=first, transport_port=first + TRANSPORT_OFFSET)


def _ready(new: NewInstallation, progress: ProgressCallback) -> InstalledEngine:
    """Returns the state of a new installation whose cars are found and whose engine is built."""
    state = _new_state(new)
    engine = versioned(state.engine, new.home, progress, offline=new.offline)
    messages = TeamMessages(*[lambda text: progress(text, 0, 0)] * 3)
    engine = located_engine(engine, new.home, messages, offline=new.offline)
    if engine.source is None:
        return structs.replace(state, engine=engine)
    built = build_all(engine, new.home, progress, offline=new.offline)
    folder = InstallationStore(new.home).create_folder(state.id)
    try:
        archive = _own(built.archive, folder)
        plugins = {name: _own(file, folder) for name, file in built.plugins.items()}
    except OSError as failure:
        raise disk_error(failure, folder) from failure
    return structs.replace(state, engine=installable(engine, archive, plugins))


def _own(file: Path, folder: Path) -> Path:
    """Returns a link in the folder of an installation to what was built, and to its checksum.

    Builds are removed when they were not used for some days.
    """
    for target in (file, file.with_name(f"{file.name}.sha512")):
        if target.exists():
            link_file(target, folder / target.name)
    return folder / file.name


def _free_ports(store: InstallationStore, count: int) -> int:
    """Reserves the first of `count` successive HTTP ports that no installation has and that are free together
    with their transport ports, until this process ends, and returns it.

    Raises EngineError if there are none, and StoreError if they cannot be reserved.
    """
    taken = {ports.http for state in store.all() for ports in _ports(state)}
    for first in range(FIRST_HTTP_PORT, _LAST_PORT + 2 - count):
        ports = range(first, first + count)
        if taken.isdisjoint(ports) and not any(
            is_taken(candidate) for port in ports for candidate in (port, port + TRANSPORT_OFFSET)
        ):
            try:
                if reserve_ports(store.ports, ports):
                    return first
            except OSError as error:
                raise store_error("create", store.ports, error) from error
    raise EngineError(
        f"no ports from {FIRST_HTTP_PORT} to {_LAST_PORT} are free for an engine",
        hint="name one with --http-port",
    )


def _ports(state: InstalledEngine) -> tuple[NodePorts, ...]:
    return tuple(
        NodePorts(state.http_port + index, state.transport_port + index)
        for index in range(state.engine.nodes.count)
    )


def _start(
    request: EngineRequest, progress: ProgressCallback, before_detaching: Callable[[], None] = lambda: None
) -> tuple[NodeEntry, ...]:
    for ports in request.ports:
        for name, port in (("http", ports.http), ("transport", ports.transport)):
            if is_taken(port):
                raise EngineError(
                    f"port {port} {_TAKEN}; the engine needs it for {name}",
                    hint="end that process (`pacenote list nodes` shows engines that run), or install "
                    "the engine with another --http-port",
                )
    logs = InstallationStore(request.home).new_logs(request.purpose.installation_id)
    request = dataclasses.replace(request, logs=logs)
    fleet = start_engine(check_engine_request(request), progress)
    try:
        before_detaching()
        fleet.detach()
    except BaseException:
        fleet.stop()
        raise
    return tuple(node.entry for node in fleet.nodes)


def _request(
    state: InstalledEngine, home: Path, race_id: str = "", *, offline: bool = False
) -> EngineRequest:
    race = RaceRequest(race_id=race_id, home=home, engine=state.engine, offline=offline)
    return dataclasses.replace(
        engine_request(race, InstallationStore(home).folder(state.id)),
        ports=_ports(state),
        node_name=state.node_name,
        purpose=NodePurpose(race_id, state.id, keeps_data=state.used),
    )


def _copy_logs_to_race(home: Path, entry: NodeEntry) -> str:
    """Copies the logs of a node, without the secrets of its installation, to the artifacts of the race that
    it was started for, if there are any.

    Returns a line about those that were left out; empty if there are none.
    """
    facts = entry.facts
    if facts is None or not facts.race_id:
        return ""
    race = home / RACES / facts.race_id
    artifacts = race / "artifacts"
    # A copied race may have a link: what is behind it is not the race's.
    link = next(filter(is_link, (race, artifacts)), None)
    if link is not None:
        return f"the logs of node {facts.name} are not in {artifacts}: {link.name} is a link"
    if not is_dir(artifacts):
        return ""
    # Several nodes have folders of their own.
    logs = facts.log_file.parent
    target = artifacts / facts.name if logs.name == facts.name else artifacts
    try:
        secrets = _secrets(home, facts.installation_id)
    except PacenoteError as error:
        return (
            f"the logs of node {facts.name} are not in {target}, as secrets of its options in them would not "
            f"be found: {error.message}"
        )
    return keep_logs(logs, target, RedactedCopy(secrets))


def _secrets(home: Path, installation_id: str) -> frozenset[str]:
    """Returns the secrets of the engine of an installation. Raises UsageError and StoreError if its state is
    not known.
    """
    state = InstallationStore(home).load(installation_id)
    secrets = race_secrets(RaceRequest(race_id="", home=home, engine=state.engine))
    # The team repository of its cars may be gone; then what is only in that is not known.
    with contextlib.suppress(PacenoteError):
        secrets |= _request(state, home).security.secrets
    return secrets


def _stop_command(installation_id: str) -> str:
    return shell_command("pacenote", "stop", f"--installation-id={installation_id}")
