"""Devices that read values again and again while a race runs, each on a thread and a connection of its own.

A sample that fails is a gap: each series that the last sample had (the first 50,000 of more) gets a row
without a value, and the race record states how many samples are missing and why. The device goes on with the
next sample.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.printable import shortened
from pacenote.model.telemetry_sample import SampleKind, TelemetrySample
from pacenote.net.reply import FailedStatus, one_large_reply_at_a_time
from pacenote.telemetry.device import ControlConnection, DeviceReading, ObservedCluster, TelemetryDevice
from pacenote.telemetry.device_errors import error_text
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.units import format_count

_LEAST_INTERVAL_S = 2.0
"""Seconds between two samples, at least, for a device that also samples at the ends of tasks."""

_END_TIMEOUT_S = 15.0
"""Seconds for which the end of a race waits for a sample that is being read."""

MAX_VALUES = 500_000
"""Values of a sample, at most; a cluster of 500 nodes has 19,000 by default, and many times as many with
`node-stats` or `shard-stats`. A reply can have millions."""

MAX_GAPS = 50_000
"""Series that get a row without a value for a sample that is missing, at most: they are kept until then."""

MAX_NAME = 300
"""Characters of a name or a label, at most: each value is stored with them. Engines accept names of 255."""

_MISSING_API = (400, 403, 404, 405, 410, 501)
"""Statuses with which an engine says that it does not have what a device reads, or does not permit it."""


class SampledValue(NamedTuple):
    """A value that a device has read."""

    name: str
    """Its name in `telemetry.parquet`."""

    value: float | None
    """The value in `unit`, or None if it could not be read."""

    unit: str = ""
    """Its unit; empty if it has none."""

    kind: SampleKind = "gauge"
    """Whether the value itself or its differences have a meaning."""

    labels: Mapping[str, str] = MappingProxyType({})
    """What the value belongs to."""


def interval_parameter(device: str, seconds: float) -> DeviceParameter:
    """Returns Rally's parameter for the interval between two samples of a device."""
    return DeviceParameter(f"{device}-sample-interval", "seconds", seconds, "seconds between two samples")


def _limited(values: Iterable[SampledValue]) -> Sequence[SampledValue]:
    """Returns the values of a sample, which its device reads from a reply one after the other. Raises
    EngineError for more than `MAX_VALUES`, of which it reads no more.
    """
    limited = list(islice(values, MAX_VALUES + 1))
    if len(limited) > MAX_VALUES:
        raise EngineError(f"the engine's response has more than {MAX_VALUES:,} values")
    return limited


class SampledDevice(TelemetryDevice):
    """Reads values at an interval, from before the first task until after the last one."""

    interval: ClassVar[DeviceParameter]
    """The parameter for the seconds between two samples."""

    samples_task_ends: ClassVar[bool] = False
    """Whether it also samples when a task ends, so that a long interval does not mix tasks."""

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._interval_s = cluster.params.seconds(self.interval)
        self._connection: ControlConnection | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._woken = threading.Event()
        self._sampled_at = time.monotonic()
        self._gaps = _Gaps()
        self._last: Sequence[TelemetrySample] = ()

    @abstractmethod
    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Yields all values once, one after the other: a reply can have millions. Raises EngineError."""

    def conclude(self, _connection: ControlConnection, /) -> DeviceReading:
        """Returns what the device reads after the last sample. Raises EngineError."""
        return DeviceReading()

    def start(self) -> None:
        """Reads the first sample and starts the thread. Raises EngineError if the engine does not have what
        the device reads, or does not permit it.
        """
        self._connection = connection = self._cluster.connect()
        try:
            self._take(connection)
        except FailedStatus as error:
            if error.status in _MISSING_API:
                raise
            self._miss(error)
        except EngineError as error:
            self._miss(error)
        self._thread = threading.Thread(
            target=self._run, args=(connection,), name=f"telemetry-{self.name}"[:15], daemon=True
        )
        self._thread.start()

    def task_ended(self) -> None:
        """Takes a sample now, or as soon as the last one is two seconds old, if the device does so."""
        if self.samples_task_ends:
            self._woken.set()

    def stop(self) -> DeviceReading:
        """Reads a last sample, and returns the number of missing ones as a problem."""
        self._end()
        connection = self._connection
        if connection is None or (self._thread is not None and self._thread.is_alive()):
            return DeviceReading(problems=("the last sample is missing: the engine does not respond",))
        self._attempt(connection)
        reading = self.conclude(connection)
        return replace(reading, problems=(*reading.problems, *self._gaps.problems()))

    def close(self) -> None:
        """Ends the thread. It does not wait for a response for long: the thread ends with the process."""
        self._end()
        if self._connection is not None:
            self._connection.close()

    def _end(self) -> None:
        self._ending.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(_END_TIMEOUT_S)

    def _run(self, connection: ControlConnection) -> None:
        due = time.monotonic() + self._interval_s
        while True:
            if self._woken.wait(max(0.0, due - time.monotonic())):
                earliest = min(due, self._sampled_at + _LEAST_INTERVAL_S)
                self._ending.wait(max(0.0, earliest - time.monotonic()))
                self._woken.clear()
                due = time.monotonic()
            if self._ending.is_set():
                return
            self._attempt(connection)
            # Samples that a slow response has delayed are not made up for.
            due = max(due + self._interval_s, time.monotonic())

    def _attempt(self, connection: ControlConnection) -> None:
        try:
            self._take(connection)
        except Exception as error:
            self._miss(error)

    def _take(self, connection: ControlConnection) -> None:
        with one_large_reply_at_a_time():
            self._take_sample(connection)

    def _take_sample(self, connection: ControlConnection) -> None:
        now_ns = _clock(self._cluster)
        before_ns = now_ns()
        self._sampled_at = time.monotonic()
        figures = _limited(self.sample(connection))
        at_ns = (before_ns + now_ns()) // 2
        samples = [
            TelemetrySample(
                at_ns,
                self.name,
                shortened(figure.name, MAX_NAME),
                figure.value,
                figure.unit,
                figure.kind,
                _short_labels(figure.labels),
            )
            for figure in figures
        ]
        self._gaps.taken += 1
        self._last = samples[:MAX_GAPS] or self._last
        self._write(samples)

    def _miss(self, error: Exception) -> None:
        self._gaps.add(error_text(error, has_read=self.has_read))
        at_ns = _clock(self._cluster)()
        self._write([replace(sample, time_ns=at_ns, value=None) for sample in self._last])

    def _write(self, samples: Sequence[TelemetrySample]) -> None:
        if self._cluster.sink is not None and samples:
            self._cluster.sink.write(samples)


def _short_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Returns labels of limited length: each value of a sample is stored with all of its labels."""
    if all(len(text) <= MAX_NAME for text in labels.values()):
        return labels
    return {key: shortened(text, MAX_NAME) for key, text in labels.items()}


def _clock(cluster: ObservedCluster) -> Callable[[], int]:
    return time.time_ns if cluster.sink is None else cluster.sink.now_ns


class _Gaps(Struct):
    """Samples that are missing. Only one thread at a time uses it."""

    taken: int = 0
    missing: int = 0
    first: str = ""

    def add(self, reason: str) -> None:
        self.missing += 1
        self.first = self.first or reason

    def problems(self) -> tuple[str, ...]:
        if not self.missing:
            return ()
        samples = format_count(self.missing + self.taken, "sample")
        return (f"{self.missing} of {samples} could not be read and are gaps; the first: {self.first}",)
