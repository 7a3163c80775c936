"""Whether two machines have the same memory."""

from __future__ import annotations

_KEPT_SHARE = 0.02
"""Share of the memory that the kernel keeps for itself, which differs from boot to boot."""


def is_same_memory(first: int | None, second: int | None) -> bool:
    """Returns whether two sizes of memory in bytes are those of like machines; None is not known."""
    if first is None or second is None:
        return first == second
    return abs(first - second) <= _KEPT_SHARE * second
