"""The reason why an engine exited is found in its log."""

from __future__ import annotations

import pytest

from pacenote.provision import engine_log
from pacenote.provision.engine_log import cause_lines, describe_exit, hint_for, read_tail

BIND = """[2026][INFO ] starting
BindHttpException[Failed to bind to 127.0.0.1:[9200]]; nested: BindException[Address already in use];
Likely root cause: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
"""
CHECK = """[2026][ERROR][o.e.b.Bootstrap] node validation exception
[1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]
"""

PRIVILEGED = """[2026][WARN ][o.o.b.BootstrapChecks] max virtual memory areas vm.max_map_count is too low
Likely root cause: java.net.BindException: Permission denied
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
"""

CRASH = """[2026][INFO ] starting
#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f1744cd5f14, pid=461, tid=461
#
# JRE version: OpenJDK Runtime Environment (25.0.3+9) (build 25.0.3+9-LTS)
# Problematic frame:
# C  [libc.so.6+0x85f14]
#
# An error report file with more information is saved as:
# /logs/hs_err_pid461.log
"""


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        (
            CRASH,
            "the JVM crashed: SIGSEGV (0xb) at pc=0x00007f1744cd5f14, pid=461, tid=461 | "
            "in C [libc.so.6+0x85f14]",
            "hs_err_pid",
        ),
        (BIND, "Failed to bind to 127.0.0.1:[9200]", "try again"),
        (PRIVILEGED, "Permission denied", "choose a port above 1023"),
        (CHECK, "vm.max_map_count [65530]", "sysctl"),
        (
            "Unrecognized VM option 'UseFoo'\nError: Could not create the JVM",
            "'UseFoo'",
            "additional_java_settings",
        ),
        (
            "Error occurred during initialization of VM\nCould not find agent library x on the path\n",
            "during initialization of VM: Could not find agent library x",
            "",
        ),
        (
            "x\nError opening zip file: /x.jar\nError occurred during initialization of VM\nagent failed\n",
            "Error opening zip file: /x.jar | Error occurred during initialization of VM: agent failed",
            "",
        ),
        (
            "Likely root cause: ParseException[failed to parse setting [a.b] with value [x]]",
            "setting [a.b]",
            "correct that setting in --set",
        ),
        ("x\nError occurred\nfine\nlast", "Error occurred", ""),
        ("a.b.FooException: top\n\tat a.b(C)\nCaused by: a.BarError: root\nbye\n", "root", ""),
        ("a.BarError: root\nERROR: it did not exit normally - check the logs\n", "root", ""),
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space\n", "heap space", "more heap"),
        # The name of an option is not the error that it is about.
        ("ERROR: use ExitOnOutOfMemoryError\n", "ExitOnOutOfMemoryError", ""),
        (
            "a.b.FooException[x]; nested: IOException[No space left on device];",
            "No space",
            "free some space on",
        ),
        ("one\ntwo\n", "two", ""),
    ],
)
def test_known_problems_are_reported_with_a_line_and_a_hint(text: str, line: str, hint: str) -> None:
    assert line in " | ".join(cause_lines(text))
    assert hint in hint_for(text)
    assert bool(hint) == bool(hint_for(text))


def test_an_empty_log_has_no_cause() -> None:
    assert cause_lines("\n") == ()


def test_exit_codes_and_signals_are_described() -> None:
    assert [describe_exit(code) for code in (1, -15)] == ["exit code 1", "killed by SIGTERM"]
    assert "memory" in describe_exit(-9)
    assert describe_exit(-99) == "killed by signal 99"


def test_the_end_of_a_log_begins_with_a_whole_line(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_log, "_TAIL_BYTES", 10)
    log = tmp_path / "engine.log"
    for content, tail in {
        b"Exception in A\nfirst\nlast\n": "last\n",
        b"before\nfirst\nend\n": "first\nend\n",
        b"short\n": "short\n",
        b"a line that is too long": "is too long",
    }.items():
        log.write_bytes(content)
        assert read_tail(log) == tail, content
    log.write_bytes(b"before\nown\n")
    assert read_tail(log, 7) == "own\n"
    assert read_tail(tmp_path / "missing") == ""


@pytest.mark.parametrize("word", ["a.", "Exceptional.", "a"])
def test_a_log_with_one_word_of_256_kib_is_read_at_once(word: str) -> None:
    line = word * (262_144 // len(word))
    assert cause_lines(f"java.io.IOException: full\n{line}") == ("java.io.IOException: full",)
