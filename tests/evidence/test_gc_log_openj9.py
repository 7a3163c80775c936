"""Verbose GC logs of OpenJ9: published summary tables, and logs that are rotated, cut or compressed.

The tables are those of "Elasticsearch on IBM Z – Performance Experiences, Hints and Tips" (IBM, 2021),
which GCMV printed for logs of 300 s. The logs are generated from them.
"""

import gzip
from datetime import UTC, timedelta, timezone

import pytest

from pacenote.errors import EvidenceError
from pacenote.evidence.gc_log import GcLogReader
from pacenote.report.openj9_table import summary_rows
from support.openj9_logs import START, LogPlan, Totals, generate

HEAP_1_GIB = LogPlan(
    heap_mb=1024,
    nursery=(8135, 36_900, 5_590),
    globals=(140, 2_129_000, 8_810),
    percolated=5,
    largest_request=1_039_160,
    copied=Totals(321_297, 73_031, 42_969),
    collected_mb_per_minute=264_466,
    paused_share=0.1639,
)
HEAP_8_GIB = LogPlan(
    heap_mb=8192,
    nursery=(465, 645_000, 40_600),
    globals=(5, 52_323_000, 27_200),
    percolated=0,
    largest_request=4_194_312,
    copied=Totals(223_275, 14_824, 7_635),
    collected_mb_per_minute=277_481,
    paused_share=0.0651,
)
TENURE_AGE_2 = LogPlan(
    heap_mb=8192,
    nursery=(404, 741_000, 22_700),
    globals=(7, 41_854_000, 22_900),
    percolated=0,
    largest_request=1_088_256,
    copied=Totals(73_742, 20_596, 9_651),
    collected_mb_per_minute=284_299,
    paused_share=0.0323,
    options=("-Xgc:scvNoAdaptiveTenure,scvTenureAge=2",),
)
CONCURRENT_SCAVENGE = LogPlan(
    heap_mb=8192,
    nursery=(441, 681_000, 630),
    globals=(7, 38_542_000, 23_100),
    percolated=0,
    largest_request=1_549_488,
    copied=Totals(489, 26.6, 13.3),
    collected_mb_per_minute=308_346,
    paused_share=0.004,
    concurrent=Totals(223_000, 57_600, 28_796.7),
    untriggered=7,
    options=("-Xgc:scvNoAdaptiveTenure,scvTenureAge=2,concurrentScavenge",),
)

NAMES = (
    "Concurrent collection count",
    "Forced collection count",
    "GC Mode",
    "Global collections - Mean garbage collection pause (ms)",
    "Global collections - Mean interval between collections (ms)",
    "Global collections - Number of collections",
    "Global collections - Total amount tenured (MB)",
    "Largest memory request (bytes)",
    "Number of collections triggered by allocation failure",
    "Nursery collections - Mean garbage collection pause (ms)",
    "Nursery collections - Mean interval between collections (ms)",
    "Nursery collections - Number of collections",
    "Nursery collections - Total amount flipped (MB)",
    "Nursery collections - Total amount tenured (MB)",
    "Proportion of time spent in garbage collection pauses (%)",
    "Proportion of time spent unpaused (%)",
    "Rate of garbage collection (MB/minutes)",
)
TABLES = {
    "1 GiB": (
        HEAP_1_GIB,
        "135 0 gencon 8.81 2129 140 42969 1039160 8140 5.59 36.9 8135 321297 73031 16.39 83.61 264466",
    ),
    "8 GiB": (
        HEAP_8_GIB,
        "5 0 gencon 27.2 52323 5 7635 4194312 465 40.6 645 465 223275 14824 6.51 93.49 277481",
    ),
    "tenure age 2": (
        TENURE_AGE_2,
        "7 0 gencon 22.9 41854 7 9651 1088256 404 22.7 741 404 73742 20596 3.23 96.77 284299",
    ),
    "concurrent scavenge": (
        CONCURRENT_SCAVENGE,
        "14 0 gencon 23.1 38542 7 28810 1549488 875 0.63 681 882 489 26.6 0.4 99.6 308346",
    ),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Returns the paths of the generated logs of the tables, by their names."""
    folder = tmp_path_factory.mktemp("openj9")
    paths = {}
    for name, (plan, _) in TABLES.items():
        paths[name] = folder / f"{name}.xml"
        paths[name].write_text("".join(generate(plan)))
    return paths


def read(*paths):
    """Returns the reader of a log that was written in UTC."""
    return GcLogReader(paths, UTC)


@pytest.mark.parametrize("name", TABLES)
def test_the_summary_is_the_published_table(logs, name):
    log = read(logs[name]).log()
    rows = summary_rows(log)
    assert tuple(row.name for row in rows) == NAMES
    assert " ".join(row.text for row in rows) == TABLES[name][1]
    assert read(logs[name]).read_input().problems == ()


def test_cycles_of_concurrent_scavenges_are_counted_separately(logs):
    rows = summary_rows(read(logs["concurrent scavenge"]).log(), by_cycle=True)
    expected = "7 0 gencon 23.1 38542 7 28810 1549488 875 1.26 681 441 223489 57627 0.4 99.6 308346"
    assert " ".join(row.text for row in rows) == expected
    other = read(logs["8 GiB"]).log()
    assert summary_rows(other, by_cycle=True) == summary_rows(other)


def test_openj9_logs_have_the_statistics_of_all_collectors(logs):
    log = read(logs["1 GiB"]).log()
    figures = log.statistics
    kinds = {each.name: each.durations.count for each in figures.pause_kinds}
    assert kinds == {"Nursery": 8135, "Global": 140, "Without collection": 135}
    assert {each.name: each.durations.count for each in figures.pause_causes} == {"Allocation Failure": 8140}
    assert figures.pause_share == pytest.approx(0.1639, abs=2e-4), "timestamps are in milliseconds"
    assert figures.stop_share == pytest.approx(figures.pause_share + 8410 * 0.07e-3 / 300.187, abs=1e-4)
    assert figures.safepoints is not None
    assert figures.safepoints.other_s is None, "the log does not have them"
    assert figures.allocation.promoted_bytes == 73_031 << 20
    assert figures.allocation.allocated_bytes_per_s == pytest.approx((264_466 << 20) / 60, rel=0.01)
    assert figures.cpu_user_s == pytest.approx(3 * (8135 * 5.59e-3 + 140 * 8.81e-3))
    assert (figures.trouble.full_collections, figures.trouble.evacuation_failures) == (5, 5)
    assert (figures.trouble.degenerated_collections, figures.trouble.humongous_pauses) == (None, None)
    assert figures.allocation.flipped_bytes == 321_297 << 20
    assert figures.heap.resizes == 0
    assert (log.jvm.heap_max_bytes, log.jvm.parallel_workers) == (1 << 30, 8)
    assert log.start == START.replace(tzinfo=UTC).timestamp()
    assert log.openj9 is not None
    assert log.openj9.allocated is not None
    assert log.openj9.largest_consumers[0].thread == "elasticsearch[node-0][write][T#1]"


SMALL = LogPlan(
    heap_mb=1024,
    nursery=(20, 1_000_000, 5_000),
    globals=(2, 8_000_000, 9_000),
    percolated=0,
    largest_request=50_000,
    copied=Totals(100, 20, 10),
    collected_mb_per_minute=6_000,
    paused_share=0.008,
)
"""A log of 20 s."""


@pytest.fixture
def small(tmp_path):
    """Returns a function that writes files and reads them as one log."""

    def write(*texts, time_zone=UTC):
        paths = [tmp_path / f"verbosegc.log.{number:03}" for number in range(1, len(texts) + 1)]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return GcLogReader(paths, time_zone)

    return write


def test_rotated_and_compressed_files_are_one_log(small):
    parts = list(generate(SMALL))
    header, pauses, end = parts[0], parts[1:-1], parts[-1]
    root = header[: header.index("<initialized")]
    whole = small("".join(parts))
    # Rotation has overwritten the first file, which is now the last.
    third, first, second = pauses[16:], pauses[:8], pauses[8:16]
    rotated = small(
        root + "".join(third) + end,
        gzip.compress((header + "".join(first) + end).encode()),
        root + "".join(second) + end,
    )
    assert rotated.log() == whole.log()
    assert [path[-1] for path in rotated.read_input().files] == ["2", "3", "1"]
    assert rotated.read_input().problems == ()


def test_what_precedes_a_cut_is_read(small):
    text = "".join(generate(SMALL))
    cut = text.rindex("<gc-op")
    reader = small(text[:cut])
    rows = {row.name: row.text for row in summary_rows(reader.log())}
    assert rows["Nursery collections - Number of collections"] == "19"
    assert reader.read_input().problems == (
        "1 file has no end: the JVM was still running, or was killed; what precedes is counted",
        "1 pause has no end, and cannot be counted",
    )
    damaged = small(gzip.compress(text.encode())[:-2000])
    assert any("compressed data is cut off" in problem for problem in damaged.read_input().problems)
    assert damaged.log().statistics.pauses is not None


def test_a_window_is_in_the_time_zone_of_the_jvm(small):
    zone = timezone(timedelta(hours=2))
    reader = small("".join(generate(SMALL)), time_zone=zone)
    start = START.replace(tzinfo=zone).timestamp()
    assert reader.log().start == start
    window, earlier = reader.between([(start + 4.5, start + 9.5), (start - 7200, start - 7190)])
    assert earlier is None
    assert window is not None
    assert window.openj9 is not None
    summary = window.openj9.summary
    assert (summary.nursery_collections, summary.allocation_failures, summary.global_collections) == (5, 5, 1)
    assert window.statistics.duration_s == 5
    assert summary.paused_percent == pytest.approx(100 * window.statistics.pause_share)


def test_figures_without_collections_are_not_available(small):
    parts = list(generate(SMALL))
    log = small(parts[0] + parts[-1]).log()
    values = {row.name: row.text for row in summary_rows(log)}
    assert values["Nursery collections - Mean garbage collection pause (ms)"] == "not available"
    assert values["Largest memory request (bytes)"] == "not available"
    assert values["Rate of garbage collection (MB/minutes)"] == "not available"
    assert values["Nursery collections - Number of collections"] == "0"
    assert log.statistics.pauses is None


def test_logs_that_are_not_understood_are_reported(small):
    text = "".join(generate(SMALL))
    problems = small(text.replace("gcpolicy:gencon", "gcpolicy:metronome")).read_input().problems
    assert any('the policy "metronome" is unknown' in problem for problem in problems)
    problems = small(text.replace('type="scavenge"', 'type="lunch"')).read_input().problems
    assert any('"lunch" is an unknown type of increment' in problem for problem in problems)
    with pytest.raises(EvidenceError, match=r"has the format of J9 5\.0 and earlier"):
        small('<verbosegc version="200811_07">\n<af type="tenured" id="1"><gc type="global" /></af>\n')
    with pytest.raises(EvidenceError, match="some files are logs of OpenJ9 and others are not"):
        small(text, "[0.005s][info][gc] Using G1\n")


def test_hostile_xml_is_harmless(small):
    declaration = (
        '<!DOCTYPE verbosegc [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///x">]>'
    )
    parts = list(generate(SMALL))
    text = (
        declaration
        + parts[0].replace("</vmargs>", '<vmarg name="-Xa&b;&c;" /></vmargs>')
        + "".join(parts[1:])
    )
    reader = small(text + "<mem-info>" * 100_000)
    assert (
        "a document type declaration was ignored: OpenJ9 does not write any" in reader.read_input().problems
    )
    log = reader.log()
    assert log.openj9 is not None
    assert log.openj9.options == ("-Xa&b;&c;",)
    assert log.openj9.summary.nursery_collections == 20
