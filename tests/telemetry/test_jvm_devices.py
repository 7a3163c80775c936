"""Options of the JVM for recordings and logs, and heap dumps, with every Java that is installed here."""

import subprocess
from pathlib import Path

import pytest

from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.provision.jvm_options import LOGS, gc_log_options
from pacenote.telemetry.device import ObservedNode
from pacenote.telemetry.devices import jvm_options
from pacenote.telemetry.jvm_devices import HeapDump
from support.javas import INSTALLED, java_runtime, running_java
from telemetry.sampling import run_device

EVERYTHING = TelemetryOptions(devices=("jfr", "jit", "gc"), params={"recording-template": "profile"})

JAVAS = pytest.mark.parametrize("java", INSTALLED, ids=[path.parts[-3] for path in INSTALLED])


def test_a_java_is_installed():
    assert len(INSTALLED) >= 1


def test_options_of_the_devices_are_those_of_rally():
    params = {"jfr-delay": "30s", "jfr-duration": "10m", "gc-log-config": "gc=debug"}
    devices = TelemetryOptions(devices=("gc", "heapdump", "jfr", "jit", "node-stats"), params=params)
    assert jvm_options(devices, "/l") == (
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+DebugNonSafepoints",
        "-XX:StartFlightRecording=maxsize=0,maxage=0s,disk=true,dumponexit=true,filename=/l/profile.jfr,"
        "delay=30s,duration=10m",
        "-XX:+LogCompilation",
        "-XX:LogFile=/l/jit.log",
        "-Xlog:gc=debug:file=/l/gc.log:utctime,uptimenanos,level,tags:filecount=0",
    )
    assert jvm_options(TelemetryOptions(), "/l") == ()


def test_events_of_the_profiler_are_its_arguments():
    params = {"profile-event": "wall+alloc+lock", "profile-interval": "5ms"}
    assert jvm_options(TelemetryOptions(devices=("profile",), params=params), "/l")[-1] == (
        "-agentpath:{profiler}=start,event=wall,interval=5ms,alloc=512k,lock=1ms,jfr,file=/l/async-profile.jfr"
    )


@pytest.mark.parametrize("logs", [LOGS, "/node/logs"])
def test_the_log_of_the_device_replaces_the_one_that_every_engine_writes(logs):
    java = java_runtime(INSTALLED[0])
    device = jvm_options(TelemetryOptions(devices=("gc",)), logs)
    assert gc_log_options(java, Path("/node/logs"), device) == ()
    (usual,) = gc_log_options(
        java, Path("/node/logs"), ("-Xlog:gc:stdout", "-Xlog:gc:file=/my/gc.log:uptime")
    )
    assert "safepoint=info" in usual
    assert usual.endswith(":filecount=9,filesize=16m")


@pytest.mark.process
@JAVAS
def test_the_jvm_accepts_the_options_and_writes_the_files(java, tmp_path):
    options = [*jvm_options(EVERYTHING, str(tmp_path)), "-version"]
    done = subprocess.run([java, *options], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert (tmp_path / "profile.jfr").read_bytes()[:4] == b"FLR\0"
    assert (tmp_path / "jit.log").read_text("utf-8", "replace").startswith("<?xml")
    assert "[gc" in (tmp_path / "gc.log").read_text()


@pytest.mark.process
@JAVAS
def test_the_usual_log_has_collections_and_safepoints_and_is_accepted(java, tmp_path):
    (option,) = gc_log_options(java_runtime(java), tmp_path, ())
    done = subprocess.run([java, option, "-version"], capture_output=True, text=True, check=False)
    assert (done.returncode, "warning" in done.stderr.lower()) == (0, False)
    assert (tmp_path / "gc.log").stat().st_size > 0


@pytest.mark.process
@JAVAS
def test_a_heap_dump_is_written_by_the_running_jvm(java, tmp_path):
    with running_java(java, tmp_path) as pid:
        node = ObservedNode("node-0", pid, (), tmp_path)
        assert run_device(HeapDump, {}, nodes=(node,)).result.errors == ()
        dump = tmp_path / f"heap_at_exit_{pid}.hprof"
        assert dump.read_bytes()[:13] == b"JAVA PROFILE "
        # The second request finds the JVM listening; it refuses to overwrite the file.
        (error,) = run_device(HeapDump, {}, nodes=(node,)).result.errors
        assert (
            f"heapdump: could not be read after the race: the JVM {pid} cannot write the heap dump" in error
        )
    assert list(tmp_path.glob(".attach_pid*")) == []


def test_a_process_that_does_not_run_has_no_heap_dump(tmp_path):
    node = ObservedNode("node-0", 2**22 + 1, (), tmp_path)
    (error,) = run_device(HeapDump, {}, nodes=(node,)).result.errors
    assert error.endswith(f"the JVM {2**22 + 1} does not run")
    assert list(tmp_path.iterdir()) == []
