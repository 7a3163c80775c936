"""Whether a kernel counts interrupts exactly follows from its options, and is unknown without them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pacenote.host.interrupt_times import KernelFiles, counts_interrupts_exactly

EXACT = "CONFIG_HZ=250\nCONFIG_IRQ_TIME_ACCOUNTING=y\n"
INEXACT = "CONFIG_HZ=250\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n"


def kernel(
    root: Path, clock: str = "tsc", command_line: str = "quiet", machine: str = "x86_64"
) -> KernelFiles:
    """Writes the files of a kernel without options."""
    sources = root / "sys/devices/system/clocksource/clocksource0"
    sources.mkdir(parents=True)
    (sources / "current_clocksource").write_text(f"{clock}\n")
    (root / "proc").mkdir()
    (root / "proc/cmdline").write_text(f"{command_line}\n")
    return KernelFiles(root / "proc", root / "sys", root, "6.1.0-test", machine)


def with_options(files: KernelFiles, options: str, where: str = "proc/config.gz") -> KernelFiles:
    path = files.root / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(options.encode()) if where.endswith(".gz") else options.encode())
    return files


@pytest.mark.parametrize(
    "where", ["proc/config.gz", "boot/config-6.1.0-test", "lib/modules/6.1.0-test/config"]
)
def test_the_options_of_the_kernel_say_it(tmp_path: Path, where: str) -> None:
    files = kernel(tmp_path)
    assert counts_interrupts_exactly(with_options(files, EXACT, where)) is True
    assert counts_interrupts_exactly(with_options(files, INEXACT, where)) is False


def test_without_options_it_is_unknown(tmp_path: Path) -> None:
    files = kernel(tmp_path)
    assert counts_interrupts_exactly(files) is None
    # Those of another kernel say nothing, nor does an empty or damaged file.
    with_options(files, EXACT, "boot/config-5.0.0")
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(EXACT.encode())[:20])
    assert counts_interrupts_exactly(files) is None
    with_options(files, "", "boot/config-6.1.0-test")
    assert counts_interrupts_exactly(files) is None


@pytest.mark.parametrize(
    ("kind", "exact"),
    [
        ({"clock": "kvm-clock"}, True),
        ({"command_line": "quiet tsc=noirqtime"}, False),
        ({"command_line": "tsc=unstable", "clock": "hpet"}, False),
        ({"clock": "hpet"}, None),
        ({"clock": "jiffies", "machine": "aarch64"}, True),
    ],
)
def test_an_x86_kernel_may_have_disabled_it(tmp_path: Path, kind: dict[str, str], exact: bool | None) -> None:
    files = kernel(tmp_path, **kind)
    assert counts_interrupts_exactly(with_options(files, EXACT)) is exact
