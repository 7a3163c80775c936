"""What a telemetry device is, and how several are run so that none can harm a race."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pacenote.errors import PacenoteError
from pacenote.model.system_metrics import SystemMetrics

Get = Callable[[str], Mapping[str, Any]]
"""Reads a path of the cluster, such as `/_stats`, as parsed JSON; raises EngineError."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a device found out: `system` under the names of `SystemMetrics`, all else in `values`.

    A value that could not be read is not there. `problems` says in sentences what could not be read and why.
    """

    system: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Device(Protocol):
    """Reads something before and after the measured part of a race. Methods may raise PacenoteError."""

    @property
    def name(self) -> str:
        """How messages call the device."""

    def start(self) -> None:
        """Reads the state before the first task."""

    def stop(self) -> Reading:
        """Reads the state after the last task and says what happened in between."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What all devices found out; `errors` are sentences for the race record."""

    system: SystemMetrics
    values: Mapping[str, object]
    errors: tuple[str, ...]


class Devices:
    """Runs several devices; whatever one of them raises becomes a sentence, never the end of a race."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._failed: dict[str, str] = {}

    def start(self) -> None:
        """Lets every device read the state before the first task."""
        for device in self._devices:
            try:
                device.start()
            except Exception as error:
                self._failed[device.name] = _sentence(device, "before", error)

    def stop(self) -> Observation:
        """Lets every device that has started read the state after the last task."""
        system: dict[str, Any] = {}
        values: dict[str, object] = {}
        errors: list[str] = []
        for device in self._devices:
            if device.name in self._failed:
                errors.append(self._failed[device.name])
                continue
            try:
                reading = device.stop()
                SystemMetrics(**reading.system)
            except Exception as error:
                errors.append(_sentence(device, "after", error))
                continue
            system |= reading.system
            values |= reading.values
            errors.extend(f"{device.name}: {problem}" for problem in reading.problems)
        return Observation(SystemMetrics(**system), values, tuple(errors))


def _sentence(device: Device, when: str, error: Exception) -> str:
    # A reply of an unforeseen shape shows as KeyError and the like: name the type, its text alone says
    # nothing.
    text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
    return f"{device.name}: could not be read {when} the race: {' '.join(text.split())}"
