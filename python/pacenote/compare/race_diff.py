"""What differs between the configurations of two races, or between the beginning and the end of one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from msgspec import Struct

from pacenote.model.codec import encode
from pacenote.model.driver_scheduling import obtained_scheduling
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import INDEX, MAX_NODES, READING, RaceSnapshot, Snapshot, UnreadGroups

OPTION_FIELDS = (
    *("car", "car_params", "challenge", "client", "corpora", "max_error_rate", "max_shortfall", "options"),
    *("other_clients", "pacing", "pipeline", "seed", "targets", "track", "user_tags"),
)
"""Fields of a race record that are its options."""

_IMPORTED_OPTIONS = ("car", "car_params", "challenge", "pipeline", "track", "user_tags")
"""The options that files of other tools state."""

_NOT_IMPORTED = dict.fromkeys(
    ("race.*", "machine.*", "engine.*"), "the file of another tool does not state it"
)
"""Why facts of an imported race are unknown, by their pattern."""

_INDICES = (INDEX, "index_default.")

_GROUPS = (
    ("Race", ("race.",)),
    ("Engine", ("engine.", "setting.")),
    ("Indices", _INDICES),
    ("JVM", ("jvm.",)),
    ("Nodes", ("node.",)),
    ("Machine", ("machine.", "cpu.", "memory.")),
    ("Kernel", ("kernel.", "sysctl.")),
    ("Disks", ("disk.",)),
    ("Network", ("network.",)),
    ("Software", ("software.",)),
    ("Driver", ("driver.",)),
    ("Readings", (READING,)),
)
"""Titles of the groups, and the prefixes of their keys."""

_NODE_PREFIX, _NODE_SUFFIX = "node.", ".build_hash"
"""The beginning and the end of the key of a fact that each node has; between them is its name."""

_PORTS = ("http.port", "transport.port", "transport.tcp.port")
"""Settings that differ between all nodes that Pacenote starts: their ports are those that are free."""

_SEED_HOSTS = "discovery.seed_hosts"
_LOOPBACK_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
"""The setting with the addresses of such nodes, and their ports."""

_CONTROL_GROUP = re.compile(r"\.process\.cgroup\.(?:\w+\.)?path$")
"""The name of a control group, which differs between sessions; its limits are facts of their own."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
"""Writes values that are not text."""

_SHARE = 0.25
_POINTS = 10.0
"""By how much readings must differ: a share of the larger value, or points of a percentage."""

_MIN_BYTES = 512 << 20
"""By how many bytes readings of memory and disks must differ in addition: a few dirty pages always do."""


@dataclass(frozen=True, slots=True)
class RaceConfiguration:
    """One side of a comparison."""

    name: str
    """What it is called: the id of the race, or `before` and `after`."""

    facts: Mapping[str, str]
    """Its facts by key."""

    unread: Mapping[str, str]
    """Why facts, or groups of facts, could not be read."""

    groups: UnreadGroups = field(init=False, repr=False, compare=False)
    """Finds the entries of `unread`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", UnreadGroups(self.unread))


class Difference(Struct, frozen=True):
    """A fact that differs."""

    key: str
    """The key of the fact."""

    values: tuple[str | None, str | None]
    """Its value on each side, or None if it does not exist there."""


class DifferenceGroup(Struct, frozen=True):
    """The differences in one area."""

    title: str
    """The name of the area."""

    differences: tuple[Difference, ...]
    """The differences, sorted by key."""


class RaceDiff(Struct, frozen=True):
    """What differs between two configurations."""

    names: tuple[str, str]
    """The names of both sides."""

    groups: tuple[DifferenceGroup, ...]
    """The differences; areas without any are left out."""

    equal: int
    """Number of facts that are equal."""

    notes: tuple[str, ...]
    """What could not be compared, and why, one sentence each."""

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document."""
        return {
            "races": list(self.names),
            **{key: encode(getattr(self, key)) for key in ("groups", "equal", "notes")},
        }


class _AddedNodes(Struct, frozen=True):
    """The nodes that only one side has, and a node of it that both have."""

    side: RaceConfiguration
    """The side that has them."""

    names: tuple[str, ...]
    """Their names; empty if there are none, or if both sides have no node in common."""

    like: str
    """The name of the node with which they are compared."""

    @property
    def note(self) -> str:
        """Which nodes they are, and what is shown of them."""
        return (
            f"only in {self.side.name}: {', '.join(self.names)}; shown is what differs from {self.like} there"
        )

    def repeats(self, key: str) -> bool:
        """Returns whether a fact of one of them is the same as that of the other node."""
        for name in self.names:
            if f".{name}." in key:
                same = self.side.facts.get(key.replace(f".{name}.", f".{self.like}.", 1))
                return same is not None and same in (
                    self.side.facts[key],
                    self.side.facts[key].replace(name, self.like),
                )
        return False


def race_configuration(record: RaceRecord, snapshot: RaceSnapshot | None) -> RaceConfiguration:
    """Returns the options of a race, and the configuration of engine and machine before it."""
    before = snapshot.before if snapshot is not None else Snapshot()
    after = snapshot.after if snapshot is not None and snapshot.after is not None else Snapshot()
    # The track creates its indices.
    indices = {key: value for key, value in after.facts.items() if key.startswith(_INDICES)}
    own = {**_options(record), **_recorded_facts(record, is_complete=snapshot is None)}
    facts = {**own, **before.facts, **indices}
    unread = before.unread if record.imported is None else _NOT_IMPORTED
    return RaceConfiguration(record.race_id, facts, unread)


def race_changes(snapshot: RaceSnapshot) -> tuple[RaceConfiguration, RaceConfiguration]:
    """Returns the configuration before and after one race, of those indices that existed all the time."""
    after = snapshot.after if snapshot.after is not None else Snapshot()
    sides = []
    for name, side, other in (("before", snapshot.before, after), ("after", after, snapshot.before)):
        kept = {
            key: value
            for key, value in side.facts.items()
            if key in other.facts or not key.startswith(_INDICES)
        }
        sides.append(RaceConfiguration(name, kept, side.unread))
    return sides[0], sides[1]


def compare_configurations(first: RaceConfiguration, second: RaceConfiguration) -> RaceDiff:
    """Returns what differs between two configurations.

    Left out are ports that Pacenote chose, names of control groups, readings that differ little, facts that
    one side could not read, and what nodes that only one side has share with a node of both. Notes state the
    latter two.
    """
    sides = (first, second)
    added = (_added_nodes(first, second), _added_nodes(second, first))
    notes = dict.fromkeys(each.note for each in added if each.names)
    differences, equal = list[Difference](), 0
    for key in sorted({*first.facts, *second.facts}):
        values = (first.facts.get(key), second.facts.get(key))
        if values[0] == values[1]:
            equal += 1
            continue
        side = sides[0 if values[0] is None else 1]
        # A fact that only one side has may be one that the other side could not read.
        reason = unread_reason(side, key) if None in values else None
        if reason is not None:
            notes[f"not read in {side.name}: {reason}"] = None
        elif None in values and added[0 if values[1] is None else 1].repeats(key):
            continue
        elif _matters(key, values):
            differences.append(Difference(key, values))
    return RaceDiff((first.name, second.name), tuple(_grouped(differences)), equal, tuple(notes))


def _added_nodes(side: RaceConfiguration, other: RaceConfiguration) -> _AddedNodes:
    names, others = _node_names(side.facts), _node_names(other.facts)
    common = sorted(names & others)
    return _AddedNodes(side, tuple(sorted(names - others)) if common else (), common[0] if common else "")


def _node_names(facts: Mapping[str, str]) -> set[str]:
    names = (
        name
        for key in facts
        if key.endswith(_NODE_SUFFIX) and key.startswith(_NODE_PREFIX)
        if (name := key[len(_NODE_PREFIX) : -len(_NODE_SUFFIX)])
    )
    return set(islice(names, MAX_NODES))


def _grouped(differences: list[Difference]) -> Iterator[DifferenceGroup]:
    by_key = {each.key: each for each in differences}
    members: dict[str, list[Difference]] = {title: [] for title, _ in _GROUPS}
    for difference in differences:
        if _is_repeated(difference, by_key):
            continue
        title = next(
            (title for title, prefixes in _GROUPS if _area(difference.key).startswith(prefixes)),
            _GROUPS[0][0],
        )
        members[title].append(difference)
    for title, group in members.items():
        if group:
            yield DifferenceGroup(title, tuple(group))


def _is_repeated(difference: Difference, by_key: Mapping[str, Difference]) -> bool:
    """Returns whether another difference shows the same: what a node sets is in force in the cluster, and an
    option of the JVM is in force as a flag.
    """
    if not difference.key.startswith("node."):
        return False
    _, is_setting, name = difference.key.partition(".setting.")
    if is_setting:
        effective = by_key.get(f"setting.{name}")
        return effective is not None and all(
            own in (None, there) for own, there in zip(difference.values, effective.values, strict=True)
        )
    flag = difference.key.replace(".jvm.argument.-XX:", ".jvm.flag.")
    return flag != difference.key and flag in by_key


def _area(key: str) -> str:
    """Returns the key, or for facts of the JVM of a node one that begins with `jvm`."""
    node, dot, rest = key.partition(".jvm.")
    return f"jvm.{rest}" if dot and node.startswith("node.") else key


def _matters(key: str, values: tuple[str | None, str | None]) -> bool:
    """Returns whether a difference is one of the configuration, or of readings that differ much."""
    if key.endswith(_PORTS) or _CONTROL_GROUP.search(key):
        return False
    if key.endswith(_SEED_HOSTS) and None not in values:
        return len({_LOOPBACK_PORT.sub("", str(value)) for value in values}) > 1
    if not key.startswith(READING):
        return True
    try:
        first, second = (float(value or "0") for value in values)
    except ValueError:
        return False
    if "percent" in key or "pressure" in key:
        return abs(first - second) >= _POINTS
    if "memory" in key or "disk" in key:
        size = abs(first - second) * (1024 if key.endswith("_kb") else 1)
        return size >= _MIN_BYTES and abs(first - second) > _SHARE * max(first, second)
    return False


def unread_reason(side: RaceConfiguration, key: str) -> str | None:
    """Returns why a side does not have a fact, or None if it just does not exist there."""
    pattern = next(side.groups.of(key), None)
    return None if pattern is None else f"{pattern} ({side.unread[pattern]})"


def _options(record: RaceRecord) -> dict[str, str]:
    names = OPTION_FIELDS if record.imported is None else _IMPORTED_OPTIONS
    facts = _flat("race", encode({name: getattr(record, name) for name in names}))
    if record.pipeline == "benchmark-only":
        return facts
    # The address of a node that Pacenote starts has a free port.
    return {key: value for key, value in facts.items() if not key.startswith("race.client.hosts")}


def _recorded_facts(record: RaceRecord, *, is_complete: bool) -> dict[str, str]:
    """Returns what the record has of machine and engine, without what a snapshot has, unless complete."""
    left_out = {"load_average"} if is_complete else {"load_average", "kernel", "memory_bytes"}
    engine = ("distribution", "version", "flavor", "build_hash") if is_complete else ("distribution",)
    facts = _flat("engine", {name: getattr(record.cluster, name) for name in engine})
    if record.imported is not None:
        return facts
    machine = {key: value for key, value in encode(record.environment).items() if key not in left_out}
    facts |= _flat("machine", machine)
    if record.driver:
        facts["driver.scheduling"] = obtained_scheduling(record.driver, record.tasks)
    return facts


def _flat(prefix: str, value: object) -> dict[str, str]:
    """Returns the leaves of nested objects by their full names, without those that are None or empty."""
    leaves: dict[str, str] = {}
    _add_leaves(leaves, prefix, value)
    return leaves


def _add_leaves(leaves: dict[str, str], prefix: str, value: object) -> None:
    if isinstance(value, str):
        if value:
            leaves[prefix] = value
    elif isinstance(value, dict):
        for key, item in value.items():
            _add_leaves(leaves, f"{prefix}.{key}", item)
    elif isinstance(value, list | tuple) and all(isinstance(item, dict) and "name" in item for item in value):
        for item in value:
            parts = {key: part for key, part in item.items() if key != "name"}
            _add_leaves(leaves, f"{prefix}.{item['name']}", parts)
    elif value is not None:
        leaves[prefix] = _ENCODER.encode(value)
