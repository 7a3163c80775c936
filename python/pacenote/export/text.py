"""How exports show names."""

from __future__ import annotations


def visible(text: str) -> str:
    """Returns the text with an escape, such as `\\u001b`, in place of each character that is not printable:
    controls, line breaks, marks of writing direction. A terminal or another program would obey them.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    """Returns the escape of a character as in JSON."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
