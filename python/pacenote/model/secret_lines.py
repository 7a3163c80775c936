"""Removes secrets from the lines of large texts: most lines have nothing that a secret could be in.

`redact` and `redact_urls` search a text with expressions that visit each of its characters several times. All
that they replace has a mark: a form of a secret, a part of the name of a secret, or a sign of a URL. Only the
lines with a mark are decoded and searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from pacenote.model.secret_forms import ELLIPSES, secret_forms
from pacenote.model.secrets import NAME_PARTS, SCHEMES, redact, redact_urls
from pacenote.model.text_search import TextSearch

_OTHER_CASES = ("\u0130", "\u0131", "\u017f", "\u212a")
"""Letters beyond ASCII that an expression that ignores case takes for letters of ASCII."""

_QUERY = ("?code", "&code")
"""A parameter of a URL that is secret without a name that says so; for others, see `NAME_PARTS`."""


class RedactedText(Struct, frozen=True):
    """A text without secrets."""

    data: bytes
    """The text."""
    searched: int
    """What the search has cost, in bytes of lines that were searched; a line costs `LINE_COST` more."""


LINE_COST = 64
"""Bytes that can be searched in the time that each line takes."""


class SecretLines:
    """Redacts secrets in the lines of a text in UTF-8; other bytes stay as they are."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._secrets = frozenset(secrets)
        forms = secret_forms(self._secrets).search.texts if secrets else ()
        marks = {*NAME_PARTS, *SCHEMES, *_OTHER_CASES, *_QUERY, "://"}
        self._marks = _shortest(_encoded(marks))
        # A line has no form of several lines, but those of the lines of such a secret.
        self._forms = TextSearch(form for form in _encoded(forms) if b"\n" not in form)
        self._ellipses = _encoded(ELLIPSES)

    def redact(self, text: bytes) -> RedactedText:
        """Returns whole lines, or a part of one, without secrets."""
        parts, end, searched = list[bytes](), 0, 0
        for start, stop in sorted(self._lines(text).items()):
            line = text[start:stop].decode("utf-8", "surrogateescape")
            hidden = redact_urls(redact(line, self._secrets))
            parts += (text[end:start], hidden.encode("utf-8", "surrogateescape"))
            end, searched = stop, searched + LINE_COST + stop - start
        return RedactedText(b"".join([*parts, text[end:]]) if parts else text, searched)

    def _lines(self, text: bytes) -> dict[int, int]:
        """Returns the beginnings and ends of the lines that may contain a secret."""
        lines = dict[int, int]()
        lower = text.lower()
        for mark in self._marks:
            _add_lines(text, lower, mark, lines)
        position = self._forms.find(text)
        while position >= 0:
            position = self._forms.find(text, _add_line(text, position, lines))
        # The beginning of a secret is redacted before an ellipsis.
        shortened = dict[int, int]()
        beginnings = self._forms.beginnings
        if beginnings is None or beginnings.search(text) is None:
            return lines
        for ellipsis in self._ellipses:
            _add_lines(text, text, ellipsis, shortened)
        for start, stop in shortened.items():
            if start not in lines and beginnings.search(text, start, stop):
                lines[start] = stop
        return lines


def _add_lines(text: bytes, searched: bytes, mark: bytes, lines: dict[int, int]) -> None:
    """Adds the lines of a text with a mark; `searched` is the text, perhaps in lower case."""
    position = searched.find(mark)
    while position >= 0:
        position = searched.find(mark, _add_line(text, position, lines))


def _add_line(text: bytes, position: int, lines: dict[int, int]) -> int:
    """Adds the line at a position, and returns its end."""
    stop = text.find(b"\n", position) + 1 or len(text)
    lines[text.rfind(b"\n", 0, position) + 1] = stop
    return stop


def _encoded(texts: Iterable[str]) -> tuple[bytes, ...]:
    """Returns texts as a file contains them; without those that cannot be in one."""
    encoded = set[bytes]()
    for text in texts:
        try:
            encoded.add(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            continue
    return tuple(encoded)


def _shortest(texts: Collection[bytes]) -> tuple[bytes, ...]:
    """Returns the texts that contain none of the others: where one is not, those that contain it are not."""
    shortest = list[bytes]()
    for text in sorted(texts, key=len):
        if not any(other in text for other in shortest):
            shortest.append(text)
    return tuple(shortest)
