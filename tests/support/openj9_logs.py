"""Whole verbose GC logs of OpenJ9, generated from the figures that their summary must have.

No OpenJ9 JVM is available where the tests run. The elements are those of gencon in OpenJ9 0.23, with their
attributes; times, intervals and sizes are computed so that sums and means are those of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count

MB = 1 << 20
START = datetime(2021, 3, 16, 9, 0, 0)
"""The first timestamp of every generated log, in the local time of the JVM; a log is shorter than an hour."""


@dataclass(frozen=True)
class Totals:
    """Memory that scavenges copied, in MB."""

    flipped: int
    """Copied within the nursery."""
    tenured: float
    """Promoted."""
    tenured_during_global: float
    """The part of it that was promoted while a global cycle was active."""


@dataclass(frozen=True)
class LogPlan:
    """What happens in a generated log."""

    heap_mb: int
    """Size of the heap in MB."""
    nursery: tuple[int, int, int]
    """Nursery cycles: number, interval and duration of a pause, both in microseconds."""
    globals: tuple[int, int, int]
    """Global cycles, likewise."""
    percolated: int
    """Global cycles that an allocation failure causes; the others are concurrent."""
    largest_request: int
    """Bytes of the largest allocation that fails."""
    copied: Totals
    """Memory that is copied in pauses."""
    collected_mb_per_minute: int
    """Memory that collections free, in MB per minute of the log."""
    paused_share: float
    """Share of the log's time in pauses, from which the time before and after collections is computed."""
    concurrent: Totals | None = None
    """Memory that concurrent phases of scavenges copy; None if scavenges are not concurrent."""
    untriggered: int = 0
    """Concurrent scavenges whose second pause no allocation failure triggers."""
    options: tuple[str, ...] = ()
    """Options of the JVM."""


def generate(plan: LogPlan) -> Iterator[str]:
    """Yields the log in parts."""
    writer = _LogWriter(plan)
    yield writer.header()
    for _, _, step in sorted(writer.steps()):
        yield step()
    yield "\n</verbosegc>\n"


class _LogWriter:
    """Writes the events of a plan."""

    def __init__(self, plan: LogPlan) -> None:
        self.plan = plan
        self.ids = count(1)
        self.cycles = plan.nursery[0]
        self.pauses = self.cycles * (2 if plan.concurrent else 1)
        self.gap_us = self._gap_us()
        self.during_global = self._during_global()
        freed = plan.collected_mb_per_minute * MB * self._end_us() // 60_000_000
        self.freed_by_global = freed // 10 // plan.globals[0]
        self.freed = _Shares(freed - self.freed_by_global * plan.globals[0], self.cycles)
        self.flipped = _Shares(plan.copied.flipped * MB, self.pauses)
        self.tenured = self._tenured(plan.copied, self.pauses)
        if plan.concurrent:
            self.concurrent_flipped = _Shares(plan.concurrent.flipped * MB, self.cycles)
            self.concurrent_tenured = self._tenured(plan.concurrent, self.cycles)

    def steps(self) -> Iterator[tuple[int, int, Callable[[], str]]]:
        """Yields the events with their times in microseconds, and a number that keeps their order."""
        number = count()
        cycles, interval, _ = self.plan.nursery
        for index in range(cycles):
            at = (index + 1) * interval
            if self.plan.concurrent:
                yield at, next(number), partial(self._concurrent_scavenge, at, index)
            else:
                yield at, next(number), partial(self._scavenge, at, index)
        for index in range(self.plan.globals[0]):
            start, end = self._global_times(index)
            if index < self.plan.percolated:
                yield end, next(number), partial(self._percolated, end)
            else:
                yield start, next(number), partial(self._kickoff, start)
                yield end, next(number), partial(self._final, end)

    def header(self) -> str:
        plan = self.plan
        size = hex(plan.heap_mb * MB)
        options = "".join(f'    <vmarg name="{option}" />\n' for option in plan.options)
        return (
            '<?xml version="1.0" ?>\n\n'
            '<verbosegc xmlns="http://www.ibm.com/j9/verbosegc" version="generated">\n\n'
            f'<initialized id="{next(self.ids)}" timestamp="{_timestamp(0)}">\n'
            '  <attribute name="gcPolicy" value="-Xgcpolicy:gencon" />\n'
            f'  <attribute name="maxHeapSize" value="{size}" />\n'
            f'  <attribute name="initialHeapSize" value="{size}" />\n'
            '  <attribute name="compressedRefs" value="true" />\n'
            '  <attribute name="gcthreads" value="8" />\n'
            "  <system>\n"
            '    <attribute name="physicalMemory" value="68719476736" />\n'
            '    <attribute name="numCPUs" value="8" />\n'
            '    <attribute name="os" value="Linux" />\n'
            "  </system>\n"
            f"  <vmargs>\n{options}  </vmargs>\n</initialized>\n"
        )

    def _global_times(self, index: int) -> tuple[int, int]:
        """Returns when a global cycle starts and ends: each in the middle between two nursery cycles."""
        interval, global_interval = self.plan.nursery[1], self.plan.globals[1]
        end = (index + 1) * global_interval
        start, end = ((at // interval) * interval - interval // 2 for at in (end - global_interval // 2, end))
        return start, end

    def _end_us(self) -> int:
        """Returns the end of the log: that of the last nursery cycle."""
        cycles, interval, duration = self.plan.nursery
        assert self.plan.globals[0] * self.plan.globals[1] < cycles * interval + interval // 2
        return cycles * interval + (interval // 3 if self.plan.concurrent else 0) + duration

    def _gap_us(self) -> int:
        """Returns the time that a pause takes before and after its collection."""
        plan = self.plan
        paused_us = self.pauses * plan.nursery[2] + plan.globals[0] * plan.globals[2]
        total = round(plan.paused_share * self._end_us()) - paused_us
        pauses = self.pauses + 2 * plan.globals[0] - plan.percolated
        assert total > pauses, "the collections alone take more than the planned share of time"
        return total // pauses

    def _during_global(self) -> list[bool]:
        """Returns for each nursery cycle whether a concurrent global cycle is active."""
        cycles, interval, _ = self.plan.nursery
        active = [False] * cycles
        for index in range(self.plan.percolated, self.plan.globals[0]):
            start, end = self._global_times(index)
            for cycle in range(start // interval, end // interval):
                active[cycle] = True
        assert any(active), "no nursery cycle runs during a global one"
        return active

    def _tenured(self, totals: Totals, parts: int) -> list[int]:
        """Returns the promoted bytes of each part, which add up to those in all and during global cycles."""
        active = [self.during_global[part * self.cycles // parts] for part in range(parts)]
        during = _Shares(round(totals.tenured_during_global * MB), sum(active))
        rest = _Shares(
            round(totals.tenured * MB) - round(totals.tenured_during_global * MB), parts - sum(active)
        )
        return [next(during) if is_active else next(rest) for is_active in active]

    def _scavenge(self, at: int, index: int) -> str:
        cycle = next(self.ids)
        increment = self._increment(at, "scavenge", cycle, next(self.freed), self._copied(index, tilt=True))
        body = self._cycle_start(at, "scavenge", cycle) + increment + self._cycle_end(at, "scavenge", cycle)
        return self._pause(at, self._failure(at, index, body))

    def _concurrent_scavenge(self, at: int, index: int) -> str:
        cycle = next(self.ids)
        first = self._cycle_start(at, "scavenge", cycle) + self._increment(
            at, "scavenge", cycle, 0, self._copied(2 * index)
        )
        later = at + self.plan.nursery[1] // 3
        phase = f"<concurrent-start {self._labels(at, 'scavenge', cycle)}>\n</concurrent-start>\n"
        copied = self._memory(next(self.concurrent_flipped), self.concurrent_tenured[index])
        ended = (
            f"\n<concurrent-end {self._labels(later, 'scavenge', cycle)}>\n"
            f"{self._operation(later, 'scavenge', cycle, copied)}</concurrent-end>\n"
        )
        second = self._increment(
            later, "scavenge", cycle, next(self.freed), self._copied(2 * index + 1, tilt=True)
        ) + self._cycle_end(later, "scavenge", cycle)
        if index >= self.plan.untriggered:
            second = self._failure(later, index + 1, second)
        return self._pause(at, self._failure(at, index, first + phase)) + ended + self._pause(later, second)

    def _kickoff(self, at: int) -> str:
        self.global_cycle = next(self.ids)
        kickoff = (
            f'<concurrent-kickoff id="{next(self.ids)}" timestamp="{_timestamp(at)}">\n'
            '  <kickoff reason="threshold reached" targetBytes="239014924" thresholdFreeBytes="33024922" />\n'
            "</concurrent-kickoff>\n"
        )
        return kickoff + self._pause(at, self._cycle_start(at, "global", self.global_cycle), 0)

    def _final(self, at: int) -> str:
        cycle = self.global_cycle
        final = (
            f'<concurrent-collection-start id="{next(self.ids)}" timestamp="{_timestamp(at)}" '
            'intervalms="1.000">\n'
            '  <concurrent-trace-info reason="tracing completed" tracedByMutators="200087048" '
            'tracedByHelpers="12164180" cardsCleaned="4966" workStackOverflowCount="0" />\n'
            "</concurrent-collection-start>\n"
        )
        return self._pause(at, final + self._global(at, cycle), self.plan.globals[2])

    def _percolated(self, at: int) -> str:
        cycle = next(self.ids)
        percolated = (
            f'<percolate-collect id="{next(self.ids)}" from="nursery" to="global" '
            f'reason="insufficient remaining tenure space" timestamp="{_timestamp(at)}"/>\n'
        )
        body = percolated + self._cycle_start(at, "global", cycle) + self._global(at, cycle)
        return self._pause(at, self._failure(at, 1, body), self.plan.globals[2])

    def _global(self, at: int, cycle: int) -> str:
        sweep = f'<gc-op id="{next(self.ids)}" type="sweep" timems="2.542" contextid="{cycle}" />\n'
        marked = self._operation(at, "mark", cycle, '  <trace-info objectcount="1" scancount="1" />\n')
        end = self._cycle_end(at, "global", cycle)
        return self._increment(at, "global", cycle, self.freed_by_global, marked + sweep) + end

    def _pause(self, at: int, body: str, collected_us: int | None = None) -> str:
        """Returns a pause; its duration is that of its collection, and the time around it."""
        duration = (self.plan.nursery[2] if collected_us is None else collected_us) + self.gap_us
        end = at + duration
        return (
            f'\n<exclusive-start id="{next(self.ids)}" timestamp="{_timestamp(at)}" intervalms="1.000">\n'
            '  <response-info timems="0.070" idlems="0.070" threads="0" lastid="00000000013D6900" '
            'lastname="elasticsearch[node-0][write][T#1]" />\n</exclusive-start>\n'
            f'{body}<exclusive-end id="{next(self.ids)}" timestamp="{_timestamp(end)}" '
            f'durationms="{_ms(duration)}" />\n'
        )

    def _failure(self, at: int, index: int, body: str) -> str:
        request = self.plan.largest_request if index == 1 else 8200
        return (
            f'<af-start id="{next(self.ids)}" threadId="00000000013D7280" totalBytesRequested="{request}" '
            f'timestamp="{_timestamp(at)}" intervalms="418.233" type="nursery" />\n{body}'
            f'<allocation-satisfied id="{next(self.ids)}" threadId="00000000013D6900" '
            f'bytesRequested="{request}" />\n'
            f'<af-end id="{next(self.ids)}" timestamp="{_timestamp(at)}" threadId="00000000013D7280" '
            'success="true" from="nursery"/>\n'
        )

    def _cycle_start(self, at: int, kind: str, cycle: int) -> str:
        interval = self.plan.nursery[1] if kind == "scavenge" else self.plan.globals[1]
        return (
            f'<cycle-start id="{cycle}" type="{kind}" contextid="0" timestamp="{_timestamp(at)}" '
            f'intervalms="{_ms(interval)}" />\n'
        )

    def _cycle_end(self, at: int, kind: str, cycle: int) -> str:
        return f"<cycle-end {self._labels(at, kind, cycle)} />\n"

    def _labels(self, at: int, kind: str, cycle: int) -> str:
        return f'id="{next(self.ids)}" type="{kind}" contextid="{cycle}" timestamp="{_timestamp(at)}"'

    def _copied(self, pause: int, *, tilt: bool = False) -> str:
        info = '  <scavenger-info tenureage="7" tenuremask="4080" tiltratio="89" />\n' if tilt else ""
        return info + self._memory(next(self.flipped), self.tenured[pause])

    def _memory(self, flipped: int, tenured: int) -> str:
        return (
            f'  <memory-copied type="nursery" objects="154910" bytes="{flipped}" bytesdiscarded="394832" />\n'
            f'  <memory-copied type="tenure" objects="16171" bytes="{tenured}" bytesdiscarded="3064" />\n'
        )

    def _operation(self, at: int, kind: str, cycle: int, content: str) -> str:
        return (
            f'<gc-op id="{next(self.ids)}" type="{kind}" timems="0.500" contextid="{cycle}" '
            f'timestamp="{_timestamp(at)}">\n{content}'
            '  <ownableSynchronizers candidates="10838" cleared="10824" />\n'
            '  <references type="soft" candidates="24" cleared="0" enqueued="0" dynamicThreshold="16" '
            'maxThreshold="32" />\n'
            '  <references type="weak" candidates="390" cleared="269" enqueued="269" />\n'
            '  <references type="phantom" candidates="1" cleared="0" enqueued="0" />\n'
            "</gc-op>\n"
        )

    def _increment(self, at: int, kind: str, cycle: int, freed: int, content: str) -> str:
        duration = self.plan.nursery[2] if kind == "scavenge" else self.plan.globals[2]
        operations = self._operation(at, kind, cycle, content) if kind == "scavenge" else content
        allocated = (
            f'<allocation-stats totalBytes="{freed}" >\n  <allocated-bytes non-tlh="0" tlh="{freed}" />\n'
            '  <largest-consumer threadName="elasticsearch[node-0][write][T#1]" threadId="00000000013F0C00" '
            'bytes="6288544" />\n</allocation-stats>\n'
        )
        return (
            f"<gc-start {self._labels(at, kind, cycle)}>\n{self._memory_info(0)}</gc-start>\n"
            f"{allocated}{operations}"
            f'<gc-end {self._labels(at + duration, kind, cycle)} durationms="{_ms(duration)}" '
            f'usertimems="{_ms(duration * 3)}" systemtimems="0.036" stalltimems="0.145" activeThreads="8">\n'
            f"{self._memory_info(freed)}</gc-end>\n"
        )

    def _memory_info(self, free: int) -> str:
        total = self.plan.heap_mb * MB
        return (
            f'  <mem-info id="{next(self.ids)}" free="{free}" total="{total}" percent="38">\n'
            f'    <mem type="nursery" free="{free}" total="{total // 2}" percent="87">\n'
            f'      <mem type="allocate" free="{free}" total="{total // 4}" percent="97" />\n'
            f'      <mem type="survivor" free="0" total="{total // 4}" percent="0" />\n'
            "    </mem>\n"
            f'    <mem type="tenure" free="{free // 2}" total="{total // 2}" percent="51">\n'
            f'      <mem type="soa" free="{free // 2}" total="{total // 2}" percent="48" />\n'
            '      <mem type="loa" free="0" total="0" percent="0" />\n'
            '    </mem>\n    <remembered-set count="21474" />\n  </mem-info>\n'
        )


class _Shares:
    """Splits an integer into nearly equal parts that add up to it."""

    def __init__(self, total: int, parts: int) -> None:
        self._total, self._parts = total, parts

    def __next__(self) -> int:
        part = self._total // self._parts
        self._total, self._parts = self._total - part, self._parts - 1
        return part


def _timestamp(at_us: int) -> str:
    seconds, rest = divmod(at_us // 1000, 1000)
    return f"2021-03-16T09:{seconds // 60:02}:{seconds % 60:02}.{rest:03}"


def _ms(us: int) -> str:
    return f"{us // 1000}.{us % 1000:03d}"
