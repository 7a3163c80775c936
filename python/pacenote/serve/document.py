"""The frame of the server's own pages, and the policy that the browser applies to them."""

from __future__ import annotations

import html
from functools import cache
from importlib.resources import files

from msgspec import Struct

from pacenote.report.render.html import escaped, shown, source_hash

REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""The policy for stored pages, in addition to that which they contain. They may come from other people, so
they are not trusted like pages of this server, and load nothing.
"""

FILE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""The policy for all other files."""


class OwnPage(Struct, frozen=True):
    """A page of the server."""

    title: str
    """Title, not escaped."""

    body: str
    """What the body contains, escaped."""

    script: str = ""
    """Name of the file with its script, or empty."""

    refresh_s: int = 0
    """Seconds after which a browser without scripts loads the page again; 0 for never."""

    full_height: bool = False
    """Whether the page is exactly as high as the window."""

    repeats_race: bool = False
    """Whether its frame shows the name and the verdict of the race, too: a phone has no room for both."""


def _classes(page: OwnPage) -> str:
    classes = [name for name, has in (("full", page.full_height), ("repeats", page.repeats_race)) if has]
    return f' class="{" ".join(classes)}"' if classes else ""


def rendered(page: OwnPage) -> tuple[str, str]:
    """Returns the document of a page and its policy."""
    style, script = _file("page.css"), _file(page.script) if page.script else ""
    policy = [
        f"default-src 'none'; style-src {source_hash(style)}; form-action 'self'; base-uri 'none'",
        "frame-src 'self'; frame-ancestors 'none'",
        f"script-src {source_hash(script)}; connect-src 'self'" if script else "",
    ]
    refresh = f"<noscript><meta http-equiv=refresh content={page.refresh_s}></noscript>"
    parts = (
        '<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content="',
        f'width=device-width, initial-scale=1"><title>{escaped(page.title)}</title>',
        refresh if page.refresh_s else "",
        f"<style>{style}</style></head><body{_classes(page)}>\n{page.body}\n",
        f"<script>{script}</script>" if script else "",
        "</body></html>\n",
    )
    return "".join(parts), "; ".join(filter(None, policy))


@cache
def _file(name: str) -> str:
    return (files("pacenote.serve") / "page_files" / name).read_text("utf-8")


def attribute(text: str) -> str:
    """Returns a text as the value of a quoted attribute, which a form or a link sends back as it is."""
    return html.escape(shown(text))


def bar(root: str | None, links: str = "") -> str:
    """Returns the top of a page, with links that are escaped. `root` is None on a page that is shown without
    the cookie.
    """
    target = f' href="{attribute(root)}"' if root is not None else ""
    return f"<header class=bar><a class=home{target}>Pacenote</a>{links}</header>"


def all_races(root: str) -> str:
    """Returns the link to the list as HTML."""
    return f'<a href="{attribute(root)}">All races</a>'


def message_page(root: str | None, title: str, texts: tuple[str, ...]) -> OwnPage:
    """Returns a page with a message; empty texts are left out."""
    paragraphs = "".join(f"<p>{escaped(text)}</p>" for text in texts if text)
    links = f'<nav aria-label="Pages">{all_races(root)}</nav>' if root is not None else ""
    return OwnPage(title, f"{bar(root, links)}<main><h1>{escaped(title)}</h1>{paragraphs}</main>")
