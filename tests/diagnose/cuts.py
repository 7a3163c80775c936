"""Telemetry of a race with one task, in the form of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.model.telemetry_cuts import TelemetryCuts

DURATION_S = 10.0
TASK = "index-append"
BEGIN_NS = 1_000_000_000_000


def counter(
    name: str, per_s: float, covered_s: float = DURATION_S, span_s: float = 0.0, **labels: str
) -> dict[str, Any]:
    """Returns the series of a counter that grows evenly; without a span, that is the part which is known."""
    cut = {"increase": per_s * covered_s, "covered_s": covered_s, "span_s": span_s or covered_s}
    cut |= {"peak_per_s": per_s, "samples": 10}
    cut |= {"gaps": 0, "resets": 0}
    return {"name": name, "labels": labels, "kind": "counter", "cuts": [cut]}


def gauge(name: str, *values: float, **labels: str) -> dict[str, Any]:
    """Returns the series of a gauge with these values."""
    cut = {
        **{"first": values[0], "last": values[-1], "min": min(values), "max": max(values)},
        **{"mean": sum(values) / len(values), "samples": len(values), "gaps": 0},
    }
    return {"name": name, "labels": labels, "kind": "gauge", "cuts": [cut]}


def telemetry(source: str, *series: Mapping[str, Any]) -> TelemetryCuts:
    """Returns the telemetry of a race with the series of one source."""
    end_ns = BEGIN_NS + round(DURATION_S * 1e9)
    tasks = [{"task": TASK, "begin_ns": BEGIN_NS, "end_ns": end_ns}]
    return TelemetryCuts.from_document({
        "tasks": tasks,
        "series": [{"source": source, "unit": "", **each} for each in series],
    })
