"""The configuration of engine and machine, read before the first task of a race and after its last one.

Never while tasks run, and nothing that goes wrong here ends a race.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.cluster.cluster import Cluster
from pacenote.cluster.effective import read_effective
from pacenote.errors import EngineError, PacenoteError
from pacenote.host.checks import hurting
from pacenote.host.machine import MachineRequest, read_machine
from pacenote.model.messages import DEFECT
from pacenote.model.printable import shortened
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import DRIVER, RaceSnapshot, RecordedSnapshot, Snapshot, is_of_machine
from pacenote.net.rest import RestClient
from pacenote.net.url import is_loopback
from pacenote.provision.jvm_flags import read_jvm_flags
from pacenote.provision.node import Node
from pacenote.race.local_engines import NO_ENGINES, LocalEngine, LocalEngines
from pacenote.store.race_folder import RaceFolder
from pacenote.system.process import is_running

NODE = "NODE"
"""What stands for the folder and the id of a node in facts: they are others in every race."""

MAX_CHANGES = 20
"""Number of changes that the record lists; the file has all."""

MAX_CHANGE = 200
"""Number of characters of a change in the record, for which room is reserved."""

_NOT_STARTED = "Pacenote did not start the engine: only its own responses describe it"


class SnapshotReader(Struct, frozen=True):
    """Reads the snapshots of one race."""

    cluster: Cluster
    """The cluster under test, which runs."""

    folder: RaceFolder
    """The folder of the race."""

    corpora: Path
    """The folder of data files."""

    listener: RaceListener
    """Receives warnings and notes."""

    engines: LocalEngines = NO_ENGINES
    """The nodes on this machine that the race did not start."""

    def before(self, record: RaceRecord) -> tuple[RaceRecord, RaceSnapshot | None]:
        """Reads and stores the configuration before the first task, and warns about what hurts the engine.

        Returns the record that refers to the snapshot, and the snapshot, or None if there is none.
        """
        snapshot = None
        with self._tolerant():
            read = RaceSnapshot(self._read())
            self.folder.write_snapshot(read)
            snapshot = read
            hurts = tuple(map(str, hurting(read.before))) if self._engine_is_here() else ()
            before = read.before
            file = self.folder.snapshot.name
            recorded = RecordedSnapshot(file, len(before.facts), len(before.unread), hurts=hurts)
            record = structs.replace(record, snapshot=recorded)
            if hurts:
                self.listener.warning(
                    f"this machine slows the engine down: {'; '.join(hurts)} (see `pacenote host`)"
                )
        return record, snapshot

    def after(self, record: RaceRecord, before: RaceSnapshot | None) -> RaceRecord:
        """Reads and stores the configuration after the last task; returns the record with what changed."""
        if before is None or record.snapshot is None:
            return record
        with self._tolerant():
            snapshot = replace(before, after=self._read())
            self.folder.write_snapshot(snapshot)
            changes = snapshot.changes()
            texts = (shortened(f"{key}: {old} → {new}", MAX_CHANGE) for key, (old, new) in changes.items())
            # Those of the machine are first, because they are a reason for the verdict.
            changed = tuple(sorted(texts, key=lambda text: not is_of_machine(text)))
            recorded = structs.replace(record.snapshot, changed=changed[:MAX_CHANGES])
            record = structs.replace(record, snapshot=recorded)
            engine = [text for text in changed if not is_of_machine(text) and not text.startswith(DRIVER)]
            if engine:
                # The track may do so, therefore this is not a reason for the verdict.
                more = f" and {len(engine) - 1} more (see `pacenote diff`)" if len(engine) > 1 else ""
                self.listener.info(f"the engine was reconfigured while the race ran: {engine[0]}{more}")
        return record

    def _engine_is_here(self) -> bool:
        return all(is_loopback(host.host) for host in self.cluster.hosts)

    def _read(self) -> Snapshot:
        nodes = self.cluster.local_nodes()
        paths = {"race": self.folder.path, "corpora": self.corpora}
        others = self.engines.engines
        machine = read_machine(_found_request(others, paths) if others else _machine_request(nodes, paths))
        with contextlib.closing(self._one_host()) as client:
            engine = read_effective(client, self.cluster.node_names)
        runs_here = bool(nodes) or self.engines.are_all_here
        merged = machine.merged(engine, _origin(nodes, runs_here=runs_here), *map(_jvm, nodes))
        return _without_ids(merged, nodes)

    def _one_host(self) -> RestClient:
        """Returns a client of the first host that answers: the settings of other nodes may differ."""
        *others, last = self.cluster.hosts
        for host in others:
            client = RestClient([host], config=self.cluster.client_config)
            try:
                client.get("/")
            except EngineError:
                client.close()
            else:
                return client
        return RestClient([last], config=self.cluster.client_config)

    @contextlib.contextmanager
    def _tolerant(self) -> Generator[None, None, None]:
        """Turns an error of the block into a warning."""
        try:
            yield
        except PacenoteError as error:
            self.listener.warning(f"the configuration of engine and machine is not recorded: {error.message}")
        except Exception as error:
            self.listener.warning(
                "the configuration of engine and machine is not recorded: "
                f"{DEFECT}: {type(error).__name__}: {error}"
            )


def _machine_request(nodes: Iterable[Node], paths: Mapping[str, Path]) -> MachineRequest:
    paths, processes = dict(paths), {}
    for node in nodes:
        # Another process may have the id of one that has ended.
        if node.is_running():
            processes[f"node.{node.spec.name}"] = node.pid
        for number, path in enumerate(node.data_paths):
            paths[f"data.{node.spec.name}.{number}"] = path
    return MachineRequest(paths, processes)


def _found_request(engines: Iterable[LocalEngine], paths: Mapping[str, Path]) -> MachineRequest:
    paths, processes = dict(paths), {}
    for engine in engines:
        if is_running(engine.process):
            processes[f"node.{engine.name}"] = engine.process.pid
        for number, path in enumerate(engine.data_paths if engine.shares_files else ()):
            paths[f"data.{engine.name}.{number}"] = path
    return MachineRequest(paths, processes, environments=False)


def _origin(nodes: Sequence[Node], *, runs_here: bool) -> Snapshot:
    """Returns what the facts of this machine describe."""
    if nodes:
        return Snapshot({"machine.runs": "the driver and the engine"})
    if runs_here:
        facts = {"machine.runs": "the driver and the engine, which Pacenote did not start"}
        return Snapshot(facts, {"node.*.jvm.flag.*": _NOT_STARTED})
    facts = {"machine.runs": "the driver; the host of the engine is not known"}
    return Snapshot(facts, {"node.*.process.*": _NOT_STARTED, "node.*.jvm.flag.*": _NOT_STARTED})


def _jvm(node: Node) -> Snapshot:
    """Returns the flags in force in the JVM of a node."""
    if not node.is_running():
        return Snapshot(unread={f"node.{node.spec.name}.*": "the node has ended"})
    key = f"node.{node.spec.name}.jvm.flag."
    try:
        return Snapshot({f"{key}{name}": value for name, value in read_jvm_flags(node.pid).items()})
    except EngineError as error:
        return Snapshot(unread={f"{key}*": error.message})


def _without_ids(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """Returns the facts without the folders and ids of nodes, which differ in every race."""
    names = [name for node in nodes for name in (str(node.folder), node.id)]

    def replaced(text: str) -> str:
        for name in names:
            text = text.replace(name, NODE)
        return text

    facts = {replaced(key): replaced(value) for key, value in snapshot.facts.items()}
    return Snapshot(facts, snapshot.unread)
