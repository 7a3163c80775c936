"""Names and labels of telemetry without secrets, which an engine may repeat in names of nodes."""

from __future__ import annotations

from collections.abc import Collection

from pacenote.model.secrets import redact

_MAX_TEXTS = 100_000
"""Names and labels that are kept, at most."""


class PublicNames:
    """Removes secrets from texts. Those that become equal are numbered, because series with equal names and
    labels would become one.

    Only of the first 100,000 texts it is known which have become equal.
    """

    def __init__(self, secrets: Collection[str]) -> None:
        self._secrets = secrets
        self._public: dict[str, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> str:
        """Returns a text without secrets. Each is searched once: all samples have the same ones."""
        if not self._secrets:
            return text
        if (public := self._public.get(text)) is None:
            public = redact(text, self._secrets)
            if len(self._public) < _MAX_TEXTS:
                self._public[text] = public = self._unique(public)
                self._taken.add(public)
        return public

    def _unique(self, text: str) -> str:
        """Returns the text, with the next free number if it is taken."""
        number, unique = self._numbers.get(text, 1), text
        while unique in self._taken:
            number += 1
            unique = f"{text} #{number}"
        # Beginning with the last number, a thousand equal names are numbered in a thousand steps.
        self._numbers[text] = number
        return unique
