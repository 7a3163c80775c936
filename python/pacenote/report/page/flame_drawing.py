"""A flame graph that is drawn without a script: the heaviest stacks, callers above what they call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from pacenote.report.page.drawing import KeyEntry, MarkStyle
from pacenote.report.recording.flame_frames import MOST_LEVELS, FlameFrame, FlameFrames
from pacenote.units import format_share

_STYLES: tuple[tuple[tuple[str, ...], MarkStyle, str], ...] = (
    (("org.elasticsearch.", "org.opensearch.", "co.elastic."), "accent", "engine"),
    (("org.apache.lucene.",), "lane1", "Lucene"),
    (("java.", "javax.", "jdk.", "sun.", "com.sun."), "lane2", "JDK"),
    (("",), "lane3", "other classes"),
)
"""Beginnings of methods, the style of their frames, and what the style means."""

_PACKAGE = re.compile(r"(?:[a-z_$][\w$]*\.)+(?=\S)")

_LIBRARY = re.compile(r"\.|[\w.+-]+?\.so(?:\.\d+)*\.")
"""What async-profiler has in place of the class of native code: a library, or nothing if the JVM made it."""

_LABEL_LENGTH = 40
_LEAST_LABELLED = 0.02
"""Share of a frame from which it has room for a part of its name."""


class FlameBar(Struct, frozen=True):
    """A frame of a flame graph."""

    x: float
    """Position of its left edge, as a share of the width."""

    width: float
    """Its width, as a share of that of the graph."""

    level: int
    """Number of frames above it."""

    style: MarkStyle
    """Its colour."""

    label: str
    """What is written on it, as far as there is room; empty if there is none."""

    title: str
    """What it is, shown on demand."""


class FlameDrawing(Struct, frozen=True):
    """A flame graph."""

    id: str
    """Identifies it on the page."""

    title: str
    """What it shows."""

    summary: str
    """How to read it, and what it lacks."""

    table: str
    """Id of the table with the hottest of its methods."""

    bars: tuple[FlameBar, ...]
    """Its frames."""

    levels: int
    """Number of frames above each other."""

    key: tuple[KeyEntry, ...]
    """What the colours mean."""


def flame_drawing(name: str, table: str, flame: FlameFrames) -> FlameDrawing:
    """Returns the drawing of the frames, with the id `name` and that of its table."""
    bars = tuple(map(_bar, flame.frames))
    used = {bar.style for bar in bars}
    entries = (*((style, text) for _, style, text in _STYLES), ("quiet", "native code and others"))
    key = tuple(KeyEntry(style, text, "bar") for style, text in entries if style in used)
    summary = " ".join(_summary(flame))
    return FlameDrawing(name, f"Flame graph: {flame.title}", summary, table, bars, flame.levels, key)


def _summary(flame: FlameFrames) -> Iterator[str]:
    yield "Callers are above what they call, and the width is the share of the events."
    if flame.left_out:
        yield f"Frames of at most {format_share(flame.left_out)} are left out."
    if flame.is_cut:
        yield f"Stacks are cut after {MOST_LEVELS} frames."


def _bar(frame: FlameFrame) -> FlameBar:
    style, name = _style_and_name(frame)
    label = name[:_LABEL_LENGTH] if frame.share >= _LEAST_LABELLED else ""
    title = f"{frame.name}: {format_share(frame.share)}"
    return FlameBar(frame.x, frame.share, frame.level, style, label, title)


def _style_and_name(frame: FlameFrame) -> tuple[MarkStyle, str]:
    """Returns the style of a frame, and its name without a package or library."""
    library = _LIBRARY.match(frame.name)
    if library is not None:
        return "quiet", frame.name[library.end() :]
    package = _PACKAGE.match(frame.name)
    if package is None or frame.kind not in ("method", "native", "class", "lock"):
        return "quiet", frame.name
    style = next(style for starts, style, _ in _STYLES if frame.name.startswith(starts))
    return style, frame.name[package.end() :]
