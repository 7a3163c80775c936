"""Links that another user has put in a folder such as /tmp."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OTHER = 54321
"""The other user."""


def shared_folder(parent: Path) -> Path:
    """Creates a folder such as /tmp. Skips the test if it cannot give files in it to another user."""
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    folder = parent / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def planted_link(parent: Path) -> tuple[Path, Path]:
    """Creates a link of another user in a folder such as /tmp, and the folder that it leads to, in which only
    root may write. Returns both.
    """
    link, target = shared_folder(parent) / "link", parent / "private"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    os.lchown(link, OTHER, OTHER)
    return link, target
