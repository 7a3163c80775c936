"""Names and labels of telemetry without secrets, which an engine may repeat in names of nodes."""

from __future__ import annotations

from collections.abc import Collection

from pacenote.model.secrets import redact
from pacenote.model.unique_names import UniqueNames

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
        self._names = UniqueNames()

    def of(self, text: str) -> str:
        """Returns a text without secrets. Each is searched once: all samples have the same ones."""
        if not self._secrets:
            return text
        if (public := self._public.get(text)) is None:
            public = redact(text, self._secrets)
            if len(self._public) < _MAX_TEXTS:
                self._public[text] = public = self._names.add(public)
        return public
