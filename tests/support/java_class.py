"""A class file that allocates, so that a test needs no Java compiler."""

from __future__ import annotations

import struct

_VERSION = 49
"""Java 5, the last version whose verifier needs no stack maps."""

NAME = "Churn"
"""The name of the class."""


class _Constants:
    """The constant pool."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []

    def add(self, entry: bytes) -> int:
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1

    def text(self, value: str) -> int:
        return self.add(struct.pack(">BH", 1, len(value)) + value.encode())

    def class_(self, name: str) -> int:
        return self.add(struct.pack(">BH", 7, self.text(name)))

    def integer(self, value: int) -> int:
        return self.add(struct.pack(">Bi", 3, value))

    def method(self, owner: str, name: str, kind: str) -> int:
        described = self.add(struct.pack(">BHH", 12, self.text(name), self.text(kind)))
        return self.add(struct.pack(">BHH", 10, self.class_(owner), described))


def _main(constants: _Constants, arrays: int) -> bytes:
    """Returns the code of `main`.

    Object[] live = new Object[4096];
    for (int i = 0; i < arrays; i++) {
        byte[] array = new byte[256 + (i & 4095)];
        if ((i & 15) == 0) live[(i >> 4) & 4095] = array;
        if ((i & 262143) == 131072) System.gc();
    }
    System.gc();
    """
    collect = constants.method("java/lang/System", "gc", "()V")
    ends, masks, at = (constants.integer(value) for value in (arrays, 262143, 131072))
    code = bytes((0x11, 0x10, 0x00, 0xBD)) + struct.pack(">H", constants.class_("java/lang/Object"))  # sipush
    code += bytes((0x4C, 0x03, 0x3D))  # astore_1, iconst_0, istore_2
    loop = len(code)
    code += bytes((0x1C, 0x13)) + struct.pack(">H", ends)  # iload_2, ldc_w
    leave = len(code)
    code += bytes((0xA2, 0, 0))  # if_icmpge end
    code += bytes((
        0x11,
        0x01,
        0x00,
        0x1C,
        0x11,
        0x0F,
        0xFF,
        0x7E,
        0x60,
        0xBC,
        8,
        0x4E,
    ))  # array = new byte[…]
    code += bytes((0x1C, 0x10, 15, 0x7E, 0x9A, 0, 13))  # (i & 15) != 0: skips the ten bytes that follow
    code += bytes((0x2B, 0x1C, 0x07, 0x7A, 0x11, 0x0F, 0xFF, 0x7E, 0x2D, 0x53))  # live[…] = array
    code += bytes((0x1C, 0x13)) + struct.pack(">H", masks) + bytes((0x7E, 0x13)) + struct.pack(">H", at)
    code += bytes((0xA0, 0, 6, 0xB8)) + struct.pack(">H", collect)  # if_icmpne skips the call
    code += bytes((0x84, 2, 1))  # i++
    code += bytes((0xA7,)) + struct.pack(">h", loop - len(code))  # goto
    code = code[: leave + 1] + struct.pack(">h", len(code) - leave) + code[leave + 3 :]
    return code + bytes((0xB8,)) + struct.pack(">H", collect) + bytes((0xB1,))  # the last collection, return


def churn_class(arrays: int) -> bytes:
    """Returns the class file of a program that allocates so many arrays of about 2 KiB and keeps 4,096.

    It requests a collection for every 262,144th array, and at its end.
    """
    constants = _Constants()
    code = _main(constants, arrays)
    this, parent = constants.class_(NAME), constants.class_("java/lang/Object")
    main, kind, attribute = (constants.text(each) for each in ("main", "([Ljava/lang/String;)V", "Code"))
    body = struct.pack(">HHI", 4, 4, len(code)) + code + struct.pack(">HH", 0, 0)
    method = struct.pack(">HHHH", 9, main, kind, 1) + struct.pack(">HI", attribute, len(body)) + body
    pool = struct.pack(">H", len(constants.entries) + 1) + b"".join(constants.entries)
    head = struct.pack(">IHH", 0xCAFEBABE, 0, _VERSION)
    return head + pool + struct.pack(">HHHHHH", 0x21, this, parent, 0, 0, 1) + method + struct.pack(">H", 0)
