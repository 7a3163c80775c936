"""The language of rules."""

import pytest

from pacenote.diagnose.expression import (
    ExpressionError,
    Unknown,
    evaluate,
    kind_of,
    names_of,
    parse_expression,
    version_number,
)

VALUES = {"a.x": 2.0, "a.y": 0.0, "b.name": "G1", "b.on": True, "limit": 5.0}
KINDS = {"a.x": "number", "a.y": "number", "b.name": "text", "b.on": "truth", "limit": "number"}


def value_of(text):
    """Evaluates a text; figures that are not in VALUES are missing."""
    return evaluate(
        parse_expression(text), lambda name: VALUES.get(name, Unknown(((name, "it was not recorded"),)))
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 - 3 - 4", -5.0),
        ("8 / 4 / 2", 1.0),
        ("-a.x * -2", 4.0),
        ("1.5e3", 1500.0),
        ("a.x < limit", True),
        ("a.x >= 2 and a.y <= 0", True),
        ("not a.x > 1 or b.on", True),
        ("not (a.x > 1 or b.on)", False),
        ("true and not false", True),
        ('b.name == "G1"', True),
        ("b.name != 'G1'", False),
        ("b.on == true", True),
        ("min(3, a.x, limit)", 2.0),
        ("max(3, a.x, limit)", 5.0),
        ("abs(a.x - limit)", 3.0),
        ('version("8.16.2") >= version("8.16")', True),
        ('version("10.0") > version("9.5")', True),
        ("first(c.missing, a.x)", 2.0),
        ("observed(c.missing)", False),
        ("observed(a.x)", True),
        ("(1 - 0.0651) / (1 - 0.1639) - 1", pytest.approx(0.1182, abs=1e-4)),
    ],
)
def test_expressions_have_these_values(text, expected):
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c.missing > 1 and a.x > 5", False),
        ("a.x > 5 and c.missing > 1", False),
        ("c.missing > 1 or a.x > 1", True),
        ("c.missing > 1 and a.x > 1", ["c.missing"]),
        ("c.missing > 1 or a.x > 5", ["c.missing"]),
        ("not c.missing > 1", ["c.missing"]),
        ("c.missing + d.missing + c.missing", ["c.missing", "d.missing"]),
        ("first(c.missing, d.missing)", ["c.missing", "d.missing"]),
        ("a.x / a.y", ["a.y"]),
        ("a.x / (a.y + a.y)", ["(a.y + a.y)"]),
        ("1e308 * 1e308", ["(1e+308 * 1e+308)"]),
    ],
)
def test_missing_figures_make_only_what_needs_them_unknown(text, expected):
    value = value_of(text)
    assert ([name for name, _ in value.reasons] if isinstance(value, Unknown) else value) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("a.x >", "ends too early"),
        ("a.x > 1 2", "'2' is not expected"),
        ("1 < a.x < 3", "comparisons cannot be chained"),
        ("(a.x", r"'\)' is expected before 'the end'"),
        ("sum(a.x)", "'sum' is not a function: there are min"),
        ("abs(1, 2)", "abs takes one value, not 2"),
        ("a.x ** 2", r"'\*' is not expected"),
        ("a.x $ 2", r"'\$' is not expected"),
        ("__import__('os')", "is not a function"),
        ("(" * 50 + "1" + ")" * 50, "nested more than 40 deep"),
        ("not " * 50 + "b.on", "nested more than 40 deep"),
        ("+".join("1" * 200), "399 parts: at most 300"),
        ("a.x > 1e999", "the number 1e999 is too large"),
        ("1" * 3000, "3,000 characters: at most 2,000"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x + 1", "number"),
        ("a.x > 1 and b.on", "truth"),
        ("first(b.name, 'x')", "text"),
        ("observed(b.name)", "truth"),
        ("version(b.name) > 1", "truth"),
        ("a.x > b.name", "b.name in (a.x > b.name) is a text, not a number"),
        ("a.x and b.on", "a.x in (a.x and b.on) is a number, not a truth"),
        ("b.name == 1", "(b.name == 1) mixes a text and a number"),
        ("version(a.x)", "a.x in version(a.x) is a number, not a text"),
        ("not a.x", "a.x in not a.x is a number, not a truth"),
    ],
)
def test_operands_are_checked(text, expected):
    try:
        kind = kind_of(parse_expression(text), lambda name: KINDS[name])
    except ExpressionError as error:
        kind = str(error)
    assert kind == expected


def test_names_are_those_of_figures_and_parameters():
    assert list(names_of(parse_expression("a.x > limit and observed(b.name) and a.x < 1"))) == [
        *("a.x", "limit", "b.name", "a.x")
    ]


def test_versions_are_ordered_by_their_numbers():
    versions = ["7.17.0", "8.2", "8.16.0-SNAPSHOT", "8.16.1", "9.0.0"]
    assert sorted(versions, key=version_number) == versions
