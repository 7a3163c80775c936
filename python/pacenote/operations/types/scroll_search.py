"""`scroll-search`: a search whose pages are fetched by scrolling; the scroll is deleted at the end.

Hits are sorted by `_doc`, and the scroll is kept for 10 s between pages. A page that is not full is the last
one.
"""

from __future__ import annotations

from pacenote.operations.assertions import SEARCH_PROPERTIES
from pacenote.operations.base import OperationType
from pacenote.operations.search_requests import PAGES_UNIT, compile_scroll

OPERATION = OperationType(
    name="scroll-search", compile=compile_scroll, unit=PAGES_UNIT, assertable=SEARCH_PROPERTIES, searches=True
)
