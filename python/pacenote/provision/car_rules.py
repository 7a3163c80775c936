"""What no car and no option can change: the isolation of nodes, which listen on loopback only, join no other
cluster, have folders of their own, and have names with which no log is written elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pacenote.errors import UsageError

_SETTING_NAME = re.compile(r"\w[\w.*-]*", re.ASCII)
"""Settings are written as lines of a file, so a name must not contain line breaks or quotes."""

_OWN_CLUSTER = "remove it, or start the cluster yourself and use --pipeline=benchmark-only"

_PROTECTED = (
    (
        re.compile(r"path\.repo\b"),
        "nodes share a folder for snapshots, which is removed with them",
        'give repositories a relative location, such as {"location": "backups"}',
    ),
    (
        re.compile(r"path\.data\b"),
        "a node only writes to folders that Pacenote makes for it",
        "--data-paths selects the disks of the data",
    ),
    (re.compile(r"path\."), "a node only writes to folders that Pacenote makes for it", "remove it"),
    (
        re.compile(r"discovery\.|cluster\.initial"),
        "a node only joins the nodes that Pacenote starts with it",
        f"--nodes starts several; otherwise {_OWN_CLUSTER}",
    ),
    (
        re.compile(
            r"transport\.profiles\.|"
            r"((\w+\.)+(bind|publish)_host|"
            r"(network|http|transport|remote_cluster|grpc|(\w+\.)?flight)\.host)(\.\d+)?$"
        ),
        "a node only listens on loopback",
        _OWN_CLUSTER,
    ),
)
"""Settings that isolate a node, why they cannot be changed, and what to do instead: a race never opens a port
to other hosts, never joins another cluster, and never writes to folders of others.

Engines also take a name with a number, such as `network.host.0`, and it overrides the one without.
"""

_NAMES = re.compile(r"(cluster|node)\.name(\.\d+)?")
_OF_THE_NODE = re.compile(rf"{_NAMES.pattern}|(http|transport)(\.tcp)?\.port(\.\d+)?")

_IN_NO_NAME = r"\x00-\x1f\x7f-\x9f\ud800-\udfff/\\:${}%"
_ENGINE_NAME = re.compile(rf"[^{_IN_NO_NAME} .-][^{_IN_NO_NAME}]{{0,99}}")
"""A name of a cluster or a node. The configuration of an engine's logs inserts it in paths: with `../` in it,
the engine would write to files of the user. Log4j replaces `${…}` and `%`. Engines refuse `:` themselves.
"""

_MAX_NAME_BYTES = 200
"""Longest name of a cluster or a node in bytes: files are called after it, whose names have at most 255."""

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
    for names, reason, hint in _PROTECTED:
        if names.match(name):
            raise UsageError(f"{name} in {where} cannot be changed: {reason}", hint=hint)


def check_settings(settings: Mapping[str, object], where: str) -> None:
    """Raises UsageError for a setting that the user cannot change, and for a name that the cluster or a node
    cannot have; `where` is what names them.
    """
    for name in settings:
        check_setting(name, where)
    check_names(settings, where)


def check_names(settings: Mapping[str, object], where: str) -> None:
    """Raises UsageError for a name in settings that the cluster or a node cannot have."""
    for name, value in settings.items():
        if _NAMES.fullmatch(name):
            check_engine_name(value, f"{name} in {where}")


def check_engine_name(name: object, where: str) -> None:
    """Raises UsageError for what cannot be the name of a cluster or a node; `where` is what names it."""
    text = str(name)
    is_text = isinstance(name, str | int | float)
    if not is_text or not _ENGINE_NAME.fullmatch(text) or len(text.encode()) > _MAX_NAME_BYTES:
        raise UsageError(
            f"{where} cannot be {text!r}: engines write to files with this name",
            hint="use at most 100 characters without / \\ : $ { } %, first none of . - and blanks",
        )


def belongs_to_node(name: str) -> bool:
    """Returns whether Pacenote sets a setting itself for each node, in place of the templates."""
    is_protected = any(names.match(name) for names, _, _ in _PROTECTED)
    return is_protected or _OF_THE_NODE.fullmatch(name) is not None


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
