"""Plans match the golden documents, which the driver's tests also read (`crates/plan/tests/golden.rs`).

`UPDATE_GOLDEN=1` rewrites the golden documents after an intended change.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from pacenote.model import work
from pacenote.model.assertion import Assertion, AssertionOperator, DetailsKind
from pacenote.model.client_options import TlsOptions
from pacenote.model.track import Operation, Parallel, Task
from pacenote.model.work import (
    ActionInFile,
    ActionWithId,
    BulkFile,
    BulkWork,
    CallSequence,
    Capture,
    CheckAcknowledged,
    CheckAsyncSearch,
    CheckEmpty,
    CheckEsql,
    CheckNoError,
    CheckShards,
    CheckSubmittedSearch,
    CheckTask,
    Composite,
    ConflictSettings,
    IdOrder,
    IngestDocuments,
    NextByAfterKey,
    NextByCursor,
    NextByScroll,
    NextBySearchAfter,
    OnConflict,
    OperationStream,
    PagedRequest,
    Placeholder,
    PythonRunner,
    PythonSource,
    Request,
    SubOperation,
    SuppliedBulk,
    TaskWork,
    Wait,
)
from pacenote.plan import document
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.document import (
    ClientAllocation,
    NamedTarget,
    Plan,
    PythonScheduler,
    Step,
    TargetProxy,
    TaskAllocation,
    Uniform,
)
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, NAP, SEARCH, SETTINGS, plan, task

GOLDEN = Path(__file__).parent / "golden"


def operation(kind: str, **params: Any) -> Operation:
    return Operation(kind, kind, {key.replace("_", "-"): value for key, value in params.items()})


def every_variant() -> tuple[Task | Parallel, ...]:
    """Returns a schedule with every kind of work, check, pacing, bound and completion."""
    condition = {"path": "_all.total.merges.current", "expected-value": 0}
    health = {"wait_for_status": "green", "wait_for_no_relocating_shards": True}
    return (
        task("delete", operation("delete-index", index="books*", request_timeout=2.5)),
        task("create", operation("create-index", settings={"number_of_shards": 1})),
        task("health", operation("cluster-health", request_params=health, retry_until_success=True)),
        task(
            "append", BULK, clients=2, warmup_time_period=2.0, ramp_up_time_period=1.0, tolerates_errors=True
        ),
        task("merge", operation("force-merge", mode="polling", max_num_segments=1)),
        task("stats", operation("index-stats", condition=condition, retries=3)),
        task("raw", operation("raw-request", path="/é", method="HEAD", ignore=404, opaque_id="me")),
        task("nap", NAP, iterations=2, target_interval=0.5),
        Parallel(
            (
                task("looped", LOOPED, warmup_time_period=1.0),
                task(
                    "find", SEARCH, clients=3, iterations=5, target_throughput=Rate(10.0), schedule="poisson"
                ),
            ),
            clients=2,
            completed_by="find",
        ),
        Parallel((task("x", time_period=1.0), task("y", warmup_iterations=1)), completed_by="any"),
    )


def extra_works() -> tuple[TaskWork, ...]:
    """Returns the kinds of work and calls that no operation of `every_variant` uses."""
    request = Request("POST", "/books/_search", body='{"query":{}}')
    assertion = Assertion("hits", ("hits.total.value", "hits.total"), AssertionOperator.GREATER, 20)
    idle = replace(request, check=CheckEmpty("nodes"))
    checks = (
        CheckNoError(),
        CheckEsql(),
        CheckAsyncSearch("is_running", "false"),
        CheckSubmittedSearch(),
        CheckAcknowledged(),
        CheckTask(),
    )
    checked = tuple(replace(request, check=check) for check in (*checks, CheckShards("snapshot.shards")))
    placeholder = Placeholder("pit", "<pit>", optional=True)
    filled = replace(request, capture=Capture("pit", "id"), placeholder=placeholder, cleanup=True)
    pages = tuple(
        PagedRequest(request, following, pages=2, page_size=10)
        for following in (
            NextBySearchAfter(),
            NextByScroll("10s"),
            NextByAfterKey(("outer", "inner")),
            NextByCursor(),
        )
    )
    inner = SubOperation("inner", "search", (replace(request, assertions=(assertion,)),))
    composite = Composite(
        (inner, OperationStream((inner,)), OperationStream((OperationStream((inner,)),))), max_connections=4
    )
    numbered = BulkFile("/d/books.json", 1000, ActionWithId("books"))
    bulk = BulkWork(
        path="/_bulk",
        headers=(),
        files=(numbered,),
        bulk_size=100,
        limit=IngestDocuments(500),
        looped=False,
        conflicts=ConflictSettings(IdOrder.RANDOM, 0.25, OnConflict.UPDATE, 0.5),
        retries_on_429=2,
        timeout_ms=None,
    )
    detailed = tuple(replace(request, details=kind) for kind in DetailsKind)
    figure = Assertion("error-count", ("error-count",), AssertionOperator.EQUAL, 0, in_details=True)
    return (
        CallSequence((*pages, Wait(0.5), composite, filled, *checked, idle, *detailed)),
        replace(bulk, detailed_results=True, assertions=(figure,)),
        replace(bulk, files=(replace(numbered, action=ActionInFile()),), conflicts=None),
        PythonSource(ahead=8),
        PythonRunner(),
    )


def with_extra(of: Plan) -> Plan:
    """Adds a step for each of the extra kinds of work, and an additional cluster."""
    model = next(task for task in of.tasks if task.name == "raw")
    extra = tuple(
        replace(model, name=f"extra-{number}", work=work) for number, work in enumerate(extra_works())
    )
    uniform = replace(extra[-2], pacing=Uniform(0.5), open_loop=True)
    (loading, *_) = (task for task in of.tasks if isinstance(task.work, BulkWork))
    paced = replace(loading, name="paced", clients=1, pacing=Uniform(0.5), documents_per_operation=1.5)
    extra = (*extra[:-2], paced, uniform, replace(extra[-1], pacing=PythonScheduler()))
    steps = tuple(
        Step(task.name, (ClientAllocation(0, (TaskAllocation(len(of.tasks) + number, 0),)),), None)
        for number, task in enumerate(extra)
    )
    proxied = tuple(
        replace(host, proxy=TargetProxy("http", "::1", 3128, "Basic eDp5")) for host in of.target.hosts
    )
    tls = TlsOptions("ca.pem", "cert.pem", "key.pem", verify=False, verify_host=False, server_name="es")
    keys = (("authorization", "ApiKey eDp5"),)
    other = replace(of.target, hosts=proxied, compress=True, tls=tls, client_headers=keys)
    others = (NamedTarget("other", other),)
    return replace(of, tasks=(*of.tasks, *extra), steps=(*of.steps, *steps), others=others)


def documents() -> dict[str, str]:
    http_logs = load_track(find_track("http_logs"), {}, RenderOptions(now=0.0))
    return {
        "every-variant.json": with_extra(plan(*every_variant())).to_json(),
        "http_logs.json": build_plan(http_logs, None, SETTINGS, PlanContext()).to_json(),
    }


@pytest.mark.parametrize("name", ["every-variant.json", "http_logs.json"])
def test_the_plan_equals_the_golden_document(name: str) -> None:
    text = documents()[name] + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert (GOLDEN / name).read_text(encoding="utf-8") == text


def kinds_in(data: Any) -> set[str]:
    """The values of all keys `kind` of a document."""
    if isinstance(data, list):
        return set().union(*map(kinds_in, data))
    if not isinstance(data, dict):
        return set()
    own = {data["kind"]} if isinstance(data.get("kind"), str) else set()
    return own.union(*map(kinds_in, data.values()))


@pytest.mark.parametrize("module", [work, document])
def test_the_golden_document_has_every_variant(module: ModuleType) -> None:
    unions = [value for value in vars(module).values() if isinstance(value, UnionType)]
    assert len(unions) >= 3, "the guard found hardly any unions"
    variants = {variant for union in unions for variant in get_args(union)}
    classes = {value for value in vars(module).values() if isinstance(value, type) and hasattr(value, "kind")}
    own = {one for one in classes if one.__module__ == module.__name__} - {SuppliedBulk}
    assert own - variants == set(), "a variant is missing in its union"
    kinds = {one.kind for one in variants if hasattr(one, "kind")}
    documented = kinds_in(json.loads((GOLDEN / "every-variant.json").read_text(encoding="utf-8")))
    assert kinds - documented == set(), "add it to extra_works() or every_variant()"
