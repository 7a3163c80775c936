"""Renews the pictures of the documentation: the page of a stored race, in a headless Chromium.

    python scripts/screenshots.py RACE [FOLDER]

Writes `race-page.png`, `race-page-dark.png` and `race-page-phone.png` to `docs/images`, or to another folder.
Their sizes are always the same.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from browser import Browser, Scheme, find_chromium

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"

MAX_BYTES = 150_000
"""The most bytes of a picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to take."""

    name: str
    """Name of the file."""

    width: int
    """Width in CSS pixels."""

    height: int
    """Height in CSS pixels."""

    scheme: Scheme = "light"
    """The colour scheme."""

    section: str = ""
    """Id of the section with which it begins; empty for the beginning of the page."""


PICTURES = (
    Picture("race-page.png", 1280, 800),
    Picture("race-page-dark.png", 1280, 1250, "dark", "timeline"),
    Picture("race-page-phone.png", 390, 1150),
)


def main() -> None:
    """Takes all pictures."""
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python scripts/screenshots.py RACE [FOLDER]")
    program = find_chromium()
    if program is None:
        sys.exit("Chromium is not installed")
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Browser(program) as browser:
        page = Path(temporary) / "page.html"
        command = [sys.executable, "-m", "pacenote", "report", sys.argv[1], f"--html={page}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for picture in PICTURES:
            browser.resize(picture.width, picture.height, scheme=picture.scheme)
            browser.open(page)
            if picture.section:
                browser.evaluate(f"document.getElementById('{picture.section}').scrollIntoView()")
            image = browser.screenshot()
            (folder / picture.name).write_bytes(image)
            if len(image) > MAX_BYTES:
                sys.exit(f"{picture.name} has {len(image):,} bytes, more than {MAX_BYTES:,}")


if __name__ == "__main__":
    main()
