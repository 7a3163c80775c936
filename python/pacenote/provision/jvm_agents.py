"""Warnings about agents of the JVM that disturb the measurement or open ports: debuggers and JMX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

_DEBUG_AGENT = re.compile(r"-agentlib:jdwp=|-Xrunjdwp:")
_JMX_PORT = "-Dcom.sun.management.jmxremote.port"
_JMX_HOST = "-Dcom.sun.management.jmxremote.host"
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|\[?::1\]?")


def agent_warnings(options: Iterable[str]) -> tuple[str, ...]:
    """Returns warnings about the agents that JVM options add."""
    options = tuple(options)
    properties = {name: value for name, _, value in (option.partition("=") for option in options)}
    agents = (agent for option in options if _DEBUG_AGENT.match(option) for agent in _of_agent(option))
    return (*agents, *_of_jmx(properties))


def _of_agent(option: str) -> Iterator[str]:
    name = re.split("[=:]", option.removeprefix("-agentlib:"))[0]
    yield f"a debug agent ({name}) slows the engine: its results do not compare with those of other races"
    # For example -agentlib:jdwp=transport=dt_socket,server=y,address=*:5005.
    pairs = dict(part.partition("=")[::2] for part in _DEBUG_AGENT.sub("", option).split(","))
    host, colon, _ = pairs.get("address", "").rpartition(":")
    if pairs.get("server") == "y" and colon and not _LOOPBACK.fullmatch(host):
        yield (
            f"{option} lets other hosts run code in the engine: omit the host in its address, so that it "
            "listens only on loopback"
        )


def _of_jmx(properties: Mapping[str, str]) -> Iterator[str]:
    port = properties.get(_JMX_PORT)
    if port and not _LOOPBACK.fullmatch(properties.get(_JMX_HOST, "")):
        yield f"{_JMX_PORT}={port} lets other hosts control the engine: add {_JMX_HOST}=127.0.0.1"
