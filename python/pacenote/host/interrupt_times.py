"""Whether the kernel counts the time of interrupts exactly, apart from that of the programs that they stop.

Without `CONFIG_IRQ_TIME_ACCOUNTING`, it looks at each tick what a CPU does: the tick of an interrupt is one
of `irq` or `softirq` in `/proc/stat`, and also one of the program that it stopped (`account_system_time` in
`kernel/sched/cputime.c`).
"""

from __future__ import annotations

import gzip
import platform
import zlib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from pacenote.host.facts import read_text

_OPTION = "CONFIG_IRQ_TIME_ACCOUNTING=y"
_ANY_OPTION = "CONFIG_"
_MAX_BYTES = 2 << 20
"""Size up to which options are read: those of a distribution have about 0.3 MB."""

_DISABLED = frozenset({"tsc=noirqtime", "tsc=unstable"})
"""Boot options of x86 that make a kernel with the option count at each tick nevertheless."""

_X86 = frozenset({"x86_64", "i386", "i486", "i586", "i686", "amd64"})
_WITHOUT_TSC = frozenset({"acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"})
"""Clock sources that an x86 kernel selects if its TSC is unstable, and then counts at each tick."""


class KernelFiles(Struct, frozen=True):
    """Where the kernel says how it counts."""

    proc: Path = Path("/proc")
    """Where the file system `proc` is mounted."""

    sys: Path = Path("/sys")
    """Where the file system `sys` is mounted."""

    root: Path = Path("/")
    """The folder with `boot` and `lib/modules`."""

    release: str = ""
    """Version of the kernel; empty for that of the running one."""

    machine: str = ""
    """Kind of processor; empty for that of the running kernel."""


def counts_interrupts_exactly(files: KernelFiles | None = None) -> bool | None:
    """Returns whether the running kernel counts them exactly, or None if its options cannot be read, as in
    most containers. Never raises.
    """
    files = files or KernelFiles()
    options = _options(files)
    if options is None:
        return None
    if _OPTION not in options:
        return False
    try:
        booted_with = set(read_text(files.proc / "cmdline").split())
    except OSError:
        return None
    if (files.machine or platform.machine()).lower() not in _X86:
        return True
    if booted_with & _DISABLED:
        return False
    try:
        clock = read_text(files.sys / "devices/system/clocksource/clocksource0/current_clocksource")
    except OSError:
        return None
    return None if clock in _WITHOUT_TSC else True


def _options(files: KernelFiles) -> frozenset[str] | None:
    """Returns the lines of the kernel's options, or None if no file has them."""
    for text in _texts(files):
        lines = frozenset(line.strip() for line in text.splitlines())
        if any(line.startswith(_ANY_OPTION) for line in lines):
            return lines
    return None


def _texts(files: KernelFiles) -> Iterable[str]:
    try:
        with gzip.open(files.proc / "config.gz") as packed:
            yield packed.read(_MAX_BYTES).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error):
        pass
    release = files.release or platform.release()
    for path in (files.root / f"boot/config-{release}", files.root / f"lib/modules/{release}/config"):
        try:
            yield read_text(path, _MAX_BYTES)
        except OSError:
            continue
