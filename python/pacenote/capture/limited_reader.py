"""Reading documents within a time, whatever pages a server sends."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pacenote.capture.readers import DocumentReader, Page, ReadCursor
from pacenote.capture.sources import CaptureSource
from pacenote.capture.time_limits import PhaseLimit
from pacenote.errors import EngineError
from pacenote.units import format_seconds

READING_S = 24 * 3600.0
"""Seconds for the documents of all sources; if the engine has points in time, a later run continues."""

SLOW_READING_S = 600.0
"""Seconds for the documents of a source, besides one for each page and those for its bytes."""

MIN_BYTES_PER_S = 1000
"""Bytes of documents that must arrive per second, on average, after `SLOW_READING_S`."""


class LimitedReader:
    """A reader whose pages must arrive in time."""

    def __init__(self, reader: DocumentReader) -> None:
        """The time for all sources begins now."""
        self.resumable = reader.resumable
        self._reader = reader
        hint = "run the same command again to continue" if self.resumable else "capture fewer indices"
        self._limit = PhaseLimit("sent all documents", READING_S, hint)

    def pages(self, source: CaptureSource, cursor: ReadCursor) -> Iterator[Page]:
        """Yields the pages of the reader. Raises the same errors, and EngineError for a cluster that is too
        slow.
        """
        begin, size = time.monotonic(), 0
        for pages, page in enumerate(self._reader.pages(source, cursor), 1):
            # The caller writes the page before the time is checked, so that nothing that was read is lost.
            yield page
            size += sum(len(hit.source or b"") for hit in page.hits)
            allowed_s = SLOW_READING_S + pages + size / MIN_BYTES_PER_S
            if time.monotonic() - begin > allowed_s:
                raise EngineError(
                    f"the documents of '{source.name}' arrive too slowly: {size:,} bytes in "
                    f"{format_seconds(allowed_s)}",
                    hint="check --target-hosts, or read more documents per request: --batch-size",
                )
            self._limit.check()
