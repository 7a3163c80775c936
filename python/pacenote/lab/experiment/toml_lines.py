"""The lines on which the keys of a TOML document stand; Python's reader does not report them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pacenote.model.decoding import parse_toml

KeyNames = tuple[str, ...]
"""The names that lead to a value, from the outermost table."""

_TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<string> \"\"\"(?:\\.|[^\\])*?\"\"\" | '''.*?''' | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<newline> \n )
    | (?P<equals> = )
    | (?P<other> [^\#"'\[\]{}=\n]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def key_lines(text: str) -> Mapping[KeyNames, int]:
    """Returns the line on which each table and key of a valid document first appears.

    Keys of inline tables are not included.
    """
    lines: dict[KeyNames, int] = {}
    table: KeyNames = ()
    for line, statement, key in _statements(text):
        names = (*table, *_names(f"{key} = 0")) if key else _names(statement)
        table = table if key else names
        for end in range(1, len(names) + 1):
            lines.setdefault(names[:end], line)
    return lines


def line_of(lines: Mapping[KeyNames, int], names: KeyNames) -> int:
    """Returns the line of a key, or of the innermost table around it that has a line of its own."""
    return next((lines[names[:end]] for end in range(len(names), 0, -1) if names[:end] in lines), 0)


def without_tables(text: str, removed: Sequence[str]) -> str:
    """Returns a valid document without these tables and keys of its outermost level.

    The comments above a removed statement stay; those after it, up to the next statement, go with it.
    """
    lines = text.splitlines(keepends=True)
    starts: list[tuple[int, bool]] = []
    table: KeyNames = ()
    for line, statement, key in _statements(text):
        names = (*table, *_names(f"{key} = 0")) if key else _names(statement)
        table = table if key else names
        starts.append((line, names[0] in removed))
    if not starts:
        return text
    kept = lines[: starts[0][0] - 1]
    for (first, is_removed), (after, _) in zip(starts, [*starts[1:], (len(lines) + 1, False)], strict=True):
        kept += [] if is_removed else lines[first - 1 : after - 1]
    return "".join(kept)


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields each statement with its first line and the key to the left of `=`; the key of a table header is
    empty.
    """
    line, start, depth, statement, key = 1, 1, 0, "", ""
    for token in _TOKEN.finditer(text):
        kind, part = token.lastgroup, token.group()
        if kind == "newline" and depth == 0:
            if statement.strip():
                yield start, statement, key
            statement, key = "", ""
        elif kind != "comment":
            start = start if statement.strip() else line
            if kind == "equals" and depth == 0 and not key:
                key = statement
            depth += {"open": 1, "close": -1}.get(kind or "", 0)
            statement += part
        line += part.count("\n")
    if statement.strip():
        yield start, statement, key


def _names(statement: str) -> KeyNames:
    """Returns the names in a table header, or in a statement with one dotted key."""
    names: list[str] = []
    value: object = parse_toml(statement)
    while value:
        value = value[0] if isinstance(value, list) else value
        if not isinstance(value, dict) or not value:
            break
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)
