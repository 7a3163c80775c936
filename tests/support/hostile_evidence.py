"""Recordings and GC logs that no JVM writes, and that may be in the folder of a race all the same."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence

BEGIN_NS = 1_795_466_258 * 1_000_000_000
"""When the recording begins, in ns since 1970."""

Field = tuple[str, int, str]
"""Name of a field, id of its type, and `pooled` for the id of a constant or `array`."""

_FIELDS: Mapping[tuple[int, str], Sequence[Field]] = {
    (1, "long"): (),
    (2, "java.lang.String"): (),
    (3, "boolean"): (),
    (5, "jdk.types.Symbol"): (("string", 2, ""),),
    (6, "java.lang.Class"): (("name", 5, "pooled"),),
    (7, "java.lang.Thread"): (("javaName", 2, ""), ("javaThreadId", 1, "")),
    (8, "jdk.types.Method"): (("type", 6, "pooled"), ("name", 5, "pooled")),
    (9, "jdk.types.StackFrame"): (("method", 8, "pooled"), ("lineNumber", 1, "")),
    (10, "jdk.types.StackTrace"): (("truncated", 3, ""), ("frames", 9, "array")),
    (20, "jdk.ObjectAllocationInNewTLAB"): (
        *(("startTime", 1, ""), ("eventThread", 7, "pooled"), ("stackTrace", 10, "pooled")),
        *(("objectClass", 6, "pooled"), ("tlabSize", 1, "")),
    ),
}


def varints(*values: int) -> bytes:
    """Encodes integers as a recording does."""
    encoded = bytearray()
    for value in values:
        while value > 0x7F:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        encoded.append(value)
    return bytes(encoded)


def text(value: str) -> bytes:
    """Encodes a text."""
    return b"\x03" + varints(len(value)) + value.encode()


def self_reference() -> bytes:
    """Returns a recording of a type with two fields of one name: a text, and a constant of the same type."""
    fields = {**_FIELDS, (5, "jdk.types.Symbol"): (("name", 2, ""), ("name", 5, "pooled"))}
    symbol = text("[B") + varints(1)
    return _chunk(fields, {5: [symbol], **_others((1, 1))}, 1)


def long_names(stacks: int, frames: int) -> bytes:
    """Returns a compressed recording of stacks whose methods have one long name, with different lines."""
    values = (
        b"\0" + varints(frames) + b"".join(varints(1, number * frames + at + 1) for at in range(frames))
        for number in range(stacks)
    )
    pools = {**_others(()), 5: [text("n" * 1000)], 10: list(values)}
    return gzip.compress(_chunk(_FIELDS, pools, stacks), 1)


def hostile_gc_log() -> bytes:
    """Returns a GC log of HotSpot with times, numbers and names that no JVM writes."""
    lines = [
        "[9999-12-31T23:59:59.999+0000][0.000s][info][gc] Using G1",
        "[2026-11-23T20:37:38.000+0000][18446744073709551615s][gc] GC(0) Pause Young (((((( 1M->1M(1M) 1ms",
        "[1677-01-01T00:00:00.000+0000][1.000s][gc] GC(1) Pause Full (\x1b[31m) 9999999T->1M(1M) 9e9ms",
        "[2026-11-23T20:37:40.000+0000][2.000s][gc] GC(2) Pause Young (a) 1M->1M(1M) 99999999999999.0ms",
    ]
    return "\n".join(lines).encode() + b"\n" + b"[" * 300_000


def hostile_openj9_log() -> bytes:
    """Returns a GC log of OpenJ9 whose elements do not end."""
    opened = b'<exclusive-start timestamp="2999-12-31T23:59:60.999"><gc-start type="global"><mem-info>'
    return b"<verbosegc>" + opened * 20_000 + b'<exclusive-end durationms="999999999999.999" '


def _others(frames: Iterable[int]) -> dict[int, list[bytes]]:
    """Returns a constant of each type but symbols, with a stack of these methods and lines."""
    encoded = varints(*frames)
    stack = b"\0" + varints(len(encoded) // 2) + encoded
    return {6: [varints(1)], 7: [text("worker") + varints(5)], 8: [varints(1, 1)], 10: [stack]}


def _chunk(
    types: Mapping[tuple[int, str], Sequence[Field]], pools: Mapping[int, Sequence[bytes]], stacks: int
) -> bytes:
    """Returns a chunk with an allocation for each stack."""
    events = b"".join(_event(20, varints(500 + id_, 1, id_, 1, 100)) for id_ in range(1, stacks + 1))
    constants = b"".join(
        varints(type_id, len(values)) + b"".join(varints(at) + value for at, value in enumerate(values, 1))
        for type_id, values in pools.items()
    )
    events += _event(1, b"\0\0\0\1" + varints(len(pools)) + constants)
    events += _event(0, _description(types))
    numbers = (68 + len(events), 0, 0, BEGIN_NS, 10_000_000_000, 500, 1_000_000_000)
    head = b"FLR\0\0\2\0\1" + b"".join(number.to_bytes(8) for number in numbers)
    return head + b"\0\0\0\1" + events


def _event(type_id: int, content: bytes) -> bytes:
    size = 4 + len(varints(type_id)) + len(content)
    sizes = bytes(size >> 7 * at & 0x7F | (0x80 if at < 3 else 0) for at in range(4))
    return sizes + varints(type_id) + content


def _description(types: Mapping[tuple[int, str], Sequence[Field]]) -> bytes:
    texts: dict[str, int] = {}

    def index(*values: str) -> bytes:
        return varints(*(texts.setdefault(value, len(texts)) for value in values))

    tree = index("root") + b"\0\1" + index("metadata") + b"\0" + varints(len(types))
    for (id_, name), fields in types.items():
        tree += index("class") + b"\2" + index("id", str(id_), "name", name) + varints(len(fields))
        for field, type_id, form in fields:
            extra = {"pooled": ("constantPool", "true"), "array": ("dimension", "1")}.get(form, ("label", ""))
            tree += index("field") + b"\3" + index("name", field, "class", str(type_id), *extra) + b"\0"
    return varints(0, 0, 1, len(texts)) + b"".join(map(text, texts)) + tree
