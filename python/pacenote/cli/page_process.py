"""The process in which `pacenote serve` makes the pages that `--html` of other commands writes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacenote.serve.page_process import answer_requests
from pacenote.store.race_store import RaceStore


def main() -> None:
    """Makes pages until the server ends."""
    answer_requests(_page)


def _page(request: Mapping[str, Any]) -> str:
    """Returns a page as HTML. Raises PacenoteError."""
    # Pages have commands that can be entered as the server was started.
    sys.argv[0] = request["program"]
    store = RaceStore(Path(request["home"]))
    if request["kind"] == "comparison":
        from pacenote.cli.compare import comparison_page

        return comparison_page(store, request["baseline"], request["contender"])
    (race_id,) = request["contender"]
    if request["kind"] == "trend":
        from pacenote.cli.trend import trend_page

        return trend_page(store, race_id)
    from pacenote.cli.output.race_page import page_text

    folder = store.exact_folder(race_id)
    return page_text(folder.read(), folder, None, is_running=folder.is_in_use())


if __name__ == "__main__":
    main()
