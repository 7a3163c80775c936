"""What a GC log states about one run of a JVM, computed by `crates/evidence`.

None means that the log does not state it.
"""

from __future__ import annotations

from pacenote.model.codec import Integer, Number, Stored
from pacenote.model.openj9_report import OpenJ9Report


class GcInput(Stored, frozen=True):
    """What was read."""

    files: tuple[str, ...]
    """The files, in the order in which they were read."""
    bytes: Integer
    """Bytes after decompression."""
    lines: Integer
    """Number of lines."""
    problems: tuple[str, ...]
    """What is missing or damaged, one sentence each."""


class JvmFacts(Stored, frozen=True):
    """The JVM and its settings, as it states them at its start."""

    collector: str | None
    """Name of the collector, such as `G1`, or the policy of OpenJ9."""
    version: str | None
    """Version of the JVM."""
    cpus: str | None
    """Processors that the JVM sees, as it prints them."""
    memory_bytes: Integer | None
    """Memory of the machine or container in bytes."""
    heap_min_bytes: Integer | None
    """Least size of the heap in bytes."""
    heap_initial_bytes: Integer | None
    """First size of the heap in bytes."""
    heap_max_bytes: Integer | None
    """Largest size of the heap in bytes."""
    region_bytes: Integer | None
    """Size of a region in bytes."""
    compressed_references: str | None
    """State of compressed references, such as `Enabled (32-bit)`."""
    large_pages: str | None
    """Whether large pages are used, as the JVM prints it."""
    numa: str | None
    """Whether memory nodes are considered, as the JVM prints it."""
    pre_touch: str | None
    """Whether the heap is touched at the start, as the JVM prints it."""
    parallel_workers: Integer | None
    """Threads that collect during pauses."""
    concurrent_workers: Integer | None
    """Threads that collect beside the application."""


class Durations(Stored, frozen=True):
    """Statistics of durations, exact: no event is left out or rounded.

    If events are missing (`GcStatistics.is_incomplete`), number, sum and longest are at least these, and the
    rest is None.
    """

    count: Integer
    """Number of events."""
    total_s: Number
    """Sum in seconds."""
    mean_ms: Number | None
    """Mean in milliseconds."""
    p50_ms: Number | None
    """Median in milliseconds."""
    p99_ms: Number | None
    """99th percentile in milliseconds."""
    max_ms: Number
    """Longest in milliseconds."""
    interval_s: Number | None
    """Mean time between the ends of consecutive events in seconds; None with fewer than two."""


class NamedDurations(Stored, frozen=True):
    """Statistics of events with the same name."""

    name: str
    """The name."""
    durations: Durations
    """The statistics."""


class SafepointTimes(Stored, frozen=True):
    """Statistics of safepoints: periods in which all threads of the application stand still."""

    stops: Durations
    """From each request until the threads ran again."""
    reaching_s: Number
    """Seconds until all threads stood still, sum."""
    reaching_max_ms: Number
    """Longest time until all threads stood still, in milliseconds."""
    gc_s: Number | None
    """Seconds of safepoints for garbage collection; None if the log states neither their purpose nor
    pauses.
    """
    other_s: Number | None
    """Seconds of all other safepoints; None also if the log does not have them, as those of OpenJ9."""


class Utilisation(Stored, frozen=True):
    """Minimum mutator utilisation: the least share of any window in which the application could run."""

    window_s: Number
    """Length of the window in seconds."""
    minimum: Number
    """The share (0 to 1)."""


class Allocation(Stored, frozen=True):
    """What the application allocated, and what became of it."""

    allocated_bytes: Integer | None
    """Bytes allocated between the first and the last collection in the window."""
    observed_s: Number | None
    """Seconds from the first to the last collection in the window, to which the bytes refer."""
    allocated_bytes_per_s: Number | None
    """Bytes allocated per second."""
    promoted_bytes: Integer | None
    """Bytes that collections moved from the young to the old generation."""
    promoted_bytes_per_s: Number | None
    """Bytes promoted per second of the window."""
    flipped_bytes: Integer | None
    """Bytes that young collections copied within the young generation, without mixed collections; None for
    ZGC, which does not copy all objects that stay.
    """
    survived_share: Number | None
    """Share of the young generation that survived its collections (0 to 1); an upper bound with G1."""


class HeapUse(Stored, frozen=True):
    """Use of the heap."""

    capacity_max_bytes: Integer | None
    """Largest size of the heap in bytes."""
    before_max_bytes: Integer | None
    """Most bytes in use before a collection."""
    after_mean_bytes: Number | None
    """Mean of the bytes in use after collections."""
    after_max_bytes: Integer | None
    """Most bytes in use after a collection."""
    live_bytes: Integer | None
    """Bytes in use after the last collection that considered the old generation: an upper bound of the live
    objects.
    """
    live_max_bytes: Integer | None
    """Most bytes in use after such a collection."""
    old_share_max: Number | None
    """Largest part of the old generation in use after such a collection (0 to 1); None if it has no size of
    its own, as with G1.
    """
    resizes: Integer | None
    """Collections after which the heap had another size than after the one before; None if the log does not
    state the size, and for Parallel, whose size omits a part of the young generation that changes all the
    time.
    """


class GcTrouble(Stored, frozen=True):
    """Numbers of events that are signs of trouble.

    None if the collector has no such events or does not log them, or if the log has no lines of collections.
    """

    full_collections: Integer | None
    """Collections of the whole heap in a pause."""
    forced_collections: Integer | None
    """Collections that the program or a tool requested, such as with `System.gc()`."""
    evacuation_failures: Integer | None
    """Collections in which there was no room for the objects that survived (G1, OpenJ9)."""
    degenerated_collections: Integer | None
    """Concurrent collections that had to be finished in a pause (Shenandoah)."""
    concurrent_aborts: Integer | None
    """Concurrent collections that were given up (G1, OpenJ9)."""
    humongous_pauses: Integer | None
    """Pauses because of objects that are larger than half a region (G1)."""


class GcStatistics(Stored, frozen=True):
    """What happened in a window of time. An event belongs to the window in which it ended."""

    start_s: Number | None
    """Beginning of the window in seconds on the clock of the log."""
    duration_s: Number | None
    """Length of the window in seconds; None if lines have no times."""
    is_incomplete: bool
    """Whether the log proves that something of the window is missing or does not belong to it: numbers, sums
    and largest values are then at least these, and what depends on all events is None.
    """
    pause_count: Integer | None
    """Number of pauses; None if the log does not state pauses, as that of ZGC without `gc,phases`."""
    pauses: Durations | None
    """All pauses for garbage collection; None if there were none, or if the log does not state them."""
    pause_kinds: tuple[NamedDurations, ...]
    """Pauses by kind, such as `Young (Normal)`, in the order of their total time."""
    pause_causes: tuple[NamedDurations, ...]
    """Pauses by cause, such as `G1 Evacuation Pause`, in the order of their total time."""
    pause_share: Number | None
    """Share of the window in pauses (0 to 1); None if the log has no lines of collections."""
    young_collections: Integer | None
    """Completed collections of the young generation, mixed ones included; each may have several pauses."""
    old_collections: Integer | None
    """Completed collections of the old generation, or of the whole heap."""
    safepoints: SafepointTimes | None
    """All safepoints; None if there were none, or if the log was written without them."""
    safepoint_operations: tuple[NamedDurations, ...]
    """Safepoints by operation, in the order of their total time."""
    stop_share: Number | None
    """Share of the window in which the application was stopped (0 to 1), from the safepoints."""
    utilisation: tuple[Utilisation, ...]
    """Minimum mutator utilisation for several lengths of windows that fit, from safepoints if there are any,
    otherwise from pauses.
    """
    allocation: Allocation
    """What the application allocated."""
    heap: HeapUse
    """Use of the heap."""
    cpu_user_s: Number | None
    """CPU seconds of the collector in user mode during pauses."""
    cpu_system_s: Number | None
    """CPU seconds of the collector in the kernel during pauses."""
    concurrent_phases: tuple[NamedDurations, ...]
    """Phases beside the application, by name, in the order of their total time."""
    concurrent_s: Number | None
    """Seconds of all phases beside the application."""
    allocation_stalls: Durations | None
    """Waits of single threads for memory; None if there were none."""
    relocation_stalls: Durations | None
    """Waits of single threads for objects that are being moved; None if there were none."""
    trouble: GcTrouble
    """Events that are signs of trouble."""
    tenuring_threshold_min: Integer | None
    """Smallest number of young collections that objects had to survive to be promoted."""
    tenuring_threshold_mean: Number | None
    """Mean of this number over young collections."""


class GcLog(Stored, frozen=True):
    """The log of one run of a JVM, with the statistics of all of it or of a window."""

    jvm: JvmFacts
    """The JVM and its settings."""
    container: str | None
    """The container that wrote the log, if its lines state it."""
    start: Number | None
    """Wall-clock time of the first line of the log in seconds since 1970."""
    end: Number | None
    """Wall-clock time of the last line of the log in seconds since 1970."""
    statistics: GcStatistics
    """What happened."""
    openj9: OpenJ9Report | None = None
    """What only logs of OpenJ9 contain; None for other JVMs."""

    @property
    def has_no_collection(self) -> bool:
        """Whether the log states that the JVM did not collect."""
        stats = self.statistics
        return stats.young_collections == 0 and stats.old_collections == 0 and not stats.pause_count
