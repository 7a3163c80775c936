"""What no car and no option can change: the isolation of nodes, which listen on loopback only."""

from __future__ import annotations

import re

from pacenote.errors import UsageError

_SETTING_NAME = re.compile(r"\w[\w.*-]*", re.ASCII)
"""Settings are written as lines of a file, so a name must not contain line breaks or quotes."""

_PROTECTED = re.compile(
    r"path\.|discovery\.|cluster\.initial|transport\.profiles\.|"
    r"((\w+\.)+(bind|publish)_host|(network|http|transport|remote_cluster|grpc|(\w+\.)?flight)\.host)(\.\d+)?$"
)
"""Settings that isolate a node: a race never opens a port to other hosts, and never joins another cluster.

Engines also take a name with a number, such as `network.host.0`, and it overrides the one without.
"""

_OF_THE_NODE = re.compile(r"(cluster|node)\.name|(http|transport)(\.tcp)?\.port")

_VARIABLES = {
    "JAVA_HOME": "--runtime-jdk selects Java",
    "ES_JAVA_HOME": "--runtime-jdk selects Java",
    "OPENSEARCH_JAVA_HOME": "--runtime-jdk selects Java",
    "ES_JAVA_OPTS": "--jvm adds an option of the JVM",
    "OPENSEARCH_JAVA_OPTS": "--jvm adds an option of the JVM",
    "ES_PATH_CONF": "each node has its own config folder",
    "OPENSEARCH_PATH_CONF": "each node has its own config folder",
    "HOME": "each node has its own folders",
}
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# The memory that a node needs is checked before it starts, and the record states the heap.
_HEAP_OPTION = re.compile(r"-X?m[sx]\d|-XX:(Max|Min|Initial)(HeapSize|RAM\w*)=")


def check_setting(name: str, where: str) -> None:
    """Raises UsageError for a setting that the user cannot change; `where` is what names it."""
    if not _SETTING_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} in {where} is not the name of a setting", hint="use only letters, digits and . _ - *"
        )
    if _PROTECTED.match(name):
        raise UsageError(
            f"{name} in {where} cannot be changed: a node only listens on loopback",
            hint="remove it, or start the cluster yourself and use --pipeline=benchmark-only",
        )


def belongs_to_node(name: str) -> bool:
    """Returns whether Pacenote sets a setting itself for each node, in place of the templates."""
    return bool(_PROTECTED.match(name) or _OF_THE_NODE.fullmatch(name))


def check_jvm_option(option: str, where: str) -> None:
    """Raises UsageError for what is not an option of the JVM, and for the size of the heap."""
    name, space, value = option.partition(" ")
    if re.fullmatch(r"--[a-z-]+", name) and space and not re.search(r"\s", value):
        raise UsageError(
            f"{option!r} in {where} are two arguments of a command", hint=f"write them as one: {name}={value}"
        )
    if not option.startswith("-") or any(character.isspace() for character in option):
        raise UsageError(
            f"{option!r} in {where} is not an option of the JVM", hint="for example -XX:+UseParallelGC"
        )
    if _HEAP_OPTION.match(option):
        raise UsageError(f"{option} in {where} sets the heap", hint="use heap_size in --car-params instead")


def check_variable(name: str) -> None:
    """Raises UsageError for an environment variable that the user cannot set."""
    if not _VARIABLE_NAME.fullmatch(name):
        raise UsageError(f"{name!r} in --env is not the name of an environment variable")
    if name in _VARIABLES:
        raise UsageError(f"{name} in --env cannot be set", hint=_VARIABLES[name])
