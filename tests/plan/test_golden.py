"""The plan documents that the driver's own test reads too (`crates/plan/tests/golden.rs`).

Set PACENOTE_GOLDEN=write to write them anew after a wanted change.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.track import Operation, Parallel, Task
from pacenote.plan.build import PlanContext, build_plan
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, NAP, SEARCH, SETTINGS, plan, task

GOLDEN = Path(__file__).parent / "golden"


def operation(kind: str, **params: Any) -> Operation:
    return Operation(kind, kind, {key.replace("_", "-"): value for key, value in params.items()})


def every_variant() -> tuple[Task | Parallel, ...]:
    """A schedule that makes every kind of work, check, pace, bound and completion appear."""
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


def documents() -> dict[str, str]:
    http_logs = load_track(find_track("http_logs"), {}, RenderOptions(now=0.0))
    return {
        "every-variant.json": plan(*every_variant()).to_json(),
        "http_logs.json": build_plan(http_logs, None, SETTINGS, PlanContext()).to_json(),
    }


@pytest.mark.parametrize("name", ["every-variant.json", "http_logs.json"])
def test_the_document_is_the_one_on_file(name: str) -> None:
    text = documents()[name] + "\n"
    if os.environ.get("PACENOTE_GOLDEN") == "write":
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert (GOLDEN / name).read_text(encoding="utf-8") == text
