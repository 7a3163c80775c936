"""The kinds of numbers in the documents of an engine."""

from __future__ import annotations

import pytest

from pacenote.telemetry.flattening import figures, kind_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("indices.search.query_total", "counter"),
        ("merges_total_throttled_time", "counter"),
        ("jvm.uptime", "gauge"),
        ("jvm.mem.heap_used", "gauge"),
    ],
)
def test_the_end_of_a_name_tells_its_kind(name: str, kind: str) -> None:
    assert kind_of(name) == kind
    assert kind_of(f"{'long.' * 1_000}{name}") == kind


@pytest.mark.parametrize("key", ["_" * 1_000_000, "a_" * 500_000, "time." * 200_000])
def test_a_key_of_a_megabyte_is_read_at_once(key: str) -> None:
    assert kind_of(key) == "gauge"
    assert list(figures({key: 1, "docs": 2})) == list(figures({"docs": 2}))
