"""How long the response of a server may take, so that no server can let Pacenote wait for ever."""

from __future__ import annotations

import math

from msgspec import Struct

MIN_BYTES_PER_S = 1000
"""Bytes of a body that must arrive per second, as with `http.lowSpeedLimit` of git."""


class ReplyLimits(Struct, frozen=True):
    """The limits of every response of an HTTP client."""

    whole_s: float = math.inf
    """Seconds within which the whole response must arrive."""

    stalled_s: float = math.inf
    """Seconds within which the head of a response must arrive, also if interim responses precede it, and over
    which at least `MIN_BYTES_PER_S` of the body must arrive on average. Sizes of chunks and trailers do not
    count.
    """
