"""Tables of plain text, for what is listed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pacenote.model.printable import single_line


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their headers; texts may come from anybody's files, so they are cleaned."""
    cells = [list(headers), *([single_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(headers))]
    cells.insert(1, ["-" * width for width in widths])
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in cells)


def json_text(value: object) -> str:
    """JSON for people and programs."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
