"""Telemetry devices, and the devices of one race, which prevent an error of a device from ending it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import EngineError, PacenoteError
from pacenote.model.codec import decode, encode
from pacenote.model.decoding import parse_json
from pacenote.model.engine import GetJson
from pacenote.model.node_names import NodeNames
from pacenote.model.printable import shortened
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.telemetry_sample import TelemetrySink
from pacenote.net.reply import FORM_ERRORS, one_large_reply_at_a_time
from pacenote.telemetry.device_errors import MAX_PROBLEM, brief_text, error_text
from pacenote.telemetry.parameters import DeviceParameter, TelemetryParams
from pacenote.units import format_count

_MAX_READING = 4 << 20
"""Characters of a device's values in the race record, at most; the engine may have written them."""

_MAX_PROBLEMS = 100
"""Problems of a device that are kept."""


class ControlConnection(Protocol):
    """A connection to the cluster for a device alone, so that it never waits for other control traffic."""

    def get(self, path: str) -> Any:
        """Returns the parsed response. Raises EngineError, for an HTTP error its subclass FailedStatus."""

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Sends a request with a JSON body, and returns the response like `get`."""

    def close(self) -> None:
        """Closes the connection."""


class Connect(Protocol):
    """Opens connections to the cluster."""

    def __call__(self, _timeout_s: float = 10.0, /) -> ControlConnection:
        """Returns a new connection; the argument limits each request, in seconds. Raises EngineError."""


def _no_connection(_timeout_s: float = 10.0, /) -> ControlConnection:
    raise EngineError("there is no connection of its own for the device")


class ObservedNode(Struct, frozen=True):
    """A node that Pacenote started on this host."""

    name: str
    """`node.name`."""

    pid: int
    """The process id of its JVM."""

    data_paths: tuple[Path, ...]
    """The folders of its data."""

    logs: Path
    """The folder to which its JVM writes logs and recordings; they are kept with the race."""


class ObservedCluster(Struct, frozen=True):
    """The cluster under test as devices see it."""

    get: GetJson
    """Reads a path of the cluster."""

    startup_s: float | None
    """Seconds from the spawn of the node until it was healthy, or None if Pacenote did not start it."""

    connect: Connect = _no_connection
    """Opens a connection to the cluster."""

    sink: TelemetrySink | None = None
    """Where sampled values are written, or None if they are not stored."""

    params: TelemetryParams = field(default_factory=TelemetryParams)
    """The parameters of the devices."""

    nodes: tuple[ObservedNode, ...] = ()
    """The nodes that Pacenote started on this host."""

    artifacts: Path | None = None
    """The folder of the race for files, or None if files are not kept."""

    hosts: tuple[str, ...] = ()
    """The names of the hosts that the race sends requests to."""

    authentication: str = "none"
    """How clients authenticate, as in the race record: `none`, `basic`, `api-key`, `bearer` or `other`."""

    is_serverless: bool = False
    """Whether the cluster is serverless."""

    indices: tuple[str, ...] = ()
    """The names of the indices and data streams of the track."""

    node_names: NodeNames = field(default_factory=NodeNames)
    """The names of its nodes."""


class DeviceReading(Struct, frozen=True):
    """The values that one device has measured; a value that could not be read is omitted.

    Raises ValueError if `system` has a key that is not a field of `SystemMetrics`.
    """

    system: Mapping[str, Any] = field(default_factory=dict)
    """Values by name of their field in `SystemMetrics`, in the unit of the field."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """All other values, by their names in the race record: JSON with finite numbers. The report does not show
    them.
    """

    problems: tuple[str, ...] = ()
    """A message for each value that could not be read, with the reason."""

    def __post_init__(self) -> None:
        """Rejects system metrics without a field in the race record."""
        unknown = sorted(self.system.keys() - set(SystemMetrics.__struct_fields__))
        if unknown:
            raise ValueError(
                f"SystemMetrics has no field {', '.join(unknown)}: put it into `values`, or add it"
            )


@contextmanager
def expected_form(expected: str) -> Generator[None, None, None]:
    """Raises EngineError if the block finds a response in a different form than it expects, which the text
    states.

    The block must only read the response: its errors are those of the engine.
    """
    try:
        yield
    except FORM_ERRORS as error:
        raise EngineError(f"the engine's response has an unexpected form: expected {expected}") from error


class _Replies:
    """Notes that a device has read a reply of the engine."""

    def __init__(self) -> None:
        self.any = False

    def read(self, reply: Any) -> Any:
        self.any = True
        return reply


class _NotedConnection:
    """The connection of a device, which notes its replies."""

    def __init__(self, connection: ControlConnection, replies: _Replies) -> None:
        self._connection = connection
        self._replies = replies

    def get(self, path: str) -> Any:
        return self._replies.read(self._connection.get(path))

    def request(self, method: str, path: str, body: object = None) -> Any:
        return self._replies.read(self._connection.request(method, path, body))

    def close(self) -> None:
        self._connection.close()


Serverless = Literal["public", "operator", "blocked"]
"""Whether a device works with a serverless cluster: for all users, for its operator, or not at all."""


class TelemetryDevice(ABC):
    """Reads the state of the cluster before and after the measured part of a race, or during it.

    `pacenote race` runs every device that is always on, and those that `--telemetry` names; `pacenote
    saturate` runs none. A device that is always on must be cheap: a few requests in `start` and `stop`, and
    hardly any load on the engine or the driver while tasks run.
    """

    name: ClassVar[str]
    """Name in messages and in `pacenote list telemetry`."""

    description: ClassVar[str]
    """What it measures, in one sentence for `pacenote list telemetry`."""

    always_on: ClassVar[bool] = True
    """Whether every race runs it; otherwise `--telemetry` has to name it."""

    parameters: ClassVar[tuple[DeviceParameter, ...]] = ()
    """Its parameters in `--telemetry-params`."""

    serverless: ClassVar[Serverless] = "operator"
    """Whether it works with a serverless cluster."""

    needs_own_engine: ClassVar[bool] = False
    """Whether it only works with nodes that Pacenote starts on this host."""

    @classmethod
    def jvm_options(cls, _params: TelemetryParams, _logs: str, /) -> tuple[str, ...]:
        """Returns options that the nodes' JVMs need for it, which write their files to the folder `_logs`."""
        return ()

    def __init__(self, cluster: ObservedCluster) -> None:
        self._replies = _Replies()
        self._cluster = replace(
            cluster,
            get=lambda path: self._replies.read(cluster.get(path)),
            connect=lambda timeout_s=10.0: _NotedConnection(cluster.connect(timeout_s), self._replies),
        )

    @property
    def has_read(self) -> bool:
        """Whether the device has read a reply, the form of which may be the reason of an error."""
        return self._replies.any

    @abstractmethod
    def start(self) -> None:
        """Reads the state before the first task. Raises PacenoteError."""

    def task_ended(self) -> None:  # noqa: B027 (most devices only read before and after the race)
        """Is called when a task has ended, while others may run. Returns at once, and does not raise."""

    @abstractmethod
    def stop(self) -> DeviceReading:
        """Reads the state after the last task and returns what has changed. Raises PacenoteError.

        It is not called if `start` failed, nor for a race that was interrupted, aborted or failed.
        """

    def close(self) -> None:  # noqa: B027 (most devices hold nothing)
        """Releases what the device holds, such as a thread or a process. Raises PacenoteError.

        It is called once at the end of the measured part, after `stop`, however the race ended and even if
        `start` or `stop` failed. A device that holds nothing does not define it.
        """


class TelemetryResult(Struct, frozen=True):
    """The values that all devices of a race have measured; none by default."""

    system: SystemMetrics = field(default_factory=SystemMetrics)
    """Values that Rally also reports."""

    values: Mapping[str, object] = field(default_factory=dict)
    """All other values, by their names in the race record."""

    errors: tuple[str, ...] = ()
    """A message for each value or device that could not be read."""


class TelemetryDevices:
    """The devices of one race. An error of a device becomes a message."""

    def __init__(self, devices: Sequence[TelemetryDevice]) -> None:
        self._devices = devices
        self._failed: dict[str, str] = {}

    def start(self) -> None:
        """Makes each device read the state before the first task."""
        for device in self._devices:
            try:
                with one_large_reply_at_a_time():
                    device.start()
            except Exception as error:
                self._failed[device.name] = _describe(device, "could not be read before the race", error)

    def task_ended(self) -> None:
        """Tells each started device that a task has ended."""
        for device in self._devices:
            if device.name not in self._failed:
                device.task_ended()

    def stop(self) -> TelemetryResult:
        """Makes each started device read the state after the last task.

        Values that the race record cannot store are omitted, with a message.
        """
        system: dict[str, Any] = {}
        values: dict[str, object] = {}
        errors: list[str] = []
        for device in self._devices:
            if device.name in self._failed:
                errors.append(self._failed[device.name])
                continue
            try:
                with one_large_reply_at_a_time():
                    reading, problems = _storable(device.stop())
            except Exception as error:
                errors.append(_describe(device, "could not be read after the race", error))
                continue
            repeated = sorted(
                (reading.system.keys() & system.keys()) | (reading.values.keys() & values.keys())
            )
            system = {**reading.system, **system}
            values = {**reading.values, **values}
            problems += tuple(f"{key} is also read by another device and is ignored" for key in repeated)
            errors.extend(f"{device.name}: {problem}" for problem in problems)
        return TelemetryResult(SystemMetrics(**system), values, tuple(errors))

    def close(self) -> tuple[str, ...]:
        """Closes each device, and returns a message for each that could not be closed."""
        errors = []
        for device in self._devices:
            try:
                device.close()
            except Exception as error:
                errors.append(_describe(device, "could not be closed", error))
        return tuple(errors)


def _storable(reading: DeviceReading) -> tuple[DeviceReading, tuple[str, ...]]:
    """Returns the values of a reading that `race.json` can store and restore, and the problems of the
    reading.
    """
    problems = list(reading.problems)
    system: dict[str, Any] = {}
    values: dict[str, object] = {}
    sizes: dict[str, int] = {}
    for key, value in reading.system.items():
        try:
            document = encode(value)
            decode(SystemMetrics, {key: document}, "system")
            sizes[key], system[key] = len(json.dumps(document)), value
        except (PacenoteError, TypeError) as error:
            problems.append(f"{brief_text(error)}; it is ignored")
    for key, value in reading.values.items():
        try:
            text = json.dumps(encode(value), allow_nan=False)
            parse_json(text)
            sizes[key], values[key] = len(key) + len(text), value
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"{key} is not JSON and is ignored: {brief_text(error)}")
    kept = _smallest(sizes)
    if left_out := len(sizes) - len(kept):
        problems.append(f"{format_count(left_out, 'value')} left out: they are too large together")
    system = {key: value for key, value in system.items() if key in kept}
    values = {key: value for key, value in values.items() if key in kept}
    return DeviceReading(system, values), _few(problems)


def _smallest(sizes: Mapping[str, int]) -> frozenset[str]:
    """Returns the names of the smallest values, as many as the record of a race may have of a device."""
    names = sorted(sizes, key=lambda name: sizes[name])
    total = accumulate(sizes[name] for name in names)
    return frozenset(name for name, size in zip(names, total, strict=True) if size <= _MAX_READING)


def _few(problems: Sequence[str]) -> tuple[str, ...]:
    """Returns problems of limited number and length."""
    few = [shortened(text, MAX_PROBLEM) for text in problems[:_MAX_PROBLEMS]]
    if more := len(problems) - len(few):
        few.append(format_count(more, "other problem"))
    return tuple(few)


def _describe(device: TelemetryDevice, what: str, error: Exception) -> str:
    return f"{device.name}: {what}: {error_text(error, has_read=device.has_read)}"
