"""A node that Pacenote started, as the race record stores it."""

from __future__ import annotations

from pacenote.model.codec import Integer, Number, Stored


class StartedNode(Stored, frozen=True, kw_only=True):
    """A node that Pacenote started for the race."""

    name: str
    """`node.name`."""

    roles: tuple[str, ...] | None = None
    """Its roles; None if it had the default roles of the engine."""

    pid: Integer = 0
    """The id of its process."""

    heap: str = ""
    """The size of its heap, such as `1g`."""

    cpus: str | None = None
    """The CPUs that it could use, such as `0-3,6`; None if they were not selected."""

    memory_limit_bytes: Integer | None = None
    """The limit of its memory with the page cache; None if it was not limited."""

    cpu_limit: Number | None = None
    """The limit of its CPU time per second; None if it was not limited."""

    control_groups: tuple[str, ...] = ()
    """The folders of the control group that applied the limits; empty without limits."""

    data_paths: tuple[str, ...] = ()
    """The folders of its data."""
