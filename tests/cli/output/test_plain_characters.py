"""Characters that a terminal does not have."""

import io

from pacenote.cli.console import Console


def printed(text, encoding):
    raw = io.BytesIO()
    console = Console(io.TextIOWrapper(raw, encoding=encoding), io.StringIO())
    console.result(text)
    return raw.getvalue().decode(encoding)


def test_bars_and_units_have_plain_characters_in_ascii():
    assert printed("▁▂▃▄▅▆▇█ 250 µs … 3–5 ±1", "ascii") == "_.-=+*%# 250 us . 3-5 ~1"
    assert printed("250 µs …", "latin-1") == "250 µs ."
    assert printed("▁█ µ", "utf-8") == "▁█ µ"


def test_other_characters_become_question_marks_as_wide_as_they_are():
    assert printed("日本 ж e\u0301 ж", "ascii") == "???? ? e ?"
