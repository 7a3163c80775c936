"""Every figure is used by a rule or by the division of time, or is listed here as one for rules of users."""

from __future__ import annotations

import re
from pathlib import Path

from pacenote.diagnose import time_shares
from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.rules_file import BUNDLED

POOLS = re.compile(r"node\.(?:write|search)_(?:queue|active|readings)")
"""Figures whose names the division of time puts together."""


def used_figures() -> set[str]:
    """Returns the figures that rules and the division of time use."""
    texts = [file.read_text() for file in BUNDLED.glob("*.toml")]
    texts.append(Path(str(time_shares.__file__)).read_text())
    names = {name for text in texts for name in re.findall(r"[a-z]+\.[a-z_0-9]+", text)}
    return (names & FIGURES.keys()) | {name for name in FIGURES if POOLS.fullmatch(name)}


def test_every_figure_is_used_by_a_rule_or_by_the_division_of_time() -> None:
    assert len(FIGURES) > 200
    assert sorted(FIGURES.keys() - used_figures()) == [], "a rule must use it, or it is not needed"
