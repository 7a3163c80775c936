"""Measures the speed at which documents are generated."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from machine import PACENOTE, run
from outcome import Figure, Options, Outcome, Target

_RAM = Path("/dev/shm")
_LIMIT = 300.0
_BYTES_EACH = 400
"""Upper estimate of a document's size in bytes, to check whether all documents fit on the RAM disk."""


def measure(options: Options) -> Outcome:
    """Measures output per second of CPU time, including startup, and per second of wall time."""
    documents = options.choose(3_000_000, 1_000_000)
    in_ram = _RAM.is_dir() and shutil.disk_usage(_RAM).free > documents * _BYTES_EACH
    per_cpu, per_wall = [], []
    for _ in range(options.choose(8, 2)):
        with tempfile.TemporaryDirectory(prefix="pacenote-bench-", dir=_RAM if in_ram else None) as name:
            command = [PACENOTE, "generate", "http_logs", f"--docs={documents}", f"--output-path={name}"]
            done = run([*command, "--quiet"])
            files = json.loads((Path(name) / "generated.json").read_text())["files"]
            # The sizes on disk, not those that the command reports.
            megabytes = sum((Path(name) / file["name"]).stat().st_size for file in files) / 1e6
        per_cpu.append(megabytes / done.cpu_s)
        per_wall.append(megabytes / done.wall_s)
    rate = Figure("output per CPU second", "MB/s", tuple(per_cpu))
    where = "a RAM disk" if in_ram else "the disk (the RAM disk was too small)"
    return Outcome(
        figures=(rate, Figure("output per wall second", "MB/s", tuple(per_wall))),
        targets=(Target(rate, _LIMIT, at_most=False),),
        notes=(f"{documents:,} documents of http_logs, {megabytes:,.0f} MB, written to {where}",),
    )
