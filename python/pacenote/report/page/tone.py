"""How texts and marks are shown."""

from __future__ import annotations

from typing import Literal

Tone = Literal["", "good", "doubtful", "wrong", "quiet"]
"""How a text is shown: as a judgement, or in the background."""
