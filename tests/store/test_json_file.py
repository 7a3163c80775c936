"""Stored JSON has neither halves of characters nor numbers with which nothing can be computed."""

import pytest

from pacenote.store.json_file import parse_stored


@pytest.mark.parametrize("zeros", [0, 9, 10, 80])
@pytest.mark.parametrize("exponent", ["", "e-9", "E-10", "e-66", "e-76", "e-0080", "e-330"])
def test_numbers_too_close_to_0_are_0(zeros: int, exponent: str) -> None:
    text = f"0.{'0' * zeros}1{exponent}"
    exact = float(text)
    document = parse_stored(f'{{"a": [{text}, -{text}, "{text}"], "{text}": 1e-75}}'.encode())
    kept = exact if exact >= 1e-75 else 0.0
    assert document == {"a": [kept, -kept, text], text: 1e-75}


def test_halves_of_characters_are_replaced() -> None:
    assert parse_stored(b'{"a": ["\\ud800"]}') == {"a": ["\ufffd"]}
