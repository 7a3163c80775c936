"""A diagnosis for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pacenote.report.diagnosis import DiagnosisSection
from pacenote.report.render.markdown import escape
from pacenote.report.screen.layout import MAX_WIDTH, MIN_WIDTH
from pacenote.report.screen.text import Line, Span, hanging

_LABEL = 13
"""Width of the labels of details, with their indentation."""


def diagnosis_lines(title: str, sections: Iterable[DiagnosisSection], width: int) -> list[Line]:
    """Returns the lines of a diagnosis for a terminal of this width."""
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    lines: list[Line] = [*hanging(Span(" "), title, width, "title")]
    for section in sections:
        lines += [(), *hanging(Span(" "), section.title, width, "title")]
        for item in section.items:
            first = Span("  ! " if item.severe else "  - ", "bad" if item.severe else "")
            lines += hanging(first, item.title, width)
            for label, text in item.details:
                lines += hanging(Span(f"      {label:{_LABEL}}", "quiet"), text, width)
    return lines


def diagnosis_markdown(title: str, sections: Sequence[DiagnosisSection]) -> str:
    """Returns a diagnosis as Markdown."""
    return "".join(f"{line}\n" for line in _markdown(title, sections))


def _markdown(title: str, sections: Sequence[DiagnosisSection]) -> Iterator[str]:
    yield f"# {escape(title)}"
    for section in sections:
        yield from ("", f"## {escape(section.title)}")
        for item in section.items:
            if not item.details:
                yield from (*([] if item != section.items[0] else [""]), f"- {escape(item.title)}")
                continue
            yield from ("", f"### {escape(item.title)}{' (severe)' if item.severe else ''}", "")
            yield from (f"- {label}: {escape(text)}" for label, text in item.details)
