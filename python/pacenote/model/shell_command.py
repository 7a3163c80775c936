"""Commands that the user may copy into a shell. They are built only here.

Names come from servers, files and races of others, and what is printed is searched for secrets afterwards. A
secret that is replaced within quotation marks could take one of them away, so that the shell would run what
follows. So each argument is searched before it is quoted, and then so that a search of the line changes
nothing. What a shell obeys has a backslash, not only quotation marks around it, because what is before the
command could seem to be the beginning of a secret.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from pacenote.model.printable import printable
from pacenote.model.secrets import REDACTED, redact, redact_urls

NAME = "pacenote"
"""The name of this program."""

COMMAND_MARKS = ("`", ": ")
"""What is before a command in a message."""

UNKNOWN = "…"
"""Stands for an argument that cannot be shown so that a shell reads it; the command then has to be completed.
"""

_MAX_CHARS = 3000
"""Characters of a command in a message, from whose lines the console removes the middle if they are long."""

_MAX_LONG_WORD = 200
"""Characters of an argument in a longer one."""

_OBEYED = frozenset("'\\;&|<>()$`!")
"""What a shell obeys where no quotation marks are around it, apart from patterns and blanks."""

_ESCAPED = re.compile(r"[^\w@+./-]|(?<=:)/")
"""What gets a backslash: also signs between names and values, in which secrets are found."""


def shell_command(*arguments: str) -> str:
    """Returns a command for a message, as a shell reads it, without secrets. Arguments that are too long, or
    that cannot be shown, are `UNKNOWN`.
    """
    words = shell_words(arguments)
    if sum(map(len, words)) + len(words) <= _MAX_CHARS:
        return " ".join(words)
    shown, length = list[str](), 0
    for word in words:
        short = word if len(word) <= _MAX_LONG_WORD else UNKNOWN
        length += len(short) + 1
        if length > _MAX_CHARS:
            return " ".join((*shown, UNKNOWN))
        shown.append(short)
    return " ".join(shown)


def shell_words(arguments: Iterable[str]) -> list[str]:
    """Returns arguments as a shell reads them, of any length, without secrets. Those that have characters
    that are not shown are `UNKNOWN`.
    """
    public = [redact_urls(redact(argument, ())) for argument in arguments]
    words = [_quoted(text) for text in public]
    if _is_kept(" ".join(words)):
        return words
    # One argument is the name of a secret, or the beginning of its value, and the next one follows it.
    words = [_escaped(text) for text in public]
    for number in range(1, len(words)):
        if not _is_kept(" ".join(words[: number + 1])):
            words[number] = UNKNOWN
    return words


def _quoted(text: str) -> str:
    if not _is_shown(text):
        return UNKNOWN
    quoted = shlex.quote(text)
    is_harmless = _OBEYED.isdisjoint(text.replace(REDACTED, ""))
    return quoted if is_harmless and _is_kept(quoted) else _escaped(text)


def _escaped(text: str) -> str:
    if not _is_shown(text):
        return UNKNOWN
    return _ESCAPED.sub(r"\\\g<0>", text) or "''"


def _is_shown(text: str) -> bool:
    """Returns whether all output shows a text as it is."""
    return printable(text) == text


def _is_kept(text: str) -> bool:
    """Returns whether a text stays as it is when secrets are removed, and commands get the program's path."""
    if any(f"{mark}{NAME} " in text for mark in COMMAND_MARKS):
        return False
    return redact_urls(redact(text, ())) == text
