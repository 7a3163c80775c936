"""Files in `/proc` that are read from the memory of another process: `cmdline`, `environ` and `maps`.

Reading such a file waits for the lock of that memory, which the process can hold for ever, for example while
it maps a file whose file system does not reply. A thread that waits for the lock cannot be interrupted, but a
process can be killed, so a child process reads the file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

READ_LIMIT_S = 3.0
"""Seconds that a reading may take."""

_END_LIMIT_S = 1.0

_CODE = """
import sys
name, left = sys.argv[1], int(sys.argv[2])
try:
    with open(name, "rb", 0) as file:
        while left > 0 and (part := file.read(min(left, 1 << 20))):
            sys.stdout.buffer.write(part)
            left -= len(part)
except OSError as error:
    sys.stdout.flush()
    sys.exit(error.errno or 1)
"""


def read_process_memory(file: Path, max_bytes: int, timeout_s: float = READ_LIMIT_S) -> bytes:
    """Returns the beginning of a file, at most `max_bytes`. Raises OSError; TimeoutError if it is not read
    within the limit.
    """
    command = [sys.executable, "-I", "-S", "-c", _CODE, str(file), str(max_bytes)]
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, stderr=null)
    try:
        data, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        reason = f"the process does not let others read it within {timeout_s:g} s"
        raise TimeoutError(errno.ETIMEDOUT, reason, str(file)) from None
    finally:
        _end(process)
    if process.returncode:
        raise OSError(process.returncode, os.strerror(process.returncode), str(file))
    return data


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the child process and waits a moment for its end, which the kernel may delay."""
    process.kill()
    if process.stdout is not None:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_LIMIT_S)
