"""Modules of Java that a trimmed runtime lacks become optional in a module descriptor."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from pacenote.provision.java_module_descriptor import copy_with_optional_modules, with_optional_modules
from pacenote.provision.zip_files import DamagedZip

MANDATED, STATIC = 0x8000, 0x40


def utf8(text: str) -> bytes:
    return b"\1" + struct.pack(">H", len(text)) + text.encode()


def descriptor(flags: dict[str, int]) -> bytes:
    """Returns the class file of a module `m` that requires modules with these flags, as a compiler writes it.

    A number of 8 bytes, which takes two entries of the table of constants, comes before the modules.
    """
    constants = [utf8("module-info"), b"\7\0\1", utf8("Module"), utf8("m"), b"\x13\0\4", b"\5" + bytes(8)]
    entries = []
    index = 8
    for name, flag in flags.items():
        constants += [utf8(name), b"\x13" + struct.pack(">H", index)]
        entries.append(struct.pack(">HHH", index + 1, flag, 0))
        index += 2
    attribute = struct.pack(">HHH", 5, 0, 0) + struct.pack(">H", len(entries)) + b"".join(entries) + bytes(8)
    head = b"\xca\xfe\xba\xbe\0\0\0\x3d" + struct.pack(">H", index) + b"".join(constants)
    # Access flags, this class, no superclass, interfaces, fields and methods, and one attribute.
    head += struct.pack(">HHHHHHH", MANDATED, 2, 0, 0, 0, 0, 1)
    return head + struct.pack(">HI", 3, len(attribute)) + attribute


def test_only_the_named_modules_become_optional() -> None:
    before = {"java.base": MANDATED, "jdk.jlink": 0, "jdk.jdi": 0x20}
    after = {**before, "jdk.jlink": STATIC, "jdk.jdi": 0x20 | STATIC}
    assert with_optional_modules(descriptor(before), ("jdk.jlink", "jdk.jdi")) == descriptor(after)
    assert with_optional_modules(descriptor(before), ()) == descriptor(before)


@pytest.mark.parametrize("data", [b"", b"\xca\xfe\xba\xbe", descriptor({"java.base": 0})[:60]])
def test_what_is_not_a_module_descriptor_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="module descriptor cannot be read"):
        with_optional_modules(data, ("jdk.jdi",))


def test_the_other_files_of_the_jar_are_copied(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("module-info.class", descriptor({"jdk.jdi": 0}))
        jar.writestr("a/B.class", b"code")
    copy_with_optional_modules(tmp_path / "a.jar", tmp_path / "b.jar", ("jdk.jdi",))
    with zipfile.ZipFile(tmp_path / "b.jar") as jar:
        assert jar.read("a/B.class") == b"code"
        assert jar.read("module-info.class") == descriptor({"jdk.jdi": STATIC})
    with zipfile.ZipFile(tmp_path / "c.jar", "w") as jar:
        jar.writestr("a/B.class", b"code")
    with pytest.raises(DamagedZip, match=r"c\.jar has no module-info\.class"):
        copy_with_optional_modules(tmp_path / "c.jar", tmp_path / "d.jar", ("jdk.jdi",))
