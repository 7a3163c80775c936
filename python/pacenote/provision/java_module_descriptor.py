"""Edits the descriptor of a Java module: makes modules that it requires optional at run time."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Collection
from pathlib import Path

from pacenote.provision.zip_files import opened_zip, read_member

_DESCRIPTOR = "module-info.class"
_STATIC_PHASE = 0x40
_CONSTANT_COUNT_OFFSET = 8
_MAX_MEMBER_BYTES = 64 << 20
"""Size of the largest file in a jar; those of the jars that are copied have less than a megabyte."""

# Class file constants by tag: the bytes that follow the tag. UTF-8 texts (1) have a length of their own, and
# numbers of 8 bytes (5, 6) take two entries of the table.
_UTF8 = 1
_CONSTANT_SIZES = {
    **dict.fromkeys((7, 8, 16, 19, 20), 2),
    15: 3,
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4),
    **dict.fromkeys((5, 6), 8),
}


def copy_with_optional_modules(source: Path, target: Path, modules: Collection[str]) -> None:
    """Copies a modular jar, with `modules` optional at run time in its descriptor.

    The other files are unchanged. Raises OSError, and DamagedZip, also for a jar without a readable
    descriptor.
    """
    with opened_zip(source) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        if _DESCRIPTOR not in whole.namelist():
            raise ValueError(f"{source.name} has no {_DESCRIPTOR}")
        for entry in whole.infolist():
            content = read_member(whole, entry.filename, _MAX_MEMBER_BYTES)
            if entry.filename == _DESCRIPTOR:
                content = with_optional_modules(content, modules)
            copy.writestr(entry, content)


def with_optional_modules(descriptor: bytes, modules: Collection[str]) -> bytes:
    """Returns the class file of a module descriptor in which it requires `modules` only at compile time.

    Raises ValueError if it is not a module descriptor.
    """
    try:
        return _edited(bytearray(descriptor), modules)
    except (struct.error, LookupError) as failure:
        raise ValueError(f"the module descriptor cannot be read: {failure}") from None


def _edited(data: bytearray, modules: Collection[str]) -> bytes:
    constants, position = _read_constants(data)
    # Access flags, this class, its superclass and interfaces, and then fields and methods, which it lacks.
    position += 6
    position += 2 + 2 * _u2(data, position)
    if (_u2(data, position), _u2(data, position + 2)) != (0, 0):
        raise ValueError("it has fields or methods")
    attributes, position = _u2(data, position + 4), position + 6
    for _ in range(attributes):
        name, length = struct.unpack_from(">HI", data, position)
        if constants[name] == b"Module":
            _edit_requires(data, position + 6, constants, modules)
            return bytes(data)
        position += 6 + length
    raise ValueError("it has no Module attribute")


def _edit_requires(
    data: bytearray, position: int, constants: dict[int, bytes], modules: Collection[str]
) -> None:
    # The name, flags and version of the module come first.
    count, position = _u2(data, position + 6), position + 8
    for entry in range(position, position + 6 * count, 6):
        module, flags = struct.unpack_from(">HH", data, entry)
        name = constants[int.from_bytes(constants[module])].decode()
        if name in modules:
            struct.pack_into(">H", data, entry + 2, flags | _STATIC_PHASE)


def _read_constants(data: bytearray) -> tuple[dict[int, bytes], int]:
    """Returns the constants by their index, and the position after them."""
    count, position, index = _u2(data, _CONSTANT_COUNT_OFFSET), _CONSTANT_COUNT_OFFSET + 2, 1
    constants: dict[int, bytes] = {}
    while index < count:
        tag = data[position]
        start = position + 1
        if tag == _UTF8:
            size, start = _u2(data, start), start + 2
        else:
            size = _CONSTANT_SIZES[tag]
        constants[index] = bytes(data[start : start + size])
        position = start + size
        index += 2 if size == 8 and tag != _UTF8 else 1  # the numbers of 8 bytes
    return constants, position


def _u2(data: bytearray, position: int) -> int:
    value: int = struct.unpack_from(">H", data, position)[0]
    return value
