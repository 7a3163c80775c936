"""The configuration of the engine and the machine as flat facts, read before and after a race.

A key consists of words separated by dots; the first one is its group, such as `kernel`. Keys of the group
`reading` are values that always change, such as free memory; all others are configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from msgspec import Struct, field

from pacenote.errors import PacenoteError
from pacenote.model.codec import Integer, Stored, decode, encode

SNAPSHOT_FORMAT = 1
"""Version of `snapshot.json`."""

READING = "reading."
"""Prefix of the keys of values that always change."""

MAPPING = f"{READING}mapping."
"""Prefix of the keys of how large the mappings of all indices are."""

DRIVER = "driver."
"""Prefix of the keys of the driver's own process."""

INDEX = "index."
"""Prefix of the keys of index settings: a race creates and deletes indices."""


MAX_NODES = 40
"""Nodes of a race whose facts are told apart: a snapshot has at most 20, before and after the race."""

_MAX_GROUPS = 16
"""Groups within each other that a fact may be in; a hostile key has a million."""

_MAX_PATTERNS = 16
"""Entries with a `*` in their middle, such as `node.*.process.*`, that are used; Pacenote writes two."""

_MAX_PATTERN = 300
"""Characters of such an entry: a longer one, which a file may have, takes a thousand times its memory."""

_MACHINE = ("kernel.", "sysctl.", "cpu.", "memory.", "disk.", "network.", "machine.", "software.")


def is_of_machine(key: str) -> bool:
    """Returns whether a fact, or a text that begins with its key, is about the machine."""
    return key.startswith(_MACHINE)


class UnreadGroups:
    """Finds the entries of `Snapshot.unread` that a fact belongs to.

    They are looked up, because comparing all entries with all facts can take hours.
    """

    def __init__(self, unread: Mapping[str, str]) -> None:
        self._unread = unread
        short = (entry for entry in unread if len(entry) <= _MAX_PATTERN)
        patterns = (entry for entry in short if "*" in entry.removesuffix("*"))
        self._patterns = tuple(islice(patterns, _MAX_PATTERNS))

    def of(self, key: str) -> Iterator[str]:
        """Yields the entries, the largest group first, and then those with a `*` in their middle."""
        words = key.split(".", _MAX_GROUPS)
        groups = (".".join((*words[:number], "*")) for number in range(1, len(words)))
        yield from (entry for entry in (*groups, key) if entry in self._unread)
        yield from (entry for entry in self._patterns if fnmatchcase(key, entry))


class Snapshot(Stored, frozen=True):
    """Facts at one time."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """Values by key, without secrets."""

    unread: Mapping[str, str] = field(default_factory=dict)
    """The reason for each fact, or group of facts (`GROUP.*`), that could not be read."""

    def merged(self, *others: Snapshot) -> Snapshot:
        """Returns the facts of several snapshots, sorted by key."""
        facts, unread = dict(self.facts), dict(self.unread)
        for other in others:
            facts |= other.facts
            unread |= other.unread
        return Snapshot(dict(sorted(facts.items())), dict(sorted(unread.items())))

    def configuration(self) -> dict[str, str]:
        """Returns the facts that do not change by themselves."""
        return {key: value for key, value in self.facts.items() if not key.startswith(READING)}


class RaceSnapshot(Struct, frozen=True):
    """What was read before and after one race, as stored in `snapshot.json`."""

    before: Snapshot
    """Facts before the first task."""

    after: Snapshot | None = None
    """Facts after the last task, or None if the race did not get there."""

    def changes(self) -> dict[str, tuple[str, str]]:
        """Returns the configuration that changed while the race ran: the values before and after, by key.

        A fact that could only be read once has not changed; nor has an index, which the track creates.
        """
        after = self.after.facts if self.after is not None else {}
        return {
            key: (value, after[key])
            for key, value in self.before.configuration().items()
            if not key.startswith(INDEX) and after.get(key, value) != value
        }

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document."""
        return {"format": SNAPSHOT_FORMAT, "before": encode(self.before), "after": encode(self.after)}

    @classmethod
    def from_document(cls, document: object) -> RaceSnapshot:
        """Reads `to_document`. Raises PacenoteError."""
        if not isinstance(document, Mapping) or document.get("format") != SNAPSHOT_FORMAT:
            raise PacenoteError("it does not have the format of this version of Pacenote")
        before = decode(Snapshot, document.get("before"), "snapshot.before")
        after = document.get("after")
        return cls(before, None if after is None else decode(Snapshot, after, "snapshot.after"))


class RecordedSnapshot(Stored, frozen=True):
    """The snapshot of a race, as its record refers to it."""

    file: str
    """Name of the file in the race folder."""

    facts: Integer
    """Number of facts before the race."""

    unread: Integer
    """Number of facts, or groups of facts, that could not be read before the race."""

    changed: tuple[str, ...] = ()
    """The configuration that changed while the race ran, one sentence each."""

    hurts: tuple[str, ...] = ()
    """What about the machine slows the engine down, one sentence each."""
