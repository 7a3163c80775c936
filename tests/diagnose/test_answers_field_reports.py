"""The field reports' tables lead to the findings of their authors, and S5's table to no advice."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.model.diagnosis import Diagnosis, RuleAnswer

RULES = bundled_rules()
GB = 1 << 30

IOSTAT_BEFORE = """
dasda 0.00 0.00 0.00 0.00 0.00 0.00 5.00 982.40 1.60 24.24 3.72 196.48 0.00 0.60
dasdb 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
dasdc 0.00 0.00 0.00 0.00 0.00 0.00 1312.00 365877.60 18.60 1.40 4.62 278.87 2.89 95.40
"""
IOSTAT_AFTER = """
dasdb 0.00 0.00 0.00 0.00 0.00 0.00 1647.80 93600.00 178.40 9.77 1.37 56.80 0.00 91.60
dasdd 0.00 0.00 0.00 0.00 0.00 0.00 1488.80 92883.20 179.60 10.76 1.45 62.39 0.00 91.40
dasde 0.00 0.00 0.00 0.00 0.00 0.00 1576.20 93319.20 177.40 10.12 1.43 59.21 0.00 91.80
dasdf 0.00 0.00 0.00 0.00 0.00 0.00 1655.80 93764.80 179.00 9.76 1.37 56.63 0.00 91.60
dm-0 0.00 0.00 0.00 0.00 0.00 0.00 7083.00 373567.20 0.00 0.00 1.74 52.74 12.36 92.00
"""
"""S1, throughput recommendation 2. Columns: device, r/s, rkB/s, rrqm/s, %rrqm, r_await, rareq-sz, the same of
writes, aqu-sz and %util.
"""


def rows(table: str) -> dict[str, list[float]]:
    return {name: list(map(float, values)) for name, *values in map(str.split, table.strip().splitlines())}


def device_figures(table: str, device: str) -> dict[str, float | str]:
    """Returns the figures of a device; the queue is that of Little's law, not the printed one."""
    row = rows(table)[device]
    stripes = [each for name, each in rows(table).items() if name.startswith("dasd") and each[7] > 1000]
    rates = [each[7] for each in stripes]
    others = [each[13] for name, each in rows(table).items() if name != device and each not in stripes]
    return {
        "disk.device": device,
        "disk.util_30s_share": row[13] / 100,
        "disk.queue": row[6] * row[10] / 1000,
        "disk.await_ms": row[10],
        "disk.stripes": len(stripes),
        "disk.stripe_imbalance": max(rates) / (sum(rates) / len(rates)),
        "disk.others_util_share": max(others, default=0.0) / 100,
        "disk.write_bytes_per_s": row[7] * 1000,
    }


def diagnosed(figures: Mapping[str, float | str | bool], kind: str = "indexing") -> Diagnosis:
    builder = EvidenceBuilder(
        "race", [TaskFacts("index-append", "indexing" if kind == "indexing" else "searching")]
    )
    for name, value in figures.items():
        builder.set(Window("index-append"), name, value)
    return diagnose(builder.build(), RULES)


def found(diagnosis: Diagnosis, name: str) -> RuleAnswer:
    answers = (*diagnosis.findings, *diagnosis.ruled_out, *diagnosis.not_applicable)
    return next(each for each in answers if each.id == name)


def test_the_device_of_s1_is_saturated_before_it_is_striped_and_busy_afterwards() -> None:
    before = device_figures(IOSTAT_BEFORE, "dasdc")
    assert before["disk.queue"] == pytest.approx(6.06, abs=0.005)  # iostat printed 2.89
    first = found(diagnosed({**before, "node.store_bytes": 200 * GB}), "D1")
    assert (first.state, "stripes" in first.advice[0].text) == ("fired", True)
    assert "dasdc was busy for 95.4 %" in first.text

    after = device_figures(IOSTAT_AFTER, "dm-0")
    assert after["disk.queue"] == pytest.approx(12.32, abs=0.005)  # iostat printed 12.36
    assert sum(rows(IOSTAT_AFTER)[each][7] for each in ("dasdb", "dasdd", "dasde", "dasdf")) == pytest.approx(
        rows(IOSTAT_AFTER)["dm-0"][7]
    )
    striped = diagnosed({**after, "node.store_bytes": 200 * GB, "disk.is_dasd": True})
    assert found(striped, "D1").state == "not applicable"
    assert found(striped, "D2").state == "ruled out", "the load differs by less than 10 % between the stripes"
    assert found(striped, "D3").state == "ruled out", "busy is not saturated"


GC_TABLES: Mapping[str, Mapping[str, float | str | bool]] = {
    "1 GiB": {
        "jvm.heap_max_bytes": GB,
        "gc.stop_share": 0.1639,
        "gc.young_interval_s": 0.0369,
        "gc.young_pause_mean_ms": 5.59,
        "gc.flipped_bytes": 321297e6,
        "gc.tenured_bytes": 73031e6,
        "gc.largest_request_bytes": 1039160,
    },
    "8 GiB": {
        "jvm.heap_max_bytes": 8 * GB,
        "gc.stop_share": 0.0651,
        "gc.young_interval_s": 0.645,
        "gc.young_pause_mean_ms": 40.6,
        "gc.flipped_bytes": 223275e6,
        "gc.tenured_bytes": 14824e6,
        "gc.largest_request_bytes": 4194312,
    },
    "tenure age 2": {
        "jvm.heap_max_bytes": 8 * GB,
        "gc.stop_share": 0.0323,
        "gc.young_interval_s": 0.741,
        "gc.young_pause_mean_ms": 22.7,
        "gc.flipped_bytes": 73742e6,
        "gc.tenured_bytes": 20596e6,
        "gc.largest_request_bytes": 1088256,
        "jvm.tenure_age": 2,
    },
    "concurrent scavenge": {
        "jvm.heap_max_bytes": 8 * GB,
        "gc.stop_share": 0.004,
        "gc.young_interval_s": 0.681,
        "gc.young_pause_mean_ms": 0.63,
        "gc.flipped_bytes": 489e6,
        "gc.tenured_bytes": 26.6e6,
        "gc.largest_request_bytes": 1549488,
        "jvm.tenure_age": 2,
        "gc.concurrent": True,
    },
}
"""S1, the four tables of throughput recommendation 1 and response time recommendation 1."""


def test_the_collections_of_s1_lead_to_its_recommendations() -> None:
    common: dict[str, float | str | bool] = {
        **{
            "gc.collector": "gencon",
            "jvm.name": "OpenJ9",
            "gc.live_share": 0.3,
            "host.memory_bytes": 64 * GB,
        },
        **{"gc.full_collections": 0, "gc.allocation_stalls": 0, "gc.explicit_collections": 0},
    }
    answers = {}
    for name, table in GC_TABLES.items():
        young = table["gc.young_pause_mean_ms"]
        assert isinstance(young, float)
        more = {"gc.young_s_per_s": young / 1000 / float(table["gc.young_interval_s"])}
        diagnosis = diagnosed({**common, **table, **more})
        answers[name] = {each.id: each for each in diagnosis.findings}
        assert {found(diagnosis, "H6").state, found(diagnosis, "H13").state} == {"ruled out"}

    small = answers["1 GiB"]["H1"]
    assert (small.severe, small.bound) == (True, pytest.approx(0.196, abs=0.0005))
    assert small.advice[0].options == {"car-params": {"heap_size": "2g"}}
    assert [name for name, fired in answers.items() if "H1" in fired] == ["1 GiB", "8 GiB"]
    # The report's step from 1 to 8 GiB can have gained 11.8 % by its pauses, and H1 allows for it.
    assert pytest.approx(0.118, abs=0.0005) == (1 - 0.0651) / (1 - 0.1639) - 1
    assert small.bound > 0.118

    (advice,) = answers["8 GiB"]["H7"].advice
    assert advice.options == {"jvm": ["-Xgc:scvNoAdaptiveTenure,scvTenureAge=2"]}
    assert [name for name, fired in answers.items() if "H7" in fired] == ["8 GiB"]


def test_the_recording_of_s3_names_the_receive_buffer() -> None:
    """Its tables of classes and stacks."""
    answer = found(
        diagnosed({
            **{"allocation.top_class": "byte[]", "allocation.top_class_share": 0.9511},
            **{"allocation.top_site": "io.netty.buffer.PoolArena$HeapArena.newChunk"},
            "allocation.top_site_share": 0.9609,
        }),
        "A1",
    )
    assert answer.state == "fired"
    assert "95.1 % of the allocated bytes are of the class byte[], and 96.1 %" in answer.text


@pytest.mark.parametrize(
    ("outside", "state"),
    [(36_108_455, "fired"), (726_691, "ruled out")],
    ids=["32 kB", "64 kB"],
)
def test_the_receive_buffers_of_s3_differ_in_what_does_not_fit_into_tlabs(outside: int, state: str) -> None:
    """Its table of TLABs; the documents are those of nyc_taxis."""
    figures = {"allocation.outside_share": 0.1, "allocation.outside_per_document": outside / 165_346_692}
    assert found(diagnosed(figures), "A2").state == state
