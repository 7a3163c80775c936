"""The bundled experiments, which repeat published measurements on the machine at hand.

The comment at the beginning of a file has a line `Follows:` with the report and its table, and a line `Not
reproduced:` with what differs from it. Sizes of heaps are written as `{4g}`; where the memory is too small
for the largest of a file, all of them are divided by the same power of 2, which `{heaps}` in the comment
says.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from pacenote.errors import UsageError
from pacenote.lab.experiment.machine import read_machine
from pacenote.model.decoding import parse_toml
from pacenote.model.messages import did_you_mean
from pacenote.units import format_bytes

TEMPLATE = "template"
"""Name of the file that `pacenote experiment init` writes; it is not listed."""

_FOLDER = Path(__file__).with_name("bundled")
_COMMENT = re.compile(r"\A(?:#[^\n]*\n)+")
_HEAP = re.compile(r"\{(\d+)([mg])\}")
_HEAPS = " {heaps}"
_GB_IN_MB = 1024
_SMALLEST_MB = 128
_LARGEST_SHARE = 0.5
"""Share of the memory that the largest heap may have: the rest is for the page cache and the driver."""


class BundledExperiment(Struct, frozen=True):
    """A bundled experiment."""

    name: str
    """Its name."""

    text: str
    """Its file."""

    @property
    def question(self) -> str:
        """What it finds out."""
        return str(parse_toml(self.text).get("question", ""))

    @property
    def design(self) -> str:
        """How its races are arranged."""
        return str(parse_toml(self.text).get("design", "pair"))

    @property
    def follows(self) -> str:
        """The published measurement that it repeats; empty if there is none."""
        return self._paragraph("Follows:")

    @property
    def not_reproduced(self) -> str:
        """What differs from that measurement."""
        return self._paragraph("Not reproduced:")

    def _paragraph(self, start: str) -> str:
        """Returns the sentence of the leading comment that begins like this."""
        comment = _COMMENT.match(self.text)
        lines = [line.removeprefix("#").strip() for line in comment[0].splitlines()] if comment else []
        begun = next((at for at, line in enumerate(lines) if line.startswith(start)), len(lines))
        sentence = [lines[begun].removeprefix(start)] if begun < len(lines) else []
        for line in lines[begun + 1 :]:
            if not line or re.match(r"[A-Z][a-z ]+:", line):
                break
            sentence.append(line)
        return " ".join(part.strip() for part in sentence)


def bundled_experiments() -> tuple[BundledExperiment, ...]:
    """Returns the bundled experiments for this machine, sorted by name."""
    files = sorted(_FOLDER.glob("*.toml"))
    return tuple(_read(file.stem) for file in files if file.stem != TEMPLATE)


def find_recipe(name: str) -> BundledExperiment:
    """Returns the bundled experiment with this name for this machine, or the template. Raises UsageError."""
    known = [file.stem for file in _FOLDER.glob("*.toml")]
    if name not in known:
        raise UsageError(
            f"there is no recipe '{name}'{did_you_mean(name, known)}",
            hint="`pacenote experiment list recipes` lists them; the name of a file ends in .toml",
        )
    return _read(name)


def _read(name: str) -> BundledExperiment:
    text = (_FOLDER / f"{name}.toml").read_text("utf-8")
    return BundledExperiment(name, with_heaps(text, read_machine().memory_bytes))


def with_heaps(text: str, memory_bytes: int | None) -> str:
    """Returns a recipe with heaps that fit into so much memory; None if its size is not known."""
    heaps = {match[0]: _megabytes(match) for match in _HEAP.finditer(text)}
    divisor = 1
    if heaps and memory_bytes is not None:
        most = max(_SMALLEST_MB, memory_bytes / (1 << 20) * _LARGEST_SHARE)
        while max(heaps.values()) / divisor > most and min(heaps.values()) // divisor >= 2 * _SMALLEST_MB:
            divisor *= 2
    note = ""
    if divisor > 1 and memory_bytes is not None:
        smaller, original = (
            " and ".join(_size(size // by) for size in sorted(heaps.values())) for by in (divisor, 1)
        )
        note = (
            f"\n# This machine has {format_bytes(memory_bytes)} of memory, so that the heaps are {smaller}\n"
            f"# in place of {original}."
        )
    scaled = _HEAP.sub(lambda match: _size(_megabytes(match) // divisor), text)
    return scaled.replace(_HEAPS, note)


def _megabytes(heap: re.Match[str]) -> int:
    return int(heap[1]) * (_GB_IN_MB if heap[2] == "g" else 1)


def _size(megabytes: int) -> str:
    return f"{megabytes}m" if megabytes % _GB_IN_MB else f"{megabytes // _GB_IN_MB}g"
