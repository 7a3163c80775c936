"""What a race record says about the sources of an engine."""

from __future__ import annotations

from pacenote.model.codec import Stored


class RecordedSources(Stored, frozen=True):
    """The sources that Pacenote built an engine from."""

    origin: str
    """The folder or the URL of the sources, without credentials."""

    revision: str | None
    """The commit; None for sources without git."""

    local_changes: bool | None
    """Whether the sources differ from the commit; None for sources without git."""

    command: str
    """The command of the build."""
