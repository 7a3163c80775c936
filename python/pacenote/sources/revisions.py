"""The value of `--revision`: one revision, or one for each component."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from pacenote.errors import UsageError
from pacenote.model.source_options import CURRENT, LATEST

ALL = ""
"""The component of a revision without a name: the engine, and plugins of repositories of their own."""

_EXAMPLES = "latest, current, a commit, a tag, a branch, @2026-01-31T12:00:00Z or BRANCH@2026-01-31"
_HASH = re.compile(r"[0-9a-f]{7,40}")
_DAY = r"\d{4}-\d{2}-\d{2}"
_MOMENT = re.compile(rf"{_DAY}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}})?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?")
# Git would take a name that begins with a dash for an option.
_NAME = re.compile(r"[\w.][\w./+-]*")


class Revision(Struct, frozen=True):
    """One revision of a repository."""

    name: str = CURRENT
    """`current`, `latest`, or the name of a commit, a tag or a branch; with a moment, the name of a branch,
    or empty for the main branch.
    """
    moment: str = ""
    """The last commit before this moment is meant; empty for the newest one."""

    @property
    def is_current(self) -> bool:
        """Whether the sources are used as they are."""
        return self.name == CURRENT and not self.moment

    @property
    def is_latest(self) -> bool:
        """Whether it is a commit of the main branch."""
        return self.name == LATEST or (bool(self.moment) and not self.name)

    @property
    def is_commit(self) -> bool:
        """Whether it can be the name of a commit, of which there is only one."""
        return not self.moment and _HASH.fullmatch(self.name) is not None

    def __str__(self) -> str:
        return f"{self.name}@{self.moment}" if self.moment else self.name


def parse_revisions(text: str) -> Mapping[str, Revision]:
    """Returns the revisions of `--revision` by component; `ALL` is the one without a name.

    Raises UsageError.
    """
    parts = [part.strip() for part in text.split(",")]
    revisions = dict(_component(part, text) for part in parts)
    if len(parts) > 1 and (ALL in revisions or len(revisions) < len(parts)):
        raise UsageError(
            f"--revision={text} must name each component once",
            hint="for example --revision=elasticsearch:latest,my-plugin:v1.2",
        )
    return revisions


def revision_of(revisions: Mapping[str, Revision], engine: str) -> Revision:
    """Returns the revision of an engine. Raises UsageError if only those of other components are given."""
    if engine in revisions:
        return revisions[engine]
    if ALL in revisions:
        return revisions[ALL]
    raise UsageError(
        f"--revision names no revision of {engine}, only of {', '.join(revisions)}",
        hint=f"add {engine}:REVISION",
    )


def plugin_revision(revisions: Mapping[str, Revision], plugin: str) -> Revision:
    """Returns the revision of a plugin with a repository of its own.

    A commit of the engine is not one of the plugin, as in Rally. Raises UsageError if none is given.
    """
    revision = revisions.get(plugin, revisions.get(ALL))
    if revision is None or (plugin not in revisions and revision.is_commit):
        raise UsageError(
            f"--revision names no revision of plugin {plugin}", hint=f"add {plugin}:REVISION, or use latest"
        )
    return revision


def _component(part: str, whole: str) -> tuple[str, Revision]:
    """Returns `component:revision`; a colon after an @ belongs to the time."""
    before, at, moment = part.partition("@")
    component, colon, name = before.rpartition(":")
    if colon and not _NAME.fullmatch(component):
        raise _invalid(whole)
    if at:
        if not _MOMENT.fullmatch(moment) or (name and not _NAME.fullmatch(name)):
            raise _invalid(whole)
        return component, Revision(name, moment)
    if not _NAME.fullmatch(name):
        raise _invalid(whole)
    return component, Revision(name)


def _invalid(text: str) -> UsageError:
    return UsageError(f"--revision cannot be '{text}'", hint=f"use {_EXAMPLES}")
