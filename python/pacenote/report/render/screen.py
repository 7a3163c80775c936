"""The last screen of a race for a terminal, in colour unless `NO_COLOR` is set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from pacenote.report.screen.layout import lay_out
from pacenote.report.screen.screen import Screen
from pacenote.report.screen.text import Line, Style

STYLES: Mapping[Style, str] = {
    "": "",
    "title": "bold",
    "quiet": "dim",
    "good": "bold green",
    "doubtful": "bold yellow",
    "bad": "bold red",
}
"""How styles of text are shown, in the terms of rich."""


def render_screen(screen: Screen, console: Console) -> None:
    """Prints the screen on `console`, for its width. Texts are not interpreted as markup."""
    console.print()
    # The blank line above and the next prompt take two lines of a terminal.
    height = console.height - 2 if console.is_terminal else None
    render_lines(lay_out(screen, console.width, height), console)


def render_lines(lines: Iterable[Line], console: Console) -> None:
    """Prints lines of a screen on `console`. Texts are not interpreted as markup."""
    for line in lines:
        text = Text.assemble(*((span.text, STYLES[span.style]) for span in line))
        text.rstrip()
        console.print(text, no_wrap=True, overflow="ignore", crop=False)
