"""The official archive that an engine was installed from, as a race record stores it."""

from __future__ import annotations

from pacenote.model.codec import Stored


class EngineArchive(Stored, frozen=True):
    """An archive."""

    address: str
    """Where it comes from: the URL without credentials and query, or the path of the file."""
    sha512: str
    """Its SHA-512 checksum in hexadecimal form."""
    verified: bool
    """Whether a checksum that was beside the archive has confirmed it."""
