"""Writes the series of a race without running it: histograms of random times in every second."""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pacenote import _core

_HIGHEST_NS = 24 * 3600 * 10**9
_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_EXACT_BITS = 11
"""Durations below 2 to the power of this have a bucket each."""

_MEDIAN_LOG_NS, _SPREAD = 16.1, 0.3
"""Mean and standard deviation of the logarithm of a duration: 10 ms, and 20 ms for p99."""


def write_series(folder: Path, tasks: Sequence[str], seconds: int, rate: int) -> None:
    """Writes `series.parquet` for tasks that run for so many seconds at so many operations per second."""
    rows = [*_rows(tasks, seconds, rate)]
    (folder / "series.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    written = _core.recover_files(str(folder))
    assert written == len(rows), f"{written} of {len(rows)} rows are intact"


def _rows(tasks: Sequence[str], seconds: int, rate: int) -> Iterator[dict[str, object]]:
    draw = random.Random(1)
    counts = ("operations", "requests", "weight")
    zeros = ("driver", "errors", "failed_weight", "bytes_out", "bytes_in")
    for task in tasks:
        for second in range(seconds):
            names = {"task": task, "operation": "search", "sample_type": "normal"}
            times = {name: _histogram(draw, rate) for name in ("service_time", "latency", "lateness")}
            numbers = dict.fromkeys(counts, rate) | dict.fromkeys(zeros, 0)
            yield {**names, "part": False, "second": second, **numbers, **times, "failed_service_time": None}


def _histogram(draw: random.Random, count: int) -> str:
    """Returns an HdrHistogram of random durations in the compressed V2 encoding, in base64."""
    buckets = Counter(_bucket(int(draw.lognormvariate(_MEDIAN_LOG_NS, _SPREAD))) for _ in range(count))
    counts, last = bytearray(), -1
    for bucket in sorted(buckets):
        if bucket - last > 1:
            counts += _number(last + 1 - bucket)
        counts += _number(buckets[bucket])
        last = bucket
    header = struct.pack(">IIIIQQd", _COOKIE, len(counts), 0, 3, 1, _HIGHEST_NS, 1.0)
    content = zlib.compress(header + counts)
    return base64.b64encode(struct.pack(">II", _COMPRESSED_COOKIE, len(content)) + content).decode()


def _bucket(ns: int) -> int:
    power = max(ns.bit_length() - _EXACT_BITS, 0)
    return (power << (_EXACT_BITS - 1)) + (ns >> power)


def _number(value: int) -> bytes:
    """Returns a number in ZigZag and LEB128."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes([*out, rest])
