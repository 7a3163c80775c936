"""Results of searches that no search has: folders of others may have them."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.errors import PacenoteError
from pacenote.model.saturation import MAX_ENTRIES, MAX_LIMITS, SaturationResult

LEVEL = {"number": 1, "clients": 1, "work": 10.0, "error_rate": 0.0}
PROBE = {
    **{"number": 1, "rate": 100.0, "achieved": 99.5, "work": 99.5, "error_rate": 0.0, "latency": []},
    **{"waited": 0, "unsent": 0, "outcome": "passed", "reasons": []},
}
ONE = {"value": 1.0, "low": 1.0, "high": 1.0}
FIT = {
    **{"rate_alone": ONE, "contention": ONE, "coherency": ONE, "peak_clients": None, "peak_rate": None},
    "residual": 0.1,
}
DOCUMENT: dict[str, Any] = {
    **{"race_id": "r", "task": "t", "operation": "o", "unit": "docs", "work_per_operation": 1.0},
    **{"connections": 1, "objective": {"latency": [{"q": 99.0, "ms": 10.0}], "error_rate": 0.0}},
    **{"precision": 0.1, "window_s": 1.0, "warmup_s": 1.0, "probes": [PROBE], "levels": [LEVEL], "fit": FIT},
}


def test_a_result_of_a_search_is_read() -> None:
    assert SaturationResult.from_document(DOCUMENT).levels[0].clients == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"levels": [{**LEVEL, "clients": 0}]}, "levels\\[0\\].clients must be a number from 1e-15"),
        ({"levels": [{**LEVEL, "clients": -5}]}, "levels\\[0\\].clients must be"),
        ({"levels": [{**LEVEL, "work": -5.0}]}, "levels\\[0\\].work must be a number from 0"),
        ({"fit": {**FIT, "contention": {**ONE, "value": -1.0}}}, "fit.contention must be"),
        ({"probes": [{**PROBE, "rate": 5e-324}]}, "probes\\[0\\].rate must be"),
        ({"probes": [{**PROBE, "achieved": 5e-324}]}, "probes\\[0\\].work_per_operation must be"),
        ({"varying": {"low": 0.0, "high": 1.0}}, "varying.low must be"),
        ({"stable": 1e75}, "stable must be"),
        (
            {"objective": {"latency": [{"q": 99.0, "ms": -1.0}], "error_rate": 0.0}},
            "objective.latency\\[0\\].ms must",
        ),
        ({"levels": [LEVEL] * (MAX_ENTRIES + 1)}, "levels has 1,001 entries"),
        ({"disputed": [1.0] * (MAX_ENTRIES + 1)}, "disputed has 1,001 entries"),
        (
            {"objective": {"latency": [{"q": 99.0, "ms": 1.0}] * (MAX_LIMITS + 1), "error_rate": 0.0}},
            "objective.latency has more than 100 limits",
        ),
    ],
)
def test_what_no_search_writes_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(PacenoteError, match=f"saturation.{problem}"):
        SaturationResult.from_document({**DOCUMENT, **changes})
