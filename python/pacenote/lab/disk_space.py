"""The free space on the disks that races write to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from pacenote.system.paths import exists
from pacenote.units import format_bytes

MIN_FREE_BYTES = 1 << 30
"""Free bytes on a disk below which no race begins."""


def missing_space(folders: Iterable[Path]) -> str:
    """Returns which disk has too little room for a race; empty if all have enough. A folder need not exist:
    then the one that it will be created in counts.
    """
    seen = set()
    for folder in folders:
        existing = next((one for one in (folder, *folder.absolute().parents) if exists(one)), Path("/"))
        try:
            device, free = existing.stat().st_dev, shutil.disk_usage(existing).free
        except OSError:
            continue
        if device not in seen and free < MIN_FREE_BYTES:
            return (
                f"the disk of {existing} has only {format_bytes(free)} free, and a race needs at least "
                f"{format_bytes(MIN_FREE_BYTES)}"
            )
        seen.add(device)
    return ""
