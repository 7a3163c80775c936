"""What a rule says about one window of a race, before the windows are put together."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.expression import (
    Constant,
    Expression,
    Lookup,
    Name,
    OperatorCall,
    Unknown,
    Value,
    evaluate,
    is_figure,
    names_of,
)
from pacenote.diagnose.facts import Evidence, Window
from pacenote.diagnose.figure_units import Unit, format_value
from pacenote.diagnose.rule import NOT_OBSERVED, Metric, Rule
from pacenote.model.diagnosis import EvidenceItem, MissingFigure, RuleState

_NOT = {
    "<": "not below",
    "<=": "not at most",
    ">": "not above",
    ">=": "not at least",
    "==": "not",
    "!=": "also",
}
"""How a comparison that does not hold is put into words."""

_KEEP_UNIT = ("+", "-", "min", "max", "abs", "first", "negative")
"""Operators and functions whose result has the unit of their operands."""

_MOST_NAMED = 3
"""Largest number of missing figures that a text names."""


class WindowAnswer(Struct, frozen=True):
    """What a rule says about one window."""

    rule: Rule
    """The rule."""

    window: Window
    """The window."""

    state: RuleState
    """Whether it fired."""

    text: str
    """What it found, or why it is ruled out or not applicable."""

    missing: tuple[MissingFigure, ...] = ()
    """What it lacks."""

    bound: float | None = None
    """The largest improvement, if it fired and that can be computed."""

    severe: bool = False
    """Whether what it found is severe."""


def answer_window(rule: Rule, evidence: Evidence, window: Window) -> WindowAnswer:
    """Returns what a rule says about a window."""
    lookup = lookup_of(rule, evidence, window)
    for guard in rule.guards:
        if (holds := evaluate(guard.test, lookup)) is not True:
            text = _lacks(holds) if isinstance(holds, Unknown) else guard.otherwise
            return WindowAnswer(rule, window, "not applicable", text, _figures(holds))
    lacking = Unknown(())
    for name in rule.needs:
        value = lookup(name)
        lacking |= value if isinstance(value, Unknown) else Unknown(())
    fires = evaluate(rule.evidence, lookup)
    if fires is False:
        return WindowAnswer(rule, window, "ruled out", explain(rule, rule.evidence, lookup))
    if isinstance(fires, Unknown) or lacking.reasons:
        lacking |= fires if isinstance(fires, Unknown) else Unknown(())
        return WindowAnswer(rule, window, "not applicable", _lacks(lacking), _figures(lacking))
    bound = bound_of(rule, evidence, window)
    return WindowAnswer(
        rule,
        window,
        "fired",
        rule.finding.fill(lookup),
        bound=max(0.0, float(bound)) if isinstance(bound, int | float) else None,
        severe=rule.severe is not None and evaluate(rule.severe, lookup) is True,
    )


def metric_of(rule: Rule, evidence: Evidence, task: str) -> Metric:
    """Returns what the advice of a rule is to improve for a task, or for the race if it is empty."""
    if rule.metric != "auto":
        return rule.metric
    if not task:
        return "throughput" if any(measured.kind == "indexing" for measured in evidence.tasks) else "p99"
    return "p99" if evidence.value(Window(task), "task.paced") is True else "throughput"


def bound_of(rule: Rule, evidence: Evidence, window: Window) -> Value | None:
    """Returns the largest improvement of the rule's metric, None if nothing bounds it."""
    if rule.bound is None:
        return None
    bound: Expression | None = rule.bound.value
    if rule.metric == "auto" and metric_of(rule, evidence, window.task) != "throughput":
        bound = rule.bound.time
    return None if bound is None else evaluate(bound, lookup_of(rule, evidence, window))


def lookup_of(rule: Rule, evidence: Evidence, window: Window) -> Lookup:
    """Returns the values of the names in the expressions of a rule."""

    def lookup(name: str) -> Value:
        return evidence.value(window, name) if is_figure(name) else rule.parameters[name].value

    return lookup


def evidence_items(rule: Rule, evidence: Evidence, window: Window) -> Iterator[EvidenceItem]:
    """Yields the figures that a rule uses and that were observed, each once; of those that only its finding
    has, what they name, such as a node.
    """
    named = (name for name in rule.finding.names() if is_figure(name) and FIGURES[name].unit == "text")
    used = (*names_of(rule.evidence), *rule.needs, *(item.figure for item in rule.mechanism), *named)
    for name in dict.fromkeys(filter(is_figure, used)):
        value = evidence.value(window, name)
        if not isinstance(value, Unknown):
            text = format_value(value, FIGURES[name].unit)
            yield EvidenceItem(name, text, evidence.source(window, name), value)


def shown_figure(name: str, evidence: Evidence, window: Window) -> str:
    """Returns a figure with its unit, or that it was not observed."""
    value = evidence.value(window, name)
    return NOT_OBSERVED if isinstance(value, Unknown) else format_value(value, FIGURES[name].unit)


def explain(rule: Rule, expression: Expression, lookup: Lookup) -> str:
    """Returns why an expression is false: the comparisons that do not hold, with their values, and figures
    that would have to be observed.
    """
    if not isinstance(expression, OperatorCall):
        return f"{expression} is no"
    operands = expression.operands
    match expression.operator:
        case "and":
            return next(
                explain(rule, operand, lookup) for operand in operands if evaluate(operand, lookup) is False
            )
        case "or":
            told = [operand for operand in operands if not _is_unobserved(operand)] or operands
            return " and ".join(dict.fromkeys(explain(rule, operand, lookup) for operand in told))
        case "not":
            return f"{operands[0]} is yes" if isinstance(operands[0], Name) else f"{operands[0]} is true"
        case "observed":
            return f"{operands[0]} is {NOT_OBSERVED}"
    if expression.operator not in _NOT:
        return f"{expression} is no"
    return _explain_comparison(rule, expression, lookup)


def _explain_comparison(rule: Rule, expression: OperatorCall, lookup: Lookup) -> str:
    left, right = expression.operands
    unit = _unit(rule, left) or _unit(rule, right) or "ratio"
    if (figures := _replaced_figures(left, lookup)) is not None:
        return f"{figures} is {NOT_OBSERVED}"
    values = [evaluate(side, lookup) for side in (left, right)]
    shown = [NOT_OBSERVED if isinstance(value, Unknown) else format_value(value, unit) for value in values]
    return f"{_named(left, lookup)} is {shown[0]}, {_NOT[expression.operator]} {shown[1]}"


def _is_unobserved(expression: Expression) -> bool:
    """Returns whether an expression is `not observed(FIGURE)`, which is no reason if the figure is known."""
    return (
        isinstance(expression, OperatorCall)
        and expression.operator == "not"
        and isinstance(inner := expression.operands[0], OperatorCall)
        and inner.operator == "observed"
    )


def _replaced_figures(expression: Expression, lookup: Lookup) -> str | None:
    """Returns the figures of `first` if none of them is observed, so that a constant replaces them."""
    if not isinstance(expression, OperatorCall) or expression.operator != "first":
        return None
    figures = [operand for operand in expression.operands if not isinstance(operand, Constant)]
    if not all(isinstance(evaluate(operand, lookup), Unknown) for operand in figures):
        return None
    return " or ".join(_plain(operand) for operand in figures)


def _named(expression: Expression, lookup: Lookup) -> str:
    """Returns an expression as text, and for `first` the operand that is observed."""
    if isinstance(expression, OperatorCall) and expression.operator == "first":
        observed = (
            operand for operand in expression.operands if not isinstance(evaluate(operand, lookup), Unknown)
        )
        return _plain(next(observed, expression))
    return _plain(expression)


def _plain(expression: Expression) -> str:
    text = str(expression)
    return text[1:-1] if text.startswith("(") else text


def _unit(rule: Rule, expression: Expression) -> Unit | None:
    """Returns the unit of a figure or a parameter; other expressions have that of their operands, if it is
    the same for all of them and not divided.
    """
    if isinstance(expression, Name):
        figure = FIGURES.get(expression.name)
        return figure.unit if figure else rule.parameters[expression.name].unit
    if isinstance(expression, OperatorCall) and expression.operator in (
        "+",
        "-",
        "min",
        "max",
        "abs",
        "first",
    ):
        units = {_unit(rule, operand) for operand in expression.operands if not isinstance(operand, Constant)}
        return units.pop() if len(units) == 1 else None
    return None


def _figures(value: Value) -> tuple[MissingFigure, ...]:
    if not isinstance(value, Unknown):
        return ()
    return tuple(MissingFigure(name, reason) for name, reason in value.reasons)


def _lacks(unknown: Unknown) -> str:
    """Returns which figures are missing, with the reason of the first one."""
    names = [name for name, _ in unknown.reasons]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    verb = "is" if len(names) == 1 else "are"
    return f"{shown} {verb} not known: {unknown.reasons[0][1]}"
