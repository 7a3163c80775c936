"""Plain-text tables and JSON for lists."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pacenote.model.printable import single_line


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table with a header line, without the control characters that track files may contain."""
    cells = [list(headers), *([single_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(headers))]
    cells.insert(1, ["-" * width for width in widths])
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in cells)


def json_text(value: object) -> str:
    """Returns indented JSON that ends in a newline."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
