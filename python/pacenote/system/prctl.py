"""What a process can ask the kernel for itself (prctl(2))."""

from __future__ import annotations

import ctypes
import sys

PR_SET_PDEATHSIG = 1
"""The signal that the process gets when the thread that started it ends; a change of the user clears it."""

PR_SET_CHILD_SUBREAPER = 36
"""Whether the descendants of the process become its children when their parent ends."""


class PreparedCall:
    """A call of prctl whose function is looked up, so that it can be made between fork and exec."""

    def __init__(self) -> None:
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4

    def __call__(self, option: int, value: int) -> bool:
        """Sets an option, and returns whether that succeeded."""
        return bool(self._prctl(option, value, 0, 0, 0) == 0)


def prctl(option: int, value: int) -> bool:
    """Sets an option of this process, and returns whether that succeeded; not on other systems than Linux."""
    return sys.platform == "linux" and PreparedCall()(option, value)
