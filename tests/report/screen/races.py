"""Races of which the last screen is tested."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from pacenote.model.diagnosis import Diagnosis, RuleAnswer, TaskTime, TimeShare
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.failure_group import FailureGroup
from pacenote.model.race_record import Environment, RaceRecord, RecordedCluster
from pacenote.model.result import (
    LevelChange,
    OperationTotals,
    Steadiness,
    TaskResult,
    Throughput,
    WorkTotals,
)
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.target_rate import TargetRate
from pacenote.report.race_evidence import RaceEvidence
from report.page.race.observed import line, observed, pause, point, telemetry, timeline
from support.records import bulk, paced, record, task, times

HOST = Environment(
    cpu_model="AMD EPYC",
    cpu_usable_cores=2,
    memory_bytes=25_276_502_016,
    os_name="Linux",
    kernel="6.18.0",
    pacenote="0.1.0",
)
CLUSTER = RecordedCluster("opensearch", "3.3.0", nodes=({"name": "node-0", "heap_max_bytes": 1 << 30},))


def searching(
    name: str, p50: float = 5.8, p99: float = 17.6, count: int = 500, late_p99: float = 0.2
) -> TaskResult:
    """A search at 50 operations per second that kept its rate."""
    counts = OperationTotals(count + 200, count + 200, 0, 0, 0, 200, count, count + 200)
    return paced(
        name,
        accounting=counts,
        service_time=times(count, p50=p50 - 0.3, p99=p99 - max(0.5, late_p99)),
        latency=times(count, p50=p50, p99=p99),
        lateness=times(count, p50=0.05, p99=late_p99),
        throughput=Throughput(49.0, 50.0, 50.0, 51.0),
        window_s=count / 50,
        duration_s=count / 50,
        window_operations=count,
        clients=1,
        ended_by="iterations",
    )


def indexing(**changes: object) -> TaskResult:
    """A bulk task with 20 batches."""
    counts = OperationTotals(20, 20, 0, 0, 0, 0, 20, 20)
    own = {
        "accounting": counts,
        "service_time": times(20, p50=1_510.0, p99=3_000.0),
        "throughput": Throughput(5_000.0, 6_242.4, 6_000.0, 8_000.0),
        "work": WorkTotals(100_000, 0),
        "error_rate": 0.0,
        "errors": (),
        "window_operations": 20,
        "window_s": 16.0,
        "duration_s": 12.4,
        "clients": 8,
    }
    return bulk(**own | changes)


def suspect_race() -> RaceRecord:
    """A race with late searches, a missed target rate and a task in test of everything else."""
    names = ("default", "term", "range", "200s-in-range")
    late = {"term": 3.0, "range": 3.1, "200s-in-range": 3.05}
    searches = [searching(name, late_p99=late.get(name, 0.2)) for name in names]
    saturated = replace(
        searching("hourly_agg", p50=5_900.0, p99=11_000.0, count=100),
        accounting=OperationTotals(300, 300, 0, 0, 0, 200, 100, 300, waited=299),
        window_s=12.0,
        service_time=times(100, p50=110.0, p99=160.0),
        steady=Steadiness("slowing", None, (LevelChange(3.0, 3.0, 4.0, 5.0, 0.25),), "latency"),
    )
    merge = task(
        "force-merge",
        operation_type="force-merge",
        accounting=OperationTotals(1, 1, 0, 0, 0, 0, 1, 1),
        clients=1,
        duration_s=2.13,
    )
    rate = TargetRate(50.0, operations=50.0)
    return record(
        "5a254c4b-2f57-4a1c-9d3e-0c8c5a1f3f11",
        environment=HOST,
        cluster=CLUSTER,
        tasks=(indexing(), merge, *searches, saturated),
        targets=dict.fromkeys((*names, "hourly_agg"), rate),
        system=SystemMetrics(
            total_time=26_800.0,
            refresh_time=6_400.0,
            refresh_count=59,
            merge_time=2_100.0,
            merge_count=1,
            indexing_throttle_time=0.0,
            young_gc_time=710.0,
            young_gc_count=8,
            old_gc_time=0.0,
            old_gc_count=0,
            store_size=14_900_000,
            segment_count=28,
        ),
        documents=tuple(DocumentCheck(f"logs-{number}", 14_285, 14_285) for number in range(7)),
        driver={"wall_s": 135.2},
        telemetry={"host-sampler": {"data_devices": [{"node": "node-0", "device": "vda"}]}},
    )


def valid_race() -> RaceRecord:
    """A race without any problem, on an existing cluster."""
    return record(
        "nightly",
        environment=HOST,
        cluster=replace(CLUSTER, nodes=()),
        pipeline="benchmark-only",
        car=("external",),
        user_tags={},
        corpora=(),
        tasks=(task(steady=Steadiness("steady", 0.0, (), "throughput", 0.02)),),
        system=SystemMetrics(),
        documents=(),
        driver={"wall_s": 70.0},
    )


def void_race() -> RaceRecord:
    """A race with failures, missing documents and few results."""
    refused = FailureGroup(
        "http-status", "search_phase_execution_exception: all shards failed", 503, 40, 0.0, 9.0, "operations"
    )
    failed = OperationTotals(100, 60, 40, 0, 0, 0, 100, 100)
    failing = task("term", accounting=failed, error_rate=0.4, errors=(refused,))
    names = [f"a-search-with-a-really-long-name-number-{number}" for number in range(2)]
    return record(
        "void",
        environment=HOST,
        cluster=CLUSTER,
        tasks=(bulk(), failing, *(replace(failing, task=name, operation=name) for name in names)),
        documents=(DocumentCheck("logs", 740_000, 739_000),),
        driver={"wall_s": 70.0},
        interrupted=True,
        complete=False,
    )


def interrupted_start() -> RaceRecord:
    """A race that was interrupted before its first task ended."""
    return record(
        "early",
        environment=Environment(),
        tasks=(),
        system=SystemMetrics(),
        documents=(),
        corpora=(),
        driver={},
        interrupted=True,
        complete=False,
    )


def evidence() -> RaceEvidence:
    """What was observed of the suspect race, and its diagnosis."""
    indexed = [0, 5_000, 10_000, 10_000, 5_000, 10_000, 10_000, 0, 0, 10_000, 5_000, 10_000]
    slow = [point(second, levels=((36, 45), (46, 5))) for second in range(10)]
    slow[6] = point(6, levels=((36, 20), (50, 30)))
    host = partial(telemetry, mean=())
    shares = {"rally-node-0": 1700.0, "driver": 60.0}
    use = [
        host("process.user", mean=[share] * 15, labels={"process": name}) for name, share in shares.items()
    ]
    disk = {"device": "vda"}
    series = (
        host("cpu.user", mean=[1900.0] * 15),
        host("cpu.idle", mean=[100.0] * 15),
        *use,
        host("disk.write_bytes", mean=[9e6, *[4e6] * 13, 48e6], labels=disk),
        host("disk.busy_time", mean=[120.0] * 15, labels=disk),
        telemetry(
            "jvm.mem.heap_used", [4e8, 6.4e8, *[5e8] * 13], source="node-gauges", labels={"node": "node-0"}
        ),
        telemetry("indices.merges.current", [0, 3, *[1] * 13], source="node-counters"),
    )
    tasks = {
        "index-append": line(indexed),
        "default": line([50] * 10),
        "term": line([50] * 10, points=tuple(slow)),
    }
    first = RuleAnswer(
        id="H1",
        title="the heap is too small for the load",
        state="fired",
        text="the nodes stopped for 9.1 % of the time",
        bound=0.1,
        metric="throughput:index-append",
    )
    second = RuleAnswer(id="M2", title="merges fall behind", state="fired", text="3 at a time")
    cores = TaskTime(
        "index-append", "", (TimeShare("indexing", 0.81, ""), TimeShare("driver", 0.03, "")), 0.16
    )
    return RaceEvidence(
        observed(
            timeline(**tasks), telemetry=series, pauses=(pause(2.0, 85.0), pause(3.0, 12.0)), has_gc_log=True
        ),
        Diagnosis(races=("race",), findings=(first, second), time=(cores,)),
    )
