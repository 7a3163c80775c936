"""Telemetry devices, and a runner that prevents an error of a device from ending a race."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from pacenote.errors import PacenoteError
from pacenote.model.system_metrics import SystemMetrics

GetJson = Callable[[str], Mapping[str, Any]]
"""Reads a path of the cluster, such as `/_stats`, as parsed JSON. Raises EngineError."""


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """The cluster under test as devices see it."""

    get: GetJson
    """Reads a path of the cluster."""

    startup_s: float | None
    """Seconds from the spawn of the node until it was healthy; None if Pacenote did not start it."""


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """The values that one device has measured; a value that could not be read is omitted.

    Raises ValueError if `system` has a key that is not a field of `SystemMetrics`.
    """

    system: Mapping[str, Any] = field(default_factory=dict)
    """Values by name of their field in `SystemMetrics`, in the unit of the field."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """All other values, by their names in the race record; the report does not show them."""

    problems: tuple[str, ...] = ()
    """A message for each value that could not be read, with the reason."""

    def __post_init__(self) -> None:
        """Rejects system metrics without a field in the race record."""
        unknown = sorted(self.system.keys() - {each.name for each in fields(SystemMetrics)})
        if unknown:
            raise ValueError(
                f"SystemMetrics has no field {', '.join(unknown)}: put it into `values`, or add it"
            )


class TelemetryDevice(ABC):
    """Reads the state of the cluster before and after the measured part of a race."""

    name: ClassVar[str]
    """Name in messages and in `pacenote list telemetry`."""

    description: ClassVar[str]
    """What it measures, in one sentence for `pacenote list telemetry`."""

    def __init__(self, cluster: ObservedCluster) -> None:
        self._cluster = cluster

    @abstractmethod
    def start(self) -> None:
        """Reads the state before the first task. Raises PacenoteError."""

    @abstractmethod
    def stop(self) -> DeviceReading:
        """Reads the state after the last task and returns what has changed. Raises PacenoteError."""


@dataclass(frozen=True, slots=True)
class TelemetryResult:
    """The values that all devices of a race have measured."""

    system: SystemMetrics
    """Values that Rally also reports."""

    values: Mapping[str, object]
    """All other values, by their names in the race record."""

    errors: tuple[str, ...]
    """A message for each value or device that could not be read."""


class Telemetry:
    """The devices of one race. An error of a device becomes a message in the result."""

    def __init__(self, devices: Sequence[TelemetryDevice]) -> None:
        self._devices = devices
        self._failed: dict[str, str] = {}

    def start(self) -> None:
        """Makes each device read the state before the first task."""
        for device in self._devices:
            try:
                device.start()
            except Exception as error:
                self._failed[device.name] = _describe(device, "before", error)

    def stop(self) -> TelemetryResult:
        """Makes each started device read the state after the last task."""
        system: dict[str, Any] = {}
        values: dict[str, object] = {}
        errors: list[str] = []
        for device in self._devices:
            if device.name in self._failed:
                errors.append(self._failed[device.name])
                continue
            try:
                reading = device.stop()
            except Exception as error:
                errors.append(_describe(device, "after", error))
                continue
            repeated = sorted(
                (reading.system.keys() & system.keys()) | (reading.values.keys() & values.keys())
            )
            system = {**reading.system, **system}
            values = {**reading.values, **values}
            errors.extend(f"{device.name}: {problem}" for problem in reading.problems)
            errors.extend(
                f"{device.name}: {key} is also read by another device and is ignored" for key in repeated
            )
        return TelemetryResult(SystemMetrics(**system), values, tuple(errors))


def _describe(device: TelemetryDevice, when: str, error: Exception) -> str:
    # An unexpected reply raises errors such as KeyError, whose text has no meaning without the type.
    text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
    return f"{device.name}: could not be read {when} the race: {' '.join(text.split())}"
