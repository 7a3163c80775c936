"""The binary form in which Elasticsearch 8 and later reads its arguments from standard input."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_KEYSTORE_CLASS = "org.elasticsearch.common.settings.KeyStoreWrapper"
_KEYSTORE_FORMAT = 7
_TEXT, _LIST = 0, 7
"""Kinds of values of settings."""
_NULL = b"\xff"


def server_arguments(settings: Mapping[str, object], config: str, logs: str) -> bytes:
    """Returns the arguments of a server in the foreground without a keystore password or process id file."""
    keystore = _text(_KEYSTORE_CLASS) + struct.pack(">i", _KEYSTORE_FORMAT)
    # It has no password, no data and no entries, and is not closed.
    keystore += b"\0\0" + _vint(0) + b"\0"
    values = b"".join(_text(key) + _value(settings[key]) for key in sorted(settings))
    # Daemonize, quiet, and the absence of a process id file come first.
    return b"\0\0\0" + keystore + _vint(len(settings)) + values + _text(config) + _text(logs)


def _value(value: object) -> bytes:
    if value is None:
        return _NULL
    if isinstance(value, Sequence) and not isinstance(value, str):
        return bytes([_LIST]) + _vint(len(value)) + b"".join(_value(each) for each in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return bytes([_TEXT]) + _text(text)


def _text(text: str) -> bytes:
    """Returns a text as its number of UTF-16 units and each unit in 1 to 3 bytes."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]
    return _vint(len(units)) + b"".join(chr(unit).encode("utf-8", "surrogatepass") for unit in units)


def _vint(number: int) -> bytes:
    """Returns a number in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while number > 127:  # what fits into 7 bits
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
