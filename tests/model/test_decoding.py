"""Texts that a parser accepts although they cannot be used, or rejects in a way of its own."""

from __future__ import annotations

import codecs
import json
import sys
import time
import tracemalloc

import pytest

from pacenote.model import decoding
from pacenote.model.decoding import (
    NotFinite,
    TooDeep,
    TooManyValues,
    UnusableNumber,
    memory_of_values,
    parse_json,
    parse_toml,
)

DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("1e999", UnusableNumber, "1e999 is not a finite number"),
        ('{"a": [-1e999]}', UnusableNumber, "-1e999 is not a finite number"),
        ("NaN", UnusableNumber, "NaN is not a finite number"),
        ("-Infinity", UnusableNumber, "-Infinity is not a finite number"),
        ("9" * 5000, UnusableNumber, "it has a number of too many digits"),
        ('{"a": -' + "1" * 400 + "}", UnusableNumber, "it has a number of too many digits"),
        (b"[" + b"7" * 400 + b"]", UnusableNumber, "it has a number of too many digits"),
        ("[" * DEEP, TooDeep, "it is nested more than 200 levels deep"),
        ('{"a":' * DEEP, TooDeep, "it is nested more than 200 levels deep"),
        ("[" * 300 + "]" * 300, TooDeep, "it is nested more than 200 levels deep"),
        (b"\xff", ValueError, "it is not UTF-8 text"),
        ("{", json.JSONDecodeError, "Expecting property name"),
    ],
)
def test_json_that_cannot_be_used_has_a_reason(
    text: str | bytes, kind: type[ValueError], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        parse_json(text)


@pytest.mark.parametrize("not_finite", ["refused", "none", "kept"])
@pytest.mark.parametrize("digits", [1, 4000])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be", "utf-32"])
def test_bytes_must_be_utf_8(encoding: str, digits: int, not_finite: NotFinite) -> None:
    text = json.dumps({"half": "\ud800", "number": "N"}).replace('"N"', "9" * digits)
    with pytest.raises(ValueError, match=r"it is not UTF-8 text|Expecting"):
        parse_json(text.encode(encoding), not_finite)


@pytest.mark.parametrize("number", ["1", "1e999", "9" * 4000])
@pytest.mark.parametrize("half", [b"\xed\xa0\x80", b"\xed\xbf\xbf"])
def test_bytes_have_no_halves_of_surrogate_pairs(half: bytes, number: str) -> None:
    with pytest.raises(ValueError, match="it is not UTF-8 text"):
        parse_json(b'{"a": "' + half + b'", "b": ' + number.encode() + b"}", "kept")


@pytest.mark.parametrize("number", ["1", "1e999"])
def test_bytes_may_have_a_byte_order_mark(number: str) -> None:
    assert parse_json(codecs.BOM_UTF8 + f"[{number}]".encode(), "kept") == [float(number)]


def test_json_that_can_be_used_is_returned() -> None:
    assert parse_json('{"a": [1, 1.5, "x", null, true]}') == {"a": [1, 1.5, "x", None, True]}
    assert parse_json("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    "value", ["{}", "[]", '{"a":1}', "1.5", '"ab"', '{"a":{}}', '{"a":1,"b":2,"c":3,"d":4}']
)
def test_a_document_of_very_many_values_is_not_parsed(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_MEMORY_BYTES", 16 << 20)
    text = f"[{','.join([value] * (1_800_000 // len(value)))}]"
    tracemalloc.start()
    try:
        with pytest.raises(TooManyValues, match="its values take more than 16 MiB"):
            parse_json(text)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(text)
    finally:
        tracemalloc.stop()


def test_the_values_of_a_document_may_take_512_mib() -> None:
    assert parse_json(f"[{'0,' * 100_000}0]") == [0] * 100_001
    # Each comma counts as 60 bytes; what has few enough of them is read, and found to be wrong.
    with pytest.raises(json.JSONDecodeError):
        parse_json(b"[" + b"," * 6_000_000)
    with pytest.raises(TooManyValues, match="its values take more than 512 MiB"):
        parse_json(b"[" + b"," * 12_000_000)


@pytest.mark.parametrize(
    ("text", "bytes_per_character"), [("a", 1), ("é", 2), ("\u20ac", 2), ("\U0001f600", 4)]
)
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_long_texts_take_memory(text: str, bytes_per_character: int, ensure_ascii: bool) -> None:
    long = "a" * 10_000 + text
    document = json.dumps([long], ensure_ascii=ensure_ascii).encode()
    assert sys.getsizeof(long) >= 10_000 * (bytes_per_character if text != "é" else 1)
    assert memory_of_values(document) >= sys.getsizeof(long)


def test_only_texts_with_wide_characters_take_more_memory() -> None:
    narrow = json.dumps(["a" * 10_000, 'b"\\' * 100, "c"]).encode()
    wide = json.dumps(["a" * 10_000, 'b"\\' * 100, "é"], ensure_ascii=False).encode()
    assert memory_of_values(wide) - memory_of_values(narrow) < 20
    # One that does not end is looked at once.
    assert memory_of_values(b'"' + b'\\"' * 2_000_000 + "é".encode()) > 8_000_000


def test_a_long_text_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_MEMORY_BYTES", 1 << 20)
    assert parse_json(json.dumps("a" * 1_000_000)) == "a" * 1_000_000
    for document in ("a" * 1_100_000, "a" * 300_000 + "\u20ac"):
        for ensure_ascii in (True, False):
            with pytest.raises(TooManyValues):
                parse_json(json.dumps(document, ensure_ascii=ensure_ascii))


@pytest.mark.parametrize("text", ["[", "]", "}{", "[]" * 3])
def test_brackets_in_a_text_do_not_hide_the_depth(text: str) -> None:
    deep = "[" * 201 + json.dumps(text) + "]" * 201
    with pytest.raises(TooDeep):
        parse_json(deep)
    assert parse_json(deep[1:-1])
    assert parse_json(f"[{json.dumps(text)}, {json.dumps(text)}]") == [text, text]


@pytest.mark.parametrize(
    ("begin", "end"),
    [('{"a":[', "]}"), ('["]",', ',"["]'), ('["\\\\","]",', ',"["]'), ('{"}":', ',"{":0}')],
)
def test_no_mixture_of_brackets_and_texts_hides_the_depth(begin: str, end: str) -> None:
    levels = (
        (begin + end).count("[")
        + (begin + end).count("{")
        - (begin + end).count('"[')
        - (begin + end).count('"{')
    )
    most = 200 // levels
    with pytest.raises(TooDeep):
        parse_json(begin * (most + 1) + "0" + end * (most + 1))
    assert parse_json(begin * most + "0" + end * most)


def test_a_large_document_is_parsed() -> None:
    texts = ["a text of usual length"] * 100_000
    assert parse_json(json.dumps(texts)) == texts


def test_integers_have_at_most_a_hundred_digits() -> None:
    longest = "9" * 100
    assert parse_json(f"[{longest}]") == [int(longest)]
    text = f'[-1{longest}, 1{longest}, 2, "1{longest}"]'
    assert parse_json(text, not_finite="kept") == [float("-inf"), float("inf"), 2, f"1{longest}"]
    assert parse_json(text, not_finite="none") == [None, None, 2, f"1{longest}"]


def test_numbers_that_are_not_finite_may_be_replaced_or_kept() -> None:
    assert parse_json('[NaN, 1e999, 2.5, "NaN"]', not_finite="none") == [None, None, 2.5, "NaN"]
    assert parse_json("[1e999, 2.5]", not_finite="kept") == [float("inf"), 2.5]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "9" * 5000, "it has a number of too many digits"),
        ("a = " + "[" * DEEP, "it is nested more than 200 levels deep"),
        ("a = " + "[" * 300 + "]" * 300, "it is nested more than 200 levels deep"),
        (".".join("a" * 300) + " = 1", "it has a key of more than 16 parts"),
        ("[" + ".".join("a" * 300) + "]", "it has a key of more than 16 parts"),
        ("a = ", r"Invalid value \(at end of document\)"),
    ],
)
def test_toml_that_cannot_be_used_has_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_toml(text)


def test_toml_that_can_be_used_is_returned() -> None:
    assert parse_toml("a.b = [1, 2.5, inf]\n") == {"a": {"b": [1, 2.5, float("inf")]}}


def test_toml_of_more_than_a_mebibyte_is_refused_because_of_the_memory_that_it_takes() -> None:
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        parse_toml("[a.b.c.d]\n" + "#" * (1 << 20))


@pytest.mark.parametrize(
    "text",
    [
        "a." * 500_000 + "b = 1",
        "[" + "a." * 500_000 + "b]",
        "[[" + "a . " * 250_000 + "b]]",
        "x = [{" + "'a'." * 250_000 + "b = 1}]",
        'x = """a\\""""""\n' + '"a\\"".' * 100_000 + "b = 1",
    ],
)
def test_toml_with_a_long_key_is_refused_before_it_is_parsed(text: str) -> None:
    """Python's parser would take minutes."""
    began_s = time.process_time()
    with pytest.raises(ValueError, match="it has a key of more than 16 parts"):
        parse_toml(text)
    assert time.process_time() - began_s < 5.0


def test_a_long_table_with_long_keys_takes_seconds() -> None:
    text = "[" + "a." * 15 + "b]\n" + "".join(f"{'c.' * 15}d{number} = 1\n" for number in range(20_000))
    began_s = time.process_time()
    parse_toml(text)
    assert time.process_time() - began_s < 30.0


def test_texts_in_toml_have_no_keys() -> None:
    name = ".".join("abcdefghijklmnopqrstuvwxyz")
    texts = (f'"{name}"', f"'{name}'", f'"""\n{name}\\""""""', f"'''\n{name}'''", f'"#\\"{name}"')
    values = parse_toml("".join(f"x{index} = {text} # {name}\n" for index, text in enumerate(texts)))
    assert all(name in value for value in values.values())


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a" + " " * 1_000_000,
        '"' * 1_000_000,
        "'" * 1_000_000,
        '\\"' * 500_000,
        '"""\n\\' * 200_000,
        "'''\na'" * 150_000,
        "a = '" * 150_000,
        'a = "\\' * 150_000,
        "a. " * 300_000,
    ],
)
def test_toml_without_a_key_is_refused_at_once(text: str) -> None:
    began_s = time.process_time()
    with pytest.raises(ValueError, match=r"\(at (line \d|end of document)"):
        parse_toml(text)
    assert time.process_time() - began_s < 5.0


@pytest.mark.parametrize("number", ["0x" + "f" * 5_000, "0o" + "7" * 5_000, "0b" + "1" * 5_000])
def test_toml_has_no_numbers_of_too_many_digits(number: str) -> None:
    """Python limits those of decimal numbers only, and fails when it writes the others."""
    with pytest.raises(ValueError, match="too many digits"):
        parse_toml(f"a = [{{b = {number}}}]")
    assert parse_toml("a = [{b = -255}, 0xff]") == {"a": [{"b": -255}, 255]}
