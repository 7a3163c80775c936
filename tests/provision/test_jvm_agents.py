"""Agents of the JVM that disturb a measurement or open ports to other hosts are warned about."""

from __future__ import annotations

import pytest

from pacenote.provision.jvm_agents import agent_warnings

JDWP = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n"
JMX = "-Dcom.sun.management.jmxremote"
SLOW = "slows the engine"
OPEN = "lets other hosts"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((f"{JDWP},address=5005",), (SLOW,)),
        ((f"{JDWP},address=localhost:5005",), (SLOW,)),
        ((f"{JDWP},address=[::1]:5005",), (SLOW,)),
        ((f"{JDWP},address=*:5005",), (SLOW, OPEN)),
        (("-Xrunjdwp:transport=dt_socket,server=y,address=0.0.0.0:5005",), (SLOW, OPEN)),
        (("-agentlib:jdwp=transport=dt_socket,address=debugger:5005",), (SLOW,)),
        ((f"{JMX}.port=9010",), (OPEN,)),
        ((f"{JMX}.port=9010", f"{JMX}.host=127.0.0.1"), ()),
        ((f"{JMX}.host=0.0.0.0", f"{JMX}.port=9010"), (OPEN,)),
        (("-XX:+UseG1GC", "-javaagent:x.jar", JMX), ()),
    ],
)
def test_agents_that_disturb_or_listen_are_warned_about(
    options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    warnings = agent_warnings(options)
    assert len(warnings) == len(words)
    assert all(word in text for word, text in zip(words, warnings, strict=True))
