"""Texts that are cut off."""

import pytest

from pacenote.model.printable import shortened, shortened_alike, single_line
from pacenote.model.secrets import REDACTED, redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("leave a core to the driver", "leave a core to…"),
        ("leave a core", "leave a core"),
        ("leave a core to it", "leave a core to it"),
        # Without a space near the end, within a word.
        ("index-append-1234567890", "index-append-1234…"),
        ("run index-append-1234567890", "run index-append-…"),
    ],
)
def test_a_text_is_cut_off_after_a_whole_word(text, expected):
    short = shortened(text, 18)
    assert short == expected
    assert len(short) <= 18


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["fast", "slow"], ["fast", "slow"]),
        (["x" * 50 + "A", "x" * 50 + "B"], ["…" + "x" * 10 + "A", "…" + "x" * 10 + "B"]),
        (["A" + "x" * 50, "B" + "x" * 50], ["A" + "x" * 28 + "…", "B" + "x" * 28 + "…"]),
        # What exists on one side only differs from its beginning on.
        (["x" * 50], ["x" * 29 + "…"]),
        (["x" * 50, ""], ["x" * 29 + "…", ""]),
        (["x" * 50, "x" * 50 + "y"], ["…" + "x" * 10, "…" + "x" * 10 + "y"]),
        ([], []),
    ],
)
def test_texts_are_shortened_to_what_differs(texts, shown):
    assert shortened_alike(texts, 30) == shown


def test_what_a_line_lacks_is_told_by_an_ellipsis() -> None:
    """Its beginning may end within a secret, which is recognised before an ellipsis."""
    secret = "correct-horse-battery-staple" * 5
    line = single_line(f"{' ' * 16_300}{secret} tail")
    assert line.endswith("…")
    assert redact(line, {secret}) == f"{REDACTED}…"
