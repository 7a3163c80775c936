"""The columns of `iostat -x` for a block device, from what its counters counted in a time."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.telemetry_cuts import TaskTelemetry


class DirectionLoad(Struct, frozen=True):
    """The requests of one kind: reads, writes, discards or flushes."""

    per_s: float
    """Requests per second, after merging."""

    bytes_per_s: float
    """Bytes per second; 0 for flushes, which have none."""

    merged_per_s: float
    """Requests per second that were merged into others."""

    time_share: float
    """Time of all requests per time: by Little's law, the mean number of requests in flight."""

    @property
    def await_ms(self) -> float | None:
        """Mean time of a request in milliseconds, waiting included; None without requests."""
        return 1e3 * self.time_share / self.per_s if self.per_s > 0 else None

    @property
    def request_bytes(self) -> float | None:
        """Mean size of a request; None without requests."""
        return self.bytes_per_s / self.per_s if self.per_s > 0 else None


class DeviceLoad(Struct, frozen=True):
    """The load of a device."""

    device: str
    """Name of the device."""

    reads: DirectionLoad
    """Its reads."""

    writes: DirectionLoad
    """Its writes."""

    discards: DirectionLoad | None
    """Its discards; None if the kernel does not count them."""

    flushes: DirectionLoad | None
    """Its flushes; None if the kernel does not count them."""

    queue: float
    """Requests in flight as the kernel weights them over time, `aqu-sz`."""

    util_share: float
    """Share of the time in which at least one request was in flight, `%util`, 0 to 1."""

    @property
    def little_queue(self) -> float:
        """Requests in flight by Little's law: the time of all requests per time."""
        loads = (self.reads, self.writes, self.discards, self.flushes)
        return sum(load.time_share for load in loads if load is not None)

    @property
    def per_s(self) -> float:
        """Reads and writes per second."""
        return self.reads.per_s + self.writes.per_s

    @property
    def bytes_per_s(self) -> float:
        """Bytes read and written per second."""
        return self.reads.bytes_per_s + self.writes.bytes_per_s

    @property
    def await_ms(self) -> float | None:
        """Mean time of a read or write in milliseconds, waiting included; None without any."""
        return 1e3 * (self.reads.time_share + self.writes.time_share) / self.per_s if self.per_s > 0 else None


def device_load(telemetry: TaskTelemetry, device: str) -> DeviceLoad | None:
    """Returns the load of a device while a task ran, or None if it was not sampled."""

    def rate(name: str) -> float | None:
        cut = telemetry.counter(f"disk.{name}", device=device)
        return None if cut is None else cut.per_s

    def direction(kind: str) -> DirectionLoad | None:
        per_s, time_ms = rate(f"{kind}s" if kind != "flush" else "flushes"), rate(f"{kind}_time")
        if per_s is None or time_ms is None:
            return None
        return DirectionLoad(
            per_s, rate(f"{kind}_bytes") or 0.0, rate(f"{kind}s_merged") or 0.0, time_ms / 1e3
        )

    reads, writes = direction("read"), direction("write")
    busy_ms, weighted_ms = rate("busy_time"), rate("weighted_time")
    if reads is None or writes is None or busy_ms is None or weighted_ms is None:
        return None
    return DeviceLoad(
        device=device,
        reads=reads,
        writes=writes,
        discards=direction("discard"),
        flushes=direction("flush"),
        queue=weighted_ms / 1e3,
        util_share=min(busy_ms / 1e3, 1.0),
    )
