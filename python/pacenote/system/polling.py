"""Waits until a descriptor can be read or written, whatever its number: `select` fails above 1,023, which a
process with many connections or races has.
"""

from __future__ import annotations

import math
import select


def can_read(descriptor: int, timeout_s: float) -> bool:
    """Returns whether a descriptor can be read without waiting, or has ended, within this time."""
    return _is_ready(descriptor, select.POLLIN, timeout_s)


def can_write(descriptor: int) -> bool:
    """Returns whether a short text can be written to a descriptor now without waiting."""
    return _is_ready(descriptor, select.POLLOUT, 0.0)


def _is_ready(descriptor: int, events: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(math.ceil(max(0.0, timeout_s) * 1000)))
