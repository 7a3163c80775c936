"""Expressions of rules: a small language of figures, parameters, numbers and texts.

    gc.stop_share > stop_share and (gc.young_interval_s < 1 or gc.full_count > 0)

A name with a dot is a figure of the catalogue, any other name a parameter of the rule. Operators, from the
weakest: `or`, `and`, `not`, comparisons (`< <= > >= == !=`), `+ -`, `* /`, the sign. Functions: `min`, `max`
and `abs` of numbers, `observed(FIGURE)`, `first(A, B, …)`, the first value that is observed, and
`version(TEXT)`, a number that orders versions.

A figure that was not observed makes a value unknown, not 0. `and` with a false side is false and `or` with a
true side is true, whatever the other side is; everything else with an unknown operand is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["number", "text", "truth"]
"""The kind of a value."""

MAX_LENGTH = 2_000
"""Largest number of characters of an expression."""

MAX_TOKENS = 300
"""Largest number of names, values, operators and other signs of an expression."""

MAX_DEPTH = 40
"""Largest number of parentheses, calls, signs and `not` inside each other."""

_TOKEN = re.compile(
    r"""\s*(?: (?P<number> \d+(?:\.\d+)?(?:[eE][+-]?\d+)? )
    | (?P<text> "[^"]*" | '[^']*' )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)* )
    | (?P<operator> <= | >= | == | != | [-+*/<>(),] ) )""",
    re.VERBOSE,
)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_FUNCTIONS = ("min", "max", "abs", "observed", "first", "version")
_WORDS = ("and", "or", "not", "true", "false")


class ExpressionError(ValueError):
    """An expression cannot be read, or has operands of the wrong kind."""


class Unknown(Struct, frozen=True):
    """A value that could not be computed."""

    reasons: tuple[tuple[str, str], ...]
    """The figures, or the divisors, that prevent it, each with the reason."""

    def __or__(self, other: Unknown) -> Unknown:
        """Returns an unknown value with the reasons of both, each once."""
        return Unknown(tuple(dict.fromkeys(self.reasons + other.reasons)))


Scalar = float | str | bool
"""A value that is known."""

Value = Scalar | Unknown
"""A value of an expression."""

Lookup = Callable[[str], Value]
"""Returns the value of a figure or a parameter."""


class Constant(Struct, frozen=True):
    """A number, a text, or a truth value."""

    value: Scalar
    """The value."""

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        return f'"{self.value}"' if isinstance(self.value, str) else f"{self.value:g}"


class Name(Struct, frozen=True):
    """A figure or a parameter."""

    name: str
    """The name."""

    def __str__(self) -> str:
        return self.name


class OperatorCall(Struct, frozen=True):
    """An operator or a function with its operands."""

    operator: str
    """The operator, or the name of the function; a sign is `negative`."""

    operands: tuple[Expression, ...]
    """The operands."""

    def __str__(self) -> str:
        shown = [str(operand) for operand in self.operands]
        if self.operator in _FUNCTIONS:
            return f"{self.operator}({', '.join(shown)})"
        if self.operator == "negative":
            return f"-{shown[0]}"
        if self.operator == "not":
            return f"not {shown[0]}"
        return f"({shown[0]} {self.operator} {shown[1]})"


Expression = Constant | Name | OperatorCall
"""An expression that has been read."""


def parse_expression(text: str) -> Expression:
    """Reads an expression. Raises ExpressionError."""
    return _Parser(text).parse()


def names_of(expression: Expression) -> Iterator[str]:
    """Yields the names in an expression, in their order, also repeated ones."""
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, OperatorCall):
        for operand in expression.operands:
            yield from names_of(operand)


def is_figure(name: str) -> bool:
    """Returns whether a name is that of a figure; others are parameters."""
    return "." in name


def kind_of(expression: Expression, kind_of_name: Callable[[str], Kind]) -> Kind:
    """Returns the kind of an expression. Raises ExpressionError if an operand has the wrong one."""
    if isinstance(expression, Name):
        return kind_of_name(expression.name)
    if isinstance(expression, Constant):
        return _kind_of_value(expression.value)
    operator = expression.operator
    kinds = [kind_of(operand, kind_of_name) for operand in expression.operands]
    if operator in ("observed", "first", "==", "!="):
        if len(set(kinds)) > 1:
            raise ExpressionError(f"{expression} mixes a {kinds[0]} and a {kinds[1]}")
        return kinds[0] if operator == "first" else "truth"
    wanted: Kind = "truth" if operator in ("and", "or", "not") else "number"
    wanted = "text" if operator == "version" else wanted
    for operand, kind in zip(expression.operands, kinds, strict=True):
        if kind != wanted:
            raise ExpressionError(f"{operand} in {expression} is a {kind}, not a {wanted}")
    return "truth" if operator in (*_COMPARISONS, "and", "or", "not") else "number"


def evaluate(expression: Expression, lookup: Lookup) -> Value:
    """Returns the value of an expression whose kinds have been checked."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Name):
        return lookup(expression.name)
    operator = expression.operator
    values = [evaluate(operand, lookup) for operand in expression.operands]
    if operator == "observed":
        return not isinstance(values[0], Unknown)
    if operator == "first":
        return next((value for value in values if not isinstance(value, Unknown)), _all_reasons(values))
    if operator in ("and", "or") and (operator == "or") in values:
        return operator == "or"
    if any(isinstance(value, Unknown) for value in values):
        return _all_reasons(values)
    if operator == "/" and values[1] == 0:
        return Unknown(((str(expression.operands[1]), "it is 0"),))
    result = _compute(operator, values)
    if isinstance(result, float) and not math.isfinite(result):
        return Unknown(((str(expression), "it is too large"),))
    return result


def version_number(text: str) -> float:
    """Returns a number that orders versions by their first three parts: `8.16.1` is less than `9.0`."""
    parts = [int(part) for part in re.findall(r"\d{1,6}", text)[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return float(major * 1_000_000 + min(minor, 999) * 1_000 + min(patch, 999))


def _kind_of_value(value: Scalar) -> Kind:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def _all_reasons(values: Sequence[Value]) -> Unknown:
    reasons = Unknown(())
    for value in values:
        if isinstance(value, Unknown):
            reasons |= value
    return reasons


def _compute(operator: str, values: Sequence[Value]) -> Value:
    """Returns the result of an operator on values that are all known and of the right kinds."""
    if operator in ("==", "!="):
        return (values[0] == values[1]) == (operator == "==")
    if operator in ("and", "or"):
        return operator == "and"
    if operator == "not":
        return not values[0]
    if operator == "version":
        return version_number(str(values[0]))
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return _calculate(operator, numbers)


def _calculate(operator: str, numbers: Sequence[float]) -> float | bool:
    if operator in ("min", "max"):
        return min(numbers) if operator == "min" else max(numbers)
    if operator in ("abs", "negative"):
        return abs(numbers[0]) if operator == "abs" else -numbers[0]
    left, right = numbers
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return left / right


class _Parser:
    """Reads one expression by recursive descent."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"it has {len(text):,} characters: at most {MAX_LENGTH:,} are allowed")
        self._text = text
        self._tokens = list(_tokens(text))
        if len(self._tokens) > MAX_TOKENS:
            raise ExpressionError(f"it has {len(self._tokens):,} parts: at most {MAX_TOKENS:,} are allowed")
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression:
        expression = self._either()
        if self._at < len(self._tokens):
            raise ExpressionError(f"'{self._tokens[self._at][1]}' is not expected in: {self._text}")
        return expression

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise ExpressionError(f"it ends too early: {self._text}" if self._text.strip() else "it is empty")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, token: str) -> None:
        if (actual := self._peek()) != token:
            raise ExpressionError(f"'{token}' is expected before '{actual or 'the end'}' in: {self._text}")
        self._at += 1

    def _chain(self, operators: Sequence[str], part: Callable[[], Expression]) -> Expression:
        expression = part()
        while self._peek() in operators:
            _, operator = self._next()
            expression = OperatorCall(operator, (expression, part()))
        return expression

    def _either(self) -> Expression:
        return self._chain(("or",), self._both)

    def _both(self) -> Expression:
        return self._chain(("and",), self._negation)

    def _negation(self) -> Expression:
        if self._peek() != "not":
            return self._comparison()
        self._next()
        return OperatorCall("not", (self._nested(self._negation),))

    def _comparison(self) -> Expression:
        expression = self._sum()
        if self._peek() not in _COMPARISONS:
            return expression
        _, operator = self._next()
        expression = OperatorCall(operator, (expression, self._sum()))
        if self._peek() in _COMPARISONS:
            raise ExpressionError(f"comparisons cannot be chained, use `and`: {self._text}")
        return expression

    def _sum(self) -> Expression:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Expression:
        return self._chain(("*", "/"), self._signed)

    def _signed(self) -> Expression:
        if self._peek() != "-":
            return self._atom()
        self._next()
        return OperatorCall("negative", (self._nested(self._signed),))

    def _atom(self) -> Expression:
        kind, token = self._next()
        if kind == "number":
            if not math.isfinite(float(token)):
                raise ExpressionError(f"the number {token} is too large")
            return Constant(float(token))
        if kind == "text":
            return Constant(token[1:-1])
        if token == "(":  # noqa: S105  # not a password
            expression = self._nested(self._either)
            self._expect(")")
            return expression
        if kind != "name" or token in ("and", "or", "not"):
            raise ExpressionError(f"'{token}' is not expected in: {self._text}")
        if token in ("true", "false"):
            return Constant(token.startswith("t"))
        return self._call(token) if self._peek() == "(" else Name(token)

    def _call(self, function: str) -> Expression:
        if function not in _FUNCTIONS:
            raise ExpressionError(f"'{function}' is not a function: there are {', '.join(_FUNCTIONS)}")
        self._expect("(")
        operands = [self._nested(self._either)]
        while self._peek() == ",":
            self._next()
            operands.append(self._nested(self._either))
        self._expect(")")
        if function in ("abs", "observed", "version") and len(operands) > 1:
            raise ExpressionError(f"{function} takes one value, not {len(operands)}: {self._text}")
        return OperatorCall(function, tuple(operands))

    def _nested(self, part: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"it is nested more than {MAX_DEPTH} deep")
        expression = part()
        self._depth -= 1
        return expression


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].strip()
            raise ExpressionError(f"'{rest[0]}' is not expected in: {text}")
        yield str(match.lastgroup), match[str(match.lastgroup)]
        at = match.end()


RESERVED_WORDS = frozenset({*_WORDS, *_FUNCTIONS})
"""Words that cannot be names of parameters."""
