"""Selects the branch of a repository for an engine by Rally's rule, which considers only names."""

from __future__ import annotations

import re
from collections.abc import Collection

from pacenote.model.engine import SERVERLESS

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-(.+))?")
_BRANCH = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?")
_MAJOR = re.compile(r"(\d{1,9})(?:\..*)?")
_NEWEST = ("master", "main")


def best_branch(branches: Collection[str], version: str) -> str | None:
    """Returns the branch for an engine version, or None if no branch fits or the version is malformed.

    The branch is the first that exists: that of exactly this version, with or without its suffix; of the
    nearest minor version that is not newer; of the major version. Without a version, or for one that is newer
    than every branch, it is `master`, or `main` if there is no `master`.
    """
    if not version or version == SERVERLESS:
        return _newest(branches)
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    for exact in version_variants(version)[:-2]:
        if exact in branches:
            return exact
    numbered = [branch for name in branches if (branch := _BRANCH.fullmatch(name))]
    minors = [int(branch[2]) for branch in numbered if int(branch[1]) == major and branch[2] is not None]
    if older := [minor_version for minor_version in minors if minor_version <= minor]:
        return f"{major}.{max(older)}"
    if str(major) in branches:
        return str(major)
    newest = max((int(branch[1]) for name in branches if (branch := _MAJOR.fullmatch(name))), default=-1)
    return _newest(branches) if major > newest else None


def version_variants(version: str) -> tuple[str, ...]:
    """Returns a version from its most to its least exact form: `8.1.2-SNAPSHOT`, `8.1.2`, `8.1`, `8`."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return ()
    major, minor, patch = (str(int(part)) for part in match.group(1, 2, 3))
    plain = f"{major}.{minor}.{patch}"
    suffixed = (f"{plain}-{match[4]}",) if match[4] else ()
    return (*suffixed, plain, f"{major}.{minor}", major)


def _newest(branches: Collection[str]) -> str | None:
    return next((name for name in _NEWEST if name in branches), None)
