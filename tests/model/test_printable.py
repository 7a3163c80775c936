"""Texts that are cut off."""

import pytest

from pacenote.model.printable import shortened


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
    found = shortened(text, 18)
    assert found == expected
    assert len(found) <= 18
