"""Complete, plausible task results and race records for tests; keyword arguments replace fields."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from pacenote.model.document_checks import DocumentCheck
from pacenote.model.failure_group import FailureGroup
from pacenote.model.race_record import (
    Environment,
    RaceRecord,
    RecordedCluster,
    RecordedCorpus,
    RecordedTrack,
    Verdict,
)
from pacenote.model.result import (
    CensoredPercentile,
    DurationSummary,
    OperationTotals,
    Percentile,
    SubOperationResult,
    TaskResult,
    Throughput,
    WorkTotals,
)
from pacenote.model.system_metrics import PerShardTimes, SystemMetrics
from pacenote.store.race_index import RaceSummary
from pacenote.verdict.determine import determine_verdict

BEGAN = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
"""When the race of `record` began."""

_UNJUDGED = {"timestamp", "user_tags", "car", "car_params"}
"""Fields without an influence on the verdict."""

_ENOUGH = {50.0: 6, 90.0: 36, 99.0: 368, 99.9: 3_688, 99.99: 36_887, 100.0: 1}


@cache
def times(count: int = 50_000, p50: float = 2.0, p99: float = 8.0) -> DurationSummary:
    """Returns a distribution of `count` times; percentiles without enough samples are not supported."""
    values = {50.0: p50, 90.0: p50 * 2, 99.0: p99, 99.9: p99 * 1.5, 99.99: p99 * 2, 100.0: p99 * 3}
    percentiles = tuple(_percentile(q, ms, count) for q, ms in values.items())
    return DurationSummary(
        count=count, min_ms=p50 / 2, mean_ms=p50 * 1.25, max_ms=p99 * 3, percentiles=percentiles
    )


def with_failures(successes: DurationSummary, failed: int = 0) -> tuple[CensoredPercentile, ...]:
    """Returns the percentiles of successes and failures; every failure ranks above all successes.

    The value and the bound of a percentile are those of the successes, unless there are too many failures.
    """
    count = successes.count + failed
    return tuple(
        CensoredPercentile(
            found.q,
            found.ms if failed <= (1 - found.q / 100) * count else None,
            found.high_ms if failed <= (1 - found.q / 100) * count / 2 else None,
            found.supported,
        )
        for found in successes.percentiles
        if found.q < 100
    )


def _percentile(q: float, ms: float, count: int) -> Percentile:
    high = ms * 1.25 if count >= _ENOUGH[q] and q < 100 else None
    return Percentile(q, ms, ms * 0.75 if q < 100 else None, high, supported=count >= _ENOUGH[q])


def task(name: str = "search", **changes: Any) -> TaskResult:
    """A finished, unpaced search task without errors."""
    return structs.replace(_default_task(), **{"task": name, "operation": name} | changes)


@cache
def _default_task() -> TaskResult:
    return TaskResult(
        task="search",
        operation="search",
        operation_type="search",
        index=0,
        unit="ops",
        clients=2,
        started_s=0.0,
        duration_s=70.0,
        window_s=60.0,
        paced=False,
        throughput=Throughput(min=790.0, mean=833.333333, median=840.5, max=901.25),
        service_time=times(),
        latency=None,
        processing_time=times(),
        lateness=None,
        failed_service_time=None,
        accounting=OperationTotals(58_000, 58_000, 0, 0, 0, 8_000, 50_000, 58_000),
        work=WorkTotals(done=50_000, failed=0),
        bytes_out=5_000_000,
        bytes_in=90_000_000,
        error_rate=0.0,
        errors=(),
        ended_by="time",
    )


def summary(race_id: str = "b625d810-94f3-4db7-b65f-d6554a032a0e", **changes: Any) -> RaceSummary:
    """An entry of the list of races."""
    entry = RaceSummary(
        race_id=race_id,
        timestamp="20260301T123015Z",
        track="http_logs",
        track_revision="",
        challenge="append-no-conflicts",
        car="defaults",
        distribution="opensearch",
        version="3.3.0",
        revision="",
        user_tags={"intention": "baseline", "run": "1"},
        verdict="suspect",
        state="complete",
        headline="70,730 docs/s",
    )
    return replace(entry, **changes)


def part(operation: str, **changes: Any) -> SubOperationResult:
    """An operation within a composite one, without errors."""
    return structs.replace(
        SubOperationResult(operation, "search", times(200), None, 230, 0, 0, 230, 0.0, ()), **changes
    )


def bulk(name: str = "index-append", **changes: Any) -> TaskResult:
    """A finished bulk task with rejections because of a full queue."""
    errors = (
        FailureGroup(
            "bulk-item", "rejected | es_rejected_execution_exception:\n[queue full]", 429, 12, 3.25, 9.5
        ),
    )
    own = {
        "operation_type": "bulk",
        "unit": "docs",
        "throughput": Throughput(min=9_000.0, mean=12_345.678, median=12_000.0, max=15_000.5),
        "service_time": times(200, p50=40.0, p99=90.0),
        "work": WorkTotals(done=740_000, failed=12),
        "error_rate": 0.005,
        "errors": errors,
        "ended_by": "source",
    }
    return task(name, **own | changes)


def paced(name: str = "term", late_p99: float = 0.15, **changes: Any) -> TaskResult:
    """A finished task with a target rate."""
    own = {"paced": True, "latency": times(p50=2.5), "lateness": times(p50=0.05, p99=late_p99)}
    done = task(name, **own | changes)
    if "latency" not in changes:
        done = structs.replace(done, latency=_with_lateness(done))
    if "latency_with_failures" in changes or done.latency is None:
        return done
    return structs.replace(done, latency_with_failures=with_failures(done.latency, done.accounting.failed))


def _with_lateness(task: TaskResult) -> DurationSummary | None:
    """Returns the latency of a task, with what of its lateness is above 10 % of its service time."""
    latency, service, lateness = task.latency, task.service_time, task.lateness
    if latency is None or service is None or lateness is None:
        return latency
    percentiles = []
    for percentile in latency.percentiles:
        late, without = lateness.at(percentile.q), service.at(percentile.q)
        if late is not None and without is not None and late.ms > 0.1 * without.ms:
            percentile = structs.replace(percentile, ms=max(percentile.ms, without.ms + late.ms))
        percentiles.append(percentile)
    return structs.replace(latency, percentiles=tuple(percentiles))


def judged(race: RaceRecord) -> tuple[str, tuple[str, ...]]:
    """Returns the state of the verdict on a race, and its reasons as sentences."""
    verdict = determine_verdict(race)
    return verdict.state, verdict.reasons


@cache
def _default_tasks() -> tuple[TaskResult, ...]:
    return bulk(), paced(), task()


def record(race_id: str = "race-1", **changes: Any) -> RaceRecord:
    """A complete race with a verdict."""
    own: dict[str, Any] = {} if "tasks" in changes else {"tasks": _default_tasks()}
    changed = RaceRecord(race_id=race_id, **_default_fields() | own | changes)
    if "verdict" in changes:
        return changed
    verdict = _default_verdict() if changes.keys() <= _UNJUDGED else determine_verdict(changed)
    return structs.replace(changed, verdict=verdict)


@cache
def _default_verdict() -> Verdict:
    return determine_verdict(RaceRecord(race_id="race-1", tasks=_default_tasks(), **_default_fields()))


def _default_fields() -> dict[str, Any]:
    return {
        "timestamp": BEGAN,
        "track": RecordedTrack("http_logs", "a1b2c3", {"bulk_size": 5000, "secret_key": "hunter2"}),
        "challenge": "append-no-conflicts",
        "pipeline": "from-distribution",
        "car": ("defaults",),
        "user_tags": {"intention": "baseline"},
        "cluster": RecordedCluster(
            "opensearch", "3.3.0", None, "deadbeef", "rally-benchmark", ({"name": "node-0"},)
        ),
        "environment": Environment(cpu_model="A CPU", cpu_logical_cores=2, pacenote="0.1.0"),
        "corpora": (RecordedCorpus("http_logs", "generated", 740_000, 81_000_000, ("documents.json",), 42),),
        "system": SystemMetrics(
            total_time=90_000.0,
            total_time_per_shard=PerShardTimes(15_000.0, 18_000.0, 21_000.0),
            merge_time=30_000.0,
            merge_count=7,
            young_gc_time=512.0,
            young_gc_count=20,
            store_size=3 * 1024**3,
            segment_count=31,
        ),
        "documents": (DocumentCheck("logs", 740_000, 740_000),),
        "driver": {"threads": [{"cpu_s": 5.0, "wall_s": 60.0}], "samples": 100_200, "lateness_p99_ms": 0.15},
        "telemetry": {"node.node-0.young_gc_count": 20},
        "telemetry_errors": ("index-stats: flush_time is missing: the counters went down",),
        "complete": True,
    }
