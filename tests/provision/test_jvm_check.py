"""JVM options are checked with the JVM that will run the engine, before anything is prepared for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision.java import JavaRange, JavaRuntime, JvmVariant, find_java
from pacenote.provision.jvm_check import check_jvm_options, parse_jvm_flags

pytestmark = pytest.mark.process

HEAP = ("-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch")


@pytest.fixture(scope="module")
def java() -> JavaRuntime:
    return find_java("bundled", JavaRange(21), {})


def stand_in(home: Path, script: str, variant: JvmVariant = "hotspot") -> JavaRuntime:
    """Returns a runtime whose `java` is a shell script."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return JavaRuntime(
        home, "21.0.1", "", frozenset(), "test", variant="openj9" if variant == "openj9" else "hotspot"
    )


def test_the_flags_of_a_jvm_are_parsed() -> None:
    text = """[Global flags]
     bool UseEpsilonGC                             = false                        {experimental} {default}
   size_t MaxHeapSize                              = 1073741824                      {product} {command line}
    ccstr ErrorFile                                =                                 {product} {default}
     bool LogVMOutput                              = false                        {diagnostic} {default}
openjdk version "25.0.2" 2026-01-20
"""
    flags = parse_jvm_flags(text)
    assert [flag.option for flag in flags.values()] == [
        "-XX:+UseEpsilonGC after -XX:+UnlockExperimentalVMOptions",
        "-XX:MaxHeapSize=",
        "-XX:ErrorFile=",
        "-XX:+LogVMOutput after -XX:+UnlockDiagnosticVMOptions",
    ]


def test_accepted_options_write_no_files(java: JavaRuntime, tmp_path: Path) -> None:
    logs = [f"-Xlog:gc*:file={tmp_path}/a.log:time:filecount=0", f"-Xlog:gc:{tmp_path}/b.log"]
    quoted = f'-Xlog:safepoint:file="{tmp_path}/c.log"'
    recording = f"-XX:StartFlightRecording=filename={tmp_path}/d.jfr"
    older = [f"-Xloggc:{tmp_path}/e.log", f"-XX:DumpLoadedClassList={tmp_path}/f"]
    vm_log = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogVMOutput", f"-XX:LogFile={tmp_path}/g.log"]
    archive = ["-XX:+AutoCreateSharedArchive", f"-XX:SharedArchiveFile={tmp_path}/h.jsa"]
    options = (*HEAP, "-XX:+UseG1GC", "-Xlog:gc:stdout", *logs, quoted, recording, "-javaagent:/missing.jar")
    options = (*options, *older, *vm_log, *archive)
    assert check_jvm_options(java, options, None) == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["-XX:+UseZCG"], "does not know the JVM option -XX:+UseZCG", "did you mean -XX:+UseZGC?"),
        (
            ["-XX:maxgcpausemilis=5"],
            "does not know the JVM option -XX:maxgcpausemilis=5",
            "did you mean -XX:MaxGCPauseMillis=?",
        ),
        (
            ["-XX:+UseEpsilon"],
            "does not know the JVM option -XX:+UseEpsilon",
            "did you mean -XX:+UseEpsilonGC after -XX:+UnlockExperimentalVMOptions?",
        ),
        (["-XX:+Foo"], "does not know the JVM option -XX:+Foo", "remove it from --jvm or"),
        (
            ["-Xshareclasses:none"],
            "does not know the JVM option -Xshareclasses:none",
            "it is an option of OpenJ9",
        ),
        (["-Xfoo"], "does not know the JVM option -Xfoo", "remove it from --jvm or"),
        (
            ["-XX:+UseEpsilonGC"],
            "the JVM option -XX:+UseEpsilonGC is experimental",
            "add -XX:+UnlockExperimentalVMOptions before it",
        ),
        (
            ["-XX:+UseParallelGC", "-XX:+UseZGC"],
            "exclude each other: -XX:+UseParallelGC and -XX:+UseZGC",
            "select one garbage collector",
        ),
        (
            ["-XX:MaxGCPauseMillis=soon"],
            "does not accept the JVM option -XX:MaxGCPauseMillis=soon",
            "give a number such as 512 or 512m",
        ),
        (["-XX:UseZGC"], "the JVM option -XX:UseZGC", "write -XX:+UseZGC or -XX:-UseZGC"),
        (["-XX:MaxTenuringThreshold=99"], "MaxTenuringThreshold=99 is outside the allowed range", "correct"),
        (["-Xlog:bogus"], "Invalid tag 'bogus'", "correct"),
    ],
)
def test_a_refused_option_is_named(java: JavaRuntime, options: list[str], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_jvm_options(java, [*HEAP, *options], None)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint.startswith(hint)


def test_an_option_that_is_ignored_is_a_warning(java: JavaRuntime) -> None:
    (warning,) = check_jvm_options(java, [*HEAP, "-XX:+ZGenerational", "-Xmn64m"], None)
    assert warning.startswith("Ignoring option ZGenerational")


def test_a_heap_that_does_not_fit_the_address_space_is_refused(java: JavaRuntime) -> None:
    with pytest.raises(EngineError, match=r"with this heap: Could not reserve .* 104857600000 KB"):
        check_jvm_options(java, ["-Xms1g", "-Xmx100000g"], None)


def test_the_environment_does_not_change_the_jvm(java: JavaRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+Nonsense")
    assert check_jvm_options(java, [*HEAP, "-Xss2m"], None) == ()


def test_the_answer_is_remembered(tmp_path: Path) -> None:
    java = stand_in(tmp_path, f'echo "$@" >> "{tmp_path}/calls"')
    for _ in range(3):
        check_jvm_options(java, ["-ea"], None)
    assert (tmp_path / "calls").read_text().count("-ea") == 1


def test_a_java_that_cannot_be_run_is_reported(tmp_path: Path) -> None:
    foreign = stand_in(tmp_path / "foreign", "")
    # The header of a program for s390, which is big-endian.
    foreign.binary.write_bytes(b"\x7fELF\x02\x02\x01" + bytes(9) + b"\x00\x02\x00\x16" + bytes(44))
    closed = stand_in(tmp_path / "closed", "")
    closed.binary.chmod(0o644)
    unloadable = stand_in(tmp_path / "unloadable", "")
    unloadable.binary.write_text("#!/no/such/loader\n")
    for java, reason in (
        (foreign, "it is not a program for this processor"),
        (closed, "Permission denied"),
        (unloadable, "it, or the loader that it needs, does not exist"),
    ):
        with pytest.raises(EngineError, match=f"{java.binary} cannot be run: {reason}") as caught:
            check_jvm_options(java, [], None)
        assert "--runtime-jdk" in caught.value.hint
    damaged = stand_in(tmp_path / "damaged", "echo 'Error: failed lib/server/libjvm.so'; exit 1")
    with pytest.raises(EngineError, match=r"does not run: Error: failed lib/server/libjvm\.so"):
        check_jvm_options(damaged, ["-ea"], None)


@pytest.mark.parametrize(
    "text", ["JVMJ9VM007E ", "JVMJ9GC", "Improperly specified VM option '", "a b=", "\n"]
)
def test_any_output_is_read_fast(tmp_path: Path, text: str) -> None:
    (tmp_path / "output").write_text((text * 150_000)[:150_000])
    java = stand_in(tmp_path, f"cat '{tmp_path}/output'; exit 1")
    before = time.process_time()
    with pytest.raises((EngineError, UsageError)) as caught:
        check_jvm_options(java, [text.strip()], None)
    assert time.process_time() - before < 1
    assert "\n" not in caught.value.message


def test_warnings_of_a_jvm_are_some(tmp_path: Path) -> None:
    java = stand_in(tmp_path, 'for n in $(seq 500); do echo "Java VM warning: number $n"; done')
    warnings = check_jvm_options(java, ["-ea"], None)
    assert warnings[:2] == ("number 1", "number 2")
    assert len(warnings) < 50


def test_openj9_is_told_to_refuse_unknown_options(tmp_path: Path) -> None:
    java = stand_in(
        tmp_path,
        'for each; do case "$each" in -XX:-Ignore*) strict=1;; -XX:+UseG1GC) unknown=$each;; esac; done\n'
        'test -z "$strict" -o -z "$unknown" && exit\n'
        'echo "JVMJ9VM007E Command-line option unrecognised: $unknown"; exit 1',
        "openj9",
    )
    assert check_jvm_options(java, ["-Xgcpolicy:gencon"], None) == ()
    with pytest.raises(UsageError, match=r"OpenJ9 of Java 21\.0\.1 .* -XX:\+UseG1GC") as caught:
        check_jvm_options(java, ["-XX:+UseG1GC"], None)
    assert "-Xgcpolicy" in caught.value.hint
