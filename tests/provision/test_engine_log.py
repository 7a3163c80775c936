"""The line that tells, out of logs as engines write them."""

from __future__ import annotations

import pytest

from pacenote.provision.engine_log import advice, exit_words, telling_lines

BIND = """[2026][INFO ] starting
BindHttpException[Failed to bind to 127.0.0.1:[9200]]; nested: BindException[Address already in use];
Likely root cause: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
"""
CHECK = """[2026][ERROR][o.e.b.Bootstrap] node validation exception
[1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]
"""


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        (BIND, "Failed to bind to 127.0.0.1:[9200]", "try again"),
        (CHECK, "vm.max_map_count [65530]", "sysctl"),
        (
            "Unrecognized VM option 'UseFoo'\nError: Could not create the JVM",
            "'UseFoo'",
            "additional_java_settings",
        ),
        ("x\nError occurred\nfine\nlast", "Error occurred", ""),
        ("a.b.FooException: top\n\tat a.b(C)\nCaused by: a.BarError: root\nbye\n", "root", ""),
        ("one\ntwo\n", "two", ""),
    ],
)
def test_lines_and_advice(text: str, told: str, hint: str) -> None:
    assert told in " | ".join(telling_lines(text))
    assert hint in advice(text)
    assert bool(hint) == bool(advice(text))


def test_nothing_said() -> None:
    assert telling_lines("\n") == ()


def test_ways_to_end() -> None:
    assert [exit_words(code) for code in (1, -15)] == ["exit code 1", "killed by SIGTERM"]
    assert "memory" in exit_words(-9)
    assert exit_words(-99) == "killed by signal 99"
