"""What only logs of OpenJ9 contain. `crates/evidence` computes it; None means that the log does not say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OpenJ9Summary:
    """The figures of the summary table of IBM's Garbage Collection and Memory Visualizer (GCMV)."""

    concurrent_collections: int
    """Concurrent collection count."""
    forced_collections: int
    """Collections that the application or a tool requested."""
    global_mean_pause_ms: float | None
    """Mean pause of global collections in milliseconds; None without any."""
    global_mean_interval_ms: float | None
    """Mean time between the starts of global collections in milliseconds; None without any."""
    global_collections: int
    """Number of global collections."""
    global_tenured_mb: float | None
    """MB that were promoted while a global collection was active. GCMV's own definition is not known."""
    largest_request_bytes: int | None
    """Size of the largest allocation that failed, in bytes; None if none failed."""
    allocation_failures: int
    """Collections that an allocation failure triggered."""
    nursery_mean_pause_ms: float | None
    """Mean pause of nursery collections in milliseconds; None without any."""
    nursery_mean_interval_ms: float | None
    """Mean time between the starts of nursery collections in milliseconds; None without any."""
    nursery_collections: int
    """Number of nursery collections."""
    nursery_flipped_mb: float | None
    """MB that were copied within the nursery."""
    nursery_tenured_mb: float | None
    """MB that were promoted to the tenure area."""
    paused_percent: float | None
    """Share of time in pauses, in percent."""
    unpaused_percent: float | None
    """The rest of the time, in percent."""
    collected_mb_per_minute: float | None
    """MB that collections freed per minute."""


@dataclass(frozen=True)
class OpenJ9Allocated:
    """Memory that was allocated before collections."""

    bytes: int
    """All bytes."""
    outside_tlh_bytes: int
    """Bytes of objects that were too large for the heap of a thread, or did not fit."""


@dataclass(frozen=True)
class OpenJ9Incidents:
    """Numbers of events that a healthy heap does not have."""

    percolations: int
    """Scavenges that became a global collection."""
    aborted_scavenges: int
    """Scavenges that were aborted because too little memory was free."""
    objects_not_copied: int
    """Objects that a scavenge could not copy."""
    remembered_set_overflows: int
    """Scavenges during which the remembered set overflowed."""
    ended_scavenges: int
    """Concurrent phases of scavenges that the collector ended early, because the nursery was full."""
    aborted_globals: int
    """Concurrent global collections that were aborted."""
    early_globals: int
    """Global collections whose final pause began early, at the threshold for card cleaning."""
    unsatisfied_allocations: int
    """Allocations that failed even after a collection."""
    excessive_activity: int
    """Reports of excessive activity of the collector."""


@dataclass(frozen=True)
class OpenJ9Consumer:
    """A thread that allocated most before a collection."""

    thread: str
    """Its name."""
    bytes: int
    """Bytes that it allocated before collections in which no other thread allocated more."""


@dataclass(frozen=True)
class OpenJ9Report:
    """What only logs of OpenJ9 contain, of the whole log or of a window."""

    summary: OpenJ9Summary
    """The figures of GCMV's summary table, counted as GCMV does: each pause of a concurrent scavenge is a
    nursery collection, and what is copied while the application runs is omitted.
    """
    summary_of_cycles: OpenJ9Summary
    """The same with each cycle as one collection, and with all that was copied."""
    concurrent_scavenge: bool
    """Whether scavenges ran concurrently, according to the log, not to the options."""
    allocated: OpenJ9Allocated | None
    """What was allocated; None if the log does not state it."""
    large_requests: int
    """Allocations of more than 1 MiB that failed, so that a collection was needed."""
    incidents: OpenJ9Incidents
    """Signs of trouble."""
    tilt_percent: int | None
    """Part of the nursery that was used for allocation after the last scavenge, in percent."""
    largest_consumers: tuple[OpenJ9Consumer, ...]
    """Threads that allocated most before collections of the whole log, largest first."""
    options: tuple[str, ...]
    """Options of the JVM that begin with `-X`."""
    page_bytes: int | None
    """Size of the heap's memory pages in bytes."""
