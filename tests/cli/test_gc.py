"""`pacenote gc`: statistics of GC logs side by side."""

import csv
import io
import json

import pytest

from support.openj9_logs import LogPlan, Totals, generate

LOG = """\
[2026-11-23T20:37:38.000+0000][0.010s][info][gc     ] Using G1
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Heap Region Size: 1M
[2026-11-23T20:37:38.990+0000][1.000s][info][gc     ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) \
110M->20M(256M) 50.000ms
[2026-11-23T20:37:39.990+0000][2.000s][info][gc     ] GC(1) Pause Full (System.gc()) 120M->10M(256M) 150.000ms
[2026-11-23T20:37:40.010+0000][2.010s][info][gc,cpu ] GC(1) User=0.03s Sys=0.00s Real=0.15s
"""

SERIAL = """\
[1.000s][info][gc] Using Serial
[2.000s][info][gc] GC(0) Pause Young (Allocation Failure) 9M->1M(9M) 5.0ms
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "gc.log").write_text(LOG)
    (tmp_path / "serial.log").write_text(SERIAL)
    return [str(tmp_path / "gc.log"), str(tmp_path / "serial.log")]


def rows(text):
    """Returns the values of each metric of a CSV report."""
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(text))}


def test_logs_are_side_by_side(run, files):
    code, out, err = run("gc", *files, "--report-format=csv")
    assert (code, err) == (0, "")
    table = rows(out)
    assert table["Metric"] == ["gc.log", "serial.log", "Unit"]
    assert table["Collector"] == ["G1", "Serial", ""]
    assert table["Pauses"] == ["2", "1", ""]
    assert table["Full: longest"] == ["150.0", "", "ms"]
    assert table["Time in pauses"] == ["10.0", "0.5", "%"]
    assert table["Allocation"] == ["100.0", "", "MiB/s"]
    assert table["Cause System.gc(): pauses"] == ["1", "0", ""]
    assert "Allocation stalls" not in table, "only ZGC has stalls"


def test_what_a_log_does_not_have_is_not_available(run, files):
    _, out, _ = run("gc", *files)
    line = next(line for line in out.splitlines() if "CPU time of pauses, user" in line)
    assert [cell.strip() for cell in line.split("|")] == [
        "",
        "CPU time of pauses, user",
        "0.03",
        "not available",
        "s",
        "",
    ]
    assert "- a log has no safepoints" in out


def test_json_has_all_figures(run, files):
    document = json.loads(run("gc", *files, "--report-format=json")[1])
    assert [log["name"] for log in document["logs"]] == ["gc.log", "serial.log"]
    assert document["logs"][0]["statistics"]["pauses"]["count"] == 2
    assert document["logs"][1]["start"] is None
    assert document["inputs"][0]["lines"] == LOG.count("\n")


def test_files_of_a_rotated_log_are_one_and_a_missing_one_is_named(run, tmp_path):
    lines = LOG.splitlines(keepends=True)
    first, second = "".join(lines[:3]), "".join(lines[3:])
    (tmp_path / "gc.log.0").write_text(first)
    (tmp_path / "gc.log").write_text(second)
    (tmp_path / "gc.log.old").write_text("another file")
    both = run("gc", str(tmp_path / "gc.log"), str(tmp_path / "gc.log.0"), "--report-format=csv")
    (tmp_path / "whole.log").write_text(LOG)
    whole = run("gc", str(tmp_path / "whole.log"), "--report-format=csv")
    assert both[1].replace("gc.log", "whole.log") == whole[1]
    code, _, err = run("gc", str(tmp_path / "gc.log"))
    assert code == 0
    assert err.endswith("gc.log not read: gc.log.0; name all files of a rotated log\n")


def test_logs_with_the_same_name_and_several_runs_are_told_apart(run, tmp_path):
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(str(tmp_path / folder / "gc.log"))
    (tmp_path / "a" / "gc.log").write_text(LOG + LOG.replace("T20:", "T21:"))
    (tmp_path / "b" / "gc.log").write_text(LOG)
    table = rows(run("gc", *paths, "--report-format=csv")[1])
    assert table["Metric"] == [f"{paths[0]} (run 1)", f"{paths[0]} (run 2)", paths[1], "Unit"]


LAUNCHER = """\
[2026-11-23T20:37:30.000+0000][0.010s][info][gc     ] Using Serial
[2026-11-23T20:37:30.100+0000][0.110s][info][gc,heap,exit] Heap
"""


def test_jvms_without_a_collection_are_left_out_beside_others(run, tmp_path):
    path = tmp_path / "gc.log"
    path.write_text(LAUNCHER + LAUNCHER.replace(":30.", ":34.") + LOG)
    code, out, err = run("gc", str(path), "--report-format=csv")
    assert code == 0
    assert rows(out)["Metric"] == ["gc.log", "Unit"]
    assert rows(out)["Collector"] == ["G1", ""]
    assert "2 JVMs without a collection left out" in err
    code, out, err = run("gc", str(path), "--report-format=csv", "--all-jvms")
    assert (code, err) == (0, "")
    assert rows(out)["Metric"] == ["gc.log (run 1)", "gc.log (run 2)", "gc.log (run 3)", "Unit"]
    path.write_text(LAUNCHER)
    code, out, err = run("gc", str(path), "--report-format=csv")
    assert (code, err, rows(out)["Collector"]) == (0, "", ["Serial", ""])


def test_figures_of_an_incomplete_log_are_at_least_those_or_not_available(run, tmp_path):
    """Beside a whole log, whose figures stay as they are."""
    (tmp_path / "whole.log").write_text(LOG)
    dropped = "[3.000s][warning][                     ]    506 messages dropped due to async logging\n"
    (tmp_path / "lossy.log").write_text(SERIAL + dropped)
    files = [str(tmp_path / "lossy.log"), str(tmp_path / "whole.log")]
    _, out, _ = run("gc", *files)
    lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines())
    table = {cells[0]: cells[1:] for cells in lines if cells}
    assert table["Pauses"][:2] == ["at least 1", "2"]
    assert table["Pauses: longest"][0] == "at least 5"
    assert table["Pauses: mean"][:2] == ["not available", "100"]
    assert table["Time in pauses"][0] == "not available"
    assert table["Full collections"][:2] == ["not available", "1"], "0 says nothing"
    assert table["Time in the log"][0] == "2"
    assert out.count("the JVM dropped 506 messages") == 1
    document = json.loads(run("gc", *files, "--report-format=json")[1])
    assert [log["statistics"]["is_incomplete"] for log in document["logs"]] == [True, False]


def test_a_log_of_zgc_without_phases_shows_its_collections(run, tmp_path):
    (tmp_path / "gc.log").write_text(
        "[1.0s][info][gc] Using The Z Garbage Collector\n"
        "[2.0s][info][gc] GC(0) Garbage Collection (System.gc()) 208M(20%)->164M(16%)\n"
    )
    _, out, _ = run("gc", str(tmp_path / "gc.log"), "--report-format=csv")
    table = rows(out)
    assert not {"Pauses", "Time in pauses", "Minimum utilisation in 1 s"} & set(table)
    assert (table["Collections"][0], table["Forced collections"][0]) == ("1", "1")
    assert (table["Most heap before a collection"][0], table["Most heap after a collection"][0]) == (
        "208.0",
        "164.0",
    )
    assert "- a log of ZGC has no phases" in run("gc", str(tmp_path / "gc.log"))[1]


def test_containers_are_told_apart_by_their_names(run, tmp_path):
    text = "".join(f"es01  | {row}\nes02  | {row}\n" for row in LOG.splitlines())
    (tmp_path / "all.log").write_text(text)
    table = rows(run("gc", str(tmp_path / "all.log"), "--report-format=csv")[1])
    assert table["Metric"] == ["all.log (es01)", "all.log (es02)", "Unit"]
    assert table["Pauses"] == ["2", "2", ""]


def test_a_log_of_jdk_8_is_named_with_what_can_be_done(run, tmp_path):
    (tmp_path / "gc.log").write_text("0.3: [GC (Allocation Failure) 65536K->10720K(251392K), 0.0143 secs]\n")
    code, _, err = run("gc", str(tmp_path / "gc.log"))
    assert code == 64
    assert "JDK 8 or older" in err
    assert "JDK 11 or later" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "the file is empty"), ("nothing\n", "it has no line of a GC log"), (None, "cannot read")],
)
def test_a_file_that_is_no_gc_log_is_an_error(run, tmp_path, content, message):
    path = tmp_path / "x"
    if content is not None:
        path.write_text(content)
    code, out, err = run("gc", str(path))
    assert (code, out) == (64, "")
    assert message in err
    assert str(path) in err


def test_logs_that_cannot_be_read_do_not_hide_the_others(run, files, tmp_path):
    (tmp_path / "empty.log").write_text("")
    code, out, err = run("gc", str(tmp_path / "empty.log"), *files, str(tmp_path), "--report-format=csv")
    assert code == 64
    assert rows(out)["Metric"] == ["gc.log", "serial.log", "Unit"]
    assert err.count("error: ") == 2
    assert "the file is empty" in err
    assert "is not a file" in err
    code, out, err = run("gc", str(tmp_path / "empty.log"), str(tmp_path / "none.log"))
    assert (code, out, err.count("error: ")) == (64, "", 2)


def test_a_log_without_collections_says_so(run, tmp_path):
    (tmp_path / "gc.log").write_text(
        '[1.0s][safepoint] Safepoint "Cleanup", Time since last: 1 ns, Reaching safepoint: 1 ns, '
        "At safepoint: 1 ns, Total: 3 ns\n[2.0s][x] y\n"
    )
    _, out, _ = run("gc", str(tmp_path / "gc.log"))
    assert "| Safepoints " in out
    assert "| Pauses " not in out
    assert "- a log has no lines of collections: add gc* to -Xlog" in out


def test_names_from_a_log_do_not_reach_the_terminal_as_they_are(run, tmp_path):
    (tmp_path / "gc.log").write_text(
        LOG.replace("Using G1", "Using G1").replace("System.gc()", "a\x1b]0;b\x07|c")
    )
    _, out, _ = run("gc", str(tmp_path / "gc.log"))
    assert all(line.isprintable() for line in out.splitlines())
    assert "Cause a ]0;b \\|c: pauses" in out


def test_logs_of_openj9_have_the_rows_of_gcmv(run, files, tmp_path):
    """Rotated files of a log with concurrent scavenges, beside logs of HotSpot."""
    plan = LogPlan(
        heap_mb=1024,
        nursery=(10, 1_000_000, 5_000),
        globals=(1, 8_000_000, 9_000),
        percolated=0,
        largest_request=50_000,
        copied=Totals(100, 20, 10),
        collected_mb_per_minute=6_000,
        paused_share=0.015,
        concurrent=Totals(1_000, 200, 100),
    )
    parts = list(generate(plan))
    (tmp_path / "verbosegc.log.001").write_text("".join(parts[:6]) + parts[-1])
    (tmp_path / "verbosegc.log.002").write_text(parts[0].partition("<init")[0] + "".join(parts[6:]))
    rotated = [str(path) for path in sorted(tmp_path.glob("verbosegc.log.*"))]
    code, out, err = run("gc", *rotated, *files)
    assert (code, err) == (0, "")
    lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines())
    table = {cells[0]: cells[1:] for cells in lines if cells}
    missing = "not available"
    assert table["Metric"] == ["verbosegc.log", "gc.log", "serial.log", "Unit"]
    assert table["GC Mode"] == ["gencon", missing, missing, ""]
    assert table["Nursery collections - Number of collections"][:2] == ["20", missing]
    assert table["Nursery collections - Number of collections, by cycle"][:2] == ["10", missing]
    assert table["Nursery collections - Total amount flipped (MB)"][0] == "100"
    assert table["Nursery collections - Total amount flipped (MB), by cycle"][0] == "1100"
    assert table["Nursery collections - Mean garbage collection pause (ms)"][0] == "5"
    assert "Global collections - Number of collections, by cycle" not in table, "it does not differ"
    assert (table["Concurrent scavenge"][0], table["Collector"][0]) == ("yes", "gencon")
    assert "- concurrent scavenges: GCMV counts each of their pauses as a collection" in out
    rate = rows(run("gc", *rotated, "--report-format=csv")[1])["Rate of garbage collection (MB/minutes)"][0]
    assert float(rate) == pytest.approx(6_000, rel=0.01)
    assert rate != "6000", "CSV has all digits"
    document = json.loads(run("gc", *rotated, "--report-format=json")[1])
    assert document["logs"][0]["openj9"]["summary_of_cycles"]["nursery_tenured_mb"] == pytest.approx(220)
    assert document["logs"][0]["openj9"]["incidents"]["percolations"] == 0
