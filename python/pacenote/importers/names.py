"""Names and problems of figures in files of others, in a size that many figures can repeat."""

from __future__ import annotations

from functools import lru_cache

from pacenote.errors import PacenoteError
from pacenote.model.printable import encodable, shortened, whole_line
from pacenote.model.secrets import redact_value

MAX_FIGURES = 200_000
"""Number of figures that a document may have: 5,000 tasks have 75,000. Each is searched for secrets."""

MAX_NAME = 300
"""Number of characters of a name that are kept."""

_MAX_READ = 16 << 10
"""Number of characters of a name that are searched for secrets, of which none may be cut in two."""

_SHOWN_NAME = 80
"""Number of characters of a name that a problem shows."""


def public_name(text: str) -> str:
    """Returns a name from a file: one line of at most 300 characters, without secrets."""
    return _public(text[:_MAX_READ])


@lru_cache(maxsize=1024)
def _public(text: str) -> str:
    # Thousands of figures have the same task.
    return shortened(str(redact_value(whole_line(encodable(text)), ())), MAX_NAME)


class UnreadFigures:
    """What is said about figures that cannot be read, each sentence once."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, metric: str, task: str, reason: str, *, place: str = "") -> None:
        """Adds a figure; `place` is where in the file it is. Raises PacenoteError if there are too many."""
        of_task = f" of '{shortened(task, _SHOWN_NAME)}'" if task else ""
        self.add_text(f"{place}'{shortened(metric, _SHOWN_NAME)}'{of_task}: {reason}")

    def add_text(self, text: str) -> None:
        """Adds another problem. Raises PacenoteError if there are too many."""
        self._texts[whole_line(text)] = None
        if len(self._texts) > MAX_FIGURES:
            raise PacenoteError(f"it has more than {MAX_FIGURES:,} figures that cannot be read")

    def texts(self) -> tuple[str, ...]:
        """Returns the sentences in their order."""
        return tuple(self._texts)
