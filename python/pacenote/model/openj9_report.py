"""What only logs of OpenJ9 contain. `crates/evidence` computes it; None means that the log does not say."""

from __future__ import annotations

from pacenote.model.codec import Integer, Number, Stored


class OpenJ9Summary(Stored, frozen=True):
    """The figures of the summary table of IBM's Garbage Collection and Memory Visualizer (GCMV)."""

    concurrent_collections: Integer
    """Concurrent collection count."""
    forced_collections: Integer
    """Collections that the application or a tool requested."""
    global_mean_pause_ms: Number | None
    """Mean pause of global collections in milliseconds; None without any."""
    global_mean_interval_ms: Number | None
    """Mean time between the starts of global collections in milliseconds; None without any."""
    global_collections: Integer
    """Number of global collections."""
    global_tenured_mb: Number | None
    """MB that were promoted while a global collection was active. GCMV's own definition is not known."""
    largest_request_bytes: Integer | None
    """Size of the largest allocation that failed, in bytes; None if none failed."""
    allocation_failures: Integer
    """Collections that an allocation failure triggered."""
    nursery_mean_pause_ms: Number | None
    """Mean pause of nursery collections in milliseconds; None without any."""
    nursery_mean_interval_ms: Number | None
    """Mean time between the starts of nursery collections in milliseconds; None without any."""
    nursery_collections: Integer
    """Number of nursery collections."""
    nursery_flipped_mb: Number | None
    """MB that were copied within the nursery."""
    nursery_tenured_mb: Number | None
    """MB that were promoted to the tenure area."""
    paused_percent: Number | None
    """Share of time in pauses, in percent."""
    unpaused_percent: Number | None
    """The rest of the time, in percent."""
    collected_mb_per_minute: Number | None
    """MB that collections freed per minute."""


class OpenJ9Allocated(Stored, frozen=True):
    """Memory that was allocated before collections."""

    bytes: Integer
    """All bytes."""
    outside_tlh_bytes: Integer
    """Bytes of objects that were too large for the heap of a thread, or did not fit."""


class OpenJ9Incidents(Stored, frozen=True):
    """Numbers of events that a healthy heap does not have."""

    percolations: Integer
    """Scavenges that became a global collection."""
    aborted_scavenges: Integer
    """Scavenges that were aborted because too little memory was free."""
    objects_not_copied: Integer
    """Objects that a scavenge could not copy."""
    remembered_set_overflows: Integer
    """Scavenges during which the remembered set overflowed."""
    ended_scavenges: Integer
    """Concurrent phases of scavenges that the collector ended early, because the nursery was full."""
    aborted_globals: Integer
    """Concurrent global collections that were aborted."""
    early_globals: Integer
    """Global collections whose final pause began early, at the threshold for card cleaning."""
    unsatisfied_allocations: Integer
    """Allocations that failed even after a collection."""
    excessive_activity: Integer
    """Reports of excessive activity of the collector."""


class OpenJ9Consumer(Stored, frozen=True):
    """A thread that allocated most before a collection."""

    thread: str
    """Its name."""
    bytes: Integer
    """Bytes that it allocated before collections in which no other thread allocated more."""


class OpenJ9Report(Stored, frozen=True):
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
    large_requests: Integer
    """Allocations of more than 1 MiB that failed, so that a collection was needed."""
    incidents: OpenJ9Incidents
    """Signs of trouble."""
    tilt_percent: Integer | None
    """Part of the nursery that was used for allocation after the last scavenge, in percent."""
    largest_consumers: tuple[OpenJ9Consumer, ...]
    """Threads that allocated most before collections of the whole log, largest first."""
    options: tuple[str, ...]
    """Options of the JVM that begin with `-X`."""
    page_bytes: Integer | None
    """Size of the heap's memory pages in bytes."""
