"""Renews the copy of uPlot that the pages of races contain: the pinned version, from the npm registry.

    python scripts/update_uplot.py

Needs npm. To change the version, change `VERSION` and `INTEGRITY`, which
`npm view uplot@VERSION dist.integrity` prints. The files are committed, so that building and
installing Pacenote does not need npm.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "1.6.32"
INTEGRITY = "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="

FOLDER = Path(__file__).resolve().parents[1] / "python" / "pacenote" / "report" / "render" / "uplot"
FILES = ("package/dist/uPlot.iife.min.js", "package/dist/uPlot.min.css", "package/LICENSE")
SUMS = "SHA256SUMS"


def main() -> None:
    """Downloads the package, verifies it, and replaces the files."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"uplot@{VERSION}", "--pack-destination", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        archive = Path(folder) / f"uplot-{VERSION}.tgz"
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != INTEGRITY:
            sys.exit(f"uplot {VERSION} has the checksum sha512-{digest}, not {INTEGRITY}")
        _replace(archive)


def _replace(archive: Path) -> None:
    FOLDER.mkdir(exist_ok=True)
    sums = [f"# uPlot {VERSION}, {INTEGRITY}"]
    with tarfile.open(archive) as package:
        for name in FILES:
            content = package.extractfile(name)
            assert content is not None, f"{name} is not a file"
            data, file = content.read(), FOLDER / Path(name).name
            file.write_bytes(data)
            sums.append(f"{hashlib.sha256(data).hexdigest()}  {file.name}")
    (FOLDER / SUMS).write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()
