"""The last screen of a race for a terminal, in colour unless `NO_COLOR` is set."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from pacenote.report.screen.layout import lay_out
from pacenote.report.screen.screen import Screen
from pacenote.report.screen.text import Style

_STYLES: Mapping[Style, str] = {
    "": "",
    "title": "bold",
    "quiet": "dim",
    "good": "bold green",
    "doubtful": "bold yellow",
    "bad": "bold red",
}


def render_screen(screen: Screen, console: Console) -> None:
    """Prints the screen on `console`, for its width. Texts are not interpreted as markup."""
    console.print()
    for line in lay_out(screen, console.width):
        text = Text.assemble(*((span.text, _STYLES[span.style]) for span in line))
        text.rstrip()
        console.print(text, no_wrap=True, overflow="ignore", crop=False)
