"""Characters that a terminal does not have."""

import io
import string

import pytest

from pacenote.cli.console import Console
from pacenote.cli.output import plain_characters
from pacenote.model.output_text import csv_text
from pacenote.model.shell_command import shell_command


def printed(text, encoding):
    raw = io.BytesIO()
    console = Console(io.TextIOWrapper(raw, encoding=encoding), io.StringIO())
    console.result(text)
    return raw.getvalue().decode(encoding)


def test_bars_and_units_have_plain_characters_in_ascii():
    assert printed("▁▂▃▄▅▆▇█ 250 µs … 3–5 ±1", "ascii") == "_.~oxO%8 250 us . 3-5 ~1"
    assert printed("250 µs …", "latin-1") == "250 µs ."
    assert printed("▁█ µ", "utf-8") == "▁█ µ"


def test_other_characters_become_question_marks_as_wide_as_they_are():
    assert printed("日本 ж e\u0301 ж", "ascii") == "???? ? e ?"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_nothing_that_is_obeyed_stands_for_a_character(encoding):
    """Texts are cleaned and quoted before they are written."""
    plain_characters.register()
    others = [char for char in map(chr, range(0x80, 0x3000)) if char.isprintable()]
    plain = {char: plain_characters.plain_text(char, encoding) for char in others}
    made = {text for char, text in plain.items() if text != char}
    assert not set("".join(made)) & set("#=+@|'\"`$&;!\\()[]{}")
    # A tag begins with a letter after the sign.
    assert {text for text in made if "<" in text} <= {"< "}
    assert (
        printed("\u2588\u2588vso[task.setvariable variable=A]b", encoding)
        == "88vso[task.setvariable variable=A]b"
    )
    assert "##vso" not in printed("#" + "\u2588#vso[a]", encoding)
    for char in others:
        cell = csv_text([(f"{char}A1",)])
        assert not plain_characters.plain_text(cell, encoding).strip('"').startswith(tuple("=+-@")), char
        command = plain_characters.plain_text(shell_command("x", f"a{char}b"), encoding)
        assert not set(command) - set(string.printable) or encoding != "ascii"


def test_commands_of_agents_are_found_in_what_is_written():
    """In the encoding of the stream, `::` may stand for two other characters."""
    assert printed("\u2502\u2502set-output name=a::b", "ascii") == ": :set-output name=a::b"
