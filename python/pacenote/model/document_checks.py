"""What is known about the documents of a race: those that the engine has, and those that were not sent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pacenote.model.codec import MAX_NAME, Integer, Name, Stored
from pacenote.model.finding import Cause
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import shortened
from pacenote.units import format_count

_MAX_LABEL = 300
"""Number of characters that the names of several indices may have together."""

_REST = re.compile(r" and (\d{1,9}) more$")
"""The end of a label that does not name all indices. Names of indices contain no spaces."""


def index_label(names: Sequence[str]) -> str:
    """Returns the label of indices whose documents are counted together: their names, or, if they are long,
    the first ones and the number of the others.
    """
    label = ",".join(names)
    if len(names) == 1 or len(label) <= _MAX_LABEL:
        return label
    named = 1
    while len(list_with_rest(names, named + 1)) <= _MAX_LABEL:
        named += 1
    return list_with_rest(names, named)


class DocumentCheck(Stored, frozen=True):
    """Comparison of an index's documents: acknowledged by the engine, and counted by it after the race."""

    index: str
    """The name of the index, or the label of several (`index_label`). Earlier versions wrote the names of
    all, so that it may be long: what repeats it uses `label`.
    """

    acknowledged: Integer | None
    """New documents that the engine acknowledged, or None if they cannot be attributed."""

    counted: Integer | None
    """Documents that the engine counted after the race, or None if they could not be counted."""

    difference_expected: str = ""
    """Why the two may differ, for example because the track updates documents; if empty, missing documents
    make the race void, and additional ones suspect.
    """

    count_problem: str = ""
    """Why the documents could not be counted; empty if they could, or if the index must not exist."""

    problem_cause: Cause = "engine"
    """What caused `count_problem`: the engine, or Pacenote with a limit or a defect of its own."""

    unknown: Integer = 0
    """Documents of bulks that have no reply, at most: the engine may have indexed each of them or not."""

    @property
    def label(self) -> str:
        """The name of the index or the label of several, in at most `MAX_NAME` characters."""
        if len(self.index) <= _MAX_LABEL:
            return self.index
        return shortened(index_label(self.index.split(",")), MAX_NAME)

    @property
    def names(self) -> tuple[str, ...]:
        """The indices that `index` names."""
        return tuple(name.strip() for name in _REST.sub("", self.index).split(","))

    @property
    def unnamed(self) -> int:
        """The number of further indices."""
        rest = _REST.search(self.index)
        return int(rest[1]) if rest else 0

    @property
    def is_unchecked(self) -> bool:
        """Whether the check of all indices failed, so that no index has a check of its own."""
        return self.acknowledged is None and self.counted is None and bool(self.count_problem)

    @property
    def is_missing_documents(self) -> bool:
        """Whether the engine counts fewer documents than it acknowledged, for no known reason."""
        return (
            not self.difference_expected
            and self.acknowledged is not None
            and self.counted is not None
            and self.counted < self.acknowledged
        )

    @property
    def has_additional_documents(self) -> bool:
        """Whether the engine counts more documents than it was sent and did not refuse, for no known
        reason.
        """
        return not self.difference_expected and self._is_above

    @property
    def differs(self) -> bool:
        """Whether the engine counts other documents than those that it acknowledged, and those of bulks
        that have no reply, explain.
        """
        if self.acknowledged is None or self.counted is None:
            return self.acknowledged != self.counted
        return self.counted < self.acknowledged or self._is_above

    @property
    def _is_above(self) -> bool:
        known = self.acknowledged is not None and self.counted is not None
        return known and (self.counted or 0) > (self.acknowledged or 0) + self.unknown


class UncheckedDocuments(Stored, frozen=True):
    """Documents that the engine acknowledged, but that were not compared with those that it counts."""

    task: Name
    """Name of the task that sent them."""

    acknowledged: Integer
    """Number of documents that the engine acknowledged."""

    reason: str
    """Why they cannot be compared."""


class UnsentDocuments(Stored, frozen=True):
    """A task that its iterations end before it has sent all documents of its operation."""

    task: Name
    """Name of the task."""

    sent: Integer
    """Documents that its iterations send; in an open loop, if its clients send their bulks in turns."""

    intended: Integer
    """Number of documents of its operation."""

    is_estimate: bool = False
    """Whether it depends on the engine how many documents are sent: in an open loop, clients share their
    iterations, and their bulks may differ in size.
    """

    @property
    def text(self) -> str:
        """What the task does, as a phrase that follows its name."""
        about = "about " if self.is_estimate else ""
        return (
            f"sends {about}{self.sent:,} of {format_count(self.intended, 'document')}, because its "
            "iterations end it; omit `iterations` to send all"
        )
