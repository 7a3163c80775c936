"""The options for the nodes that a race starts, and for the CPUs of the driver."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.options import values
from pacenote.errors import UsageError
from pacenote.model.cpu_list import parse_cpus
from pacenote.model.node_options import NodeGroup, NodeLimits, NodeOptions
from pacenote.units import format_count

if TYPE_CHECKING:
    from pacenote.cli.parser import Parser

_COUNT = re.compile(r"[1-9]\d{0,2}")
_SIZE = re.compile(r"(\d{1,12})\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_COORDINATING = "coordinating"
"""The name of nodes without roles."""


NODE_OPTIONS = ("nodes", "node_cpus", "node_memory", "node_cpu_limit", "data_paths")
"""The options that describe the nodes to start."""


def add_node_options(parser: Parser) -> None:
    """Adds the options that describe the nodes to start."""
    with parser.group("nodes"):
        parser.add_argument(
            "--nodes",
            type=node_groups,
            metavar="N",
            help="nodes to start: a number, or one for each role as in master:1,data:2 (default: 1)",
        )
        parser.add_argument(
            "--node-cpus",
            type=node_cpus,
            metavar="CPUS",
            help="CPUs of all nodes such as 0-3,6, or of each as in '0-3;4-7' (default: all)",
        )
        parser.add_argument(
            "--node-memory",
            type=memory_limit,
            metavar="SIZE",
            help="limit of the memory of each node with its page cache, such as 4g (default: none)",
        )
        parser.add_argument(
            "--node-cpu-limit",
            type=cpu_limit,
            metavar="CPUS",
            help="limit of the CPU time of each node per second, such as 1.5 (default: none)",
        )
        parser.add_argument(
            "--data-paths",
            type=data_paths,
            metavar="DIR,…",
            help="folders for the data, as in /disk1,/disk2; of each node as in '/disk1;/disk2' (default: in "
            "Pacenote's home)",
        )


def add_driver_cpus_option(parser: Parser) -> None:
    """Adds the option for the CPUs of the driver."""
    parser.add_argument(
        "--driver-cpus",
        type=driver_cpus,
        metavar="CPUS",
        help="CPUs of Pacenote and its load driver, such as 0-1,4 (default: all)",
    )


def node_options(options: argparse.Namespace) -> NodeOptions:
    """Returns the nodes that the options describe. Raises UsageError for lists that do not fit the number of
    nodes. Commands need not have the options.
    """
    given = {name: getattr(options, name, None) for name in NODE_OPTIONS}
    nodes = NodeOptions(
        groups=given["nodes"] or NodeOptions().groups,
        cpus=given["node_cpus"] or (),
        limits=NodeLimits(given["node_memory"], given["node_cpu_limit"]),
        data_paths=given["data_paths"] or (),
    )
    for option, lists in (("--node-cpus", nodes.cpus), ("--data-paths", nodes.data_paths)):
        if len(lists) not in (0, 1, nodes.count):
            raise UsageError(
                f"{option} has {len(lists)} lists for {format_count(nodes.count, 'node')}",
                hint="give one list for all nodes, or one for each, separated by semicolons",
            )
    return nodes


def node_groups(text: str) -> tuple[NodeGroup, ...]:
    """Parses `--nodes`. Raises UsageError."""
    if _COUNT.fullmatch(text.strip()):
        return (NodeGroup(int(text)),)
    return tuple(_node_group(part.strip(), text) for part in text.split(","))


def _node_group(part: str, text: str) -> NodeGroup:
    names, colon, count = part.partition(":")
    roles = tuple(dict.fromkeys(name.strip().lower() for name in names.split("+")))
    if not colon or not _COUNT.fullmatch(count.strip()) or not all(roles):
        raise UsageError(
            f"--nodes: '{text}' is neither a number of nodes from 1 to 999 nor a list of roles",
            hint="write it as 3, or as master:1,data:2",
        )
    if _COORDINATING in roles:
        if len(roles) > 1:
            raise UsageError(
                f"--nodes: a node that is {_COORDINATING} has no other role, but '{part}' names some",
                hint=f"remove {_COORDINATING}: every node coordinates requests",
            )
        roles = ()
    return NodeGroup(int(count), roles)


def node_cpus(text: str) -> tuple[tuple[int, ...], ...]:
    """Parses `--node-cpus`. Raises UsageError."""
    return tuple(_cpus(part, "--node-cpus") for part in text.split(";"))


def driver_cpus(text: str) -> tuple[int, ...]:
    """Parses `--driver-cpus`. Raises UsageError."""
    return _cpus(text, "--driver-cpus")


def _cpus(text: str, option: str) -> tuple[int, ...]:
    try:
        return parse_cpus(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def memory_limit(text: str) -> int:
    """Parses `--node-memory` to bytes. Raises UsageError."""
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not 0 < size < 1 << 62:
        raise UsageError(f"--node-memory: '{text}' is not a size such as 4g or 512m")
    return size


def cpu_limit(text: str) -> float:
    """Parses `--node-cpu-limit`. Raises UsageError."""
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    # The kernel accepts no less than 1 ms per period of 100 ms.
    if not 0.01 <= limit <= 10_000:
        raise UsageError(f"--node-cpu-limit: '{text}' is not a number of CPUs such as 2 or 0.5")
    return limit


def data_paths(text: str) -> tuple[tuple[Path, ...], ...]:
    """Parses `--data-paths` to absolute paths. Raises UsageError."""
    lists = tuple(tuple(part.strip() for part in of_node.split(",")) for of_node in text.split(";"))
    if not all(part for of_node in lists for part in of_node):
        raise UsageError(f"--data-paths: '{text}' names an empty path", hint="write it as /disk1,/disk2")
    return tuple(tuple(values.path(part).absolute() for part in of_node) for of_node in lists)
