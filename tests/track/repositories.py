"""Helpers that change git repositories of tracks."""

from __future__ import annotations

import json
from pathlib import Path

from pacenote.repository.git import git
from track.builders import document

AUTHOR = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
"""Options of git with which a commit can be created on any machine."""


def commit(root: Path, name: str = "books", **changes: object) -> str:
    """Writes a track into a repository and commits it; returns the revision."""
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "track.json").write_text(json.dumps(document(**changes)))
    git("add", "--all", at=root)
    git(*AUTHOR, "commit", "--quiet", "--message=change", at=root)
    return git("rev-parse", "HEAD", at=root)
