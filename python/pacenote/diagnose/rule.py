"""A rule of the diagnosis, as its file describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct, field

from pacenote.diagnose.expression import Expression, Lookup, Scalar, Unknown, evaluate, names_of
from pacenote.diagnose.figure_units import Unit, format_value

RuleKind = Literal["diagnosis", "validity"]
"""Whether a rule explains what was slow, or judges whether the race or the comparison can show it."""

Scope = Literal["task", "race", "comparison"]
"""What a rule is evaluated for: each task, the whole race, or several races together."""

TaskKind = Literal["any", "indexing", "searching"]
"""The tasks that a rule is about."""

Metric = Literal["auto", "throughput", "p50", "p99"]
"""What advice is to improve; `auto` is throughput, but p99 of a task with a target rate, whose throughput the
rate determines.
"""

Direction = Literal["rises", "falls"]
"""How a figure is expected to change."""

Effect = Literal["none", "void", "throughput", "doubt", "note"]
"""What a validity rule that fires does to the diagnosis of a task: `void` makes rules not applicable,
`throughput` only those whose metric is throughput, `doubt` halves the confidence, and `note` does nothing.
`none` is for rules of the diagnosis.
"""

NOT_OBSERVED = "not observed"
"""What a text has in place of a figure that is missing."""


class Parameter(Struct, frozen=True):
    """A threshold of a rule."""

    value: Scalar
    """Its value."""

    unit: Unit
    """The unit of the value."""

    meaning: str
    """What it limits."""


class Insertion(Struct, frozen=True):
    """A value within a text."""

    expression: Expression
    """What is computed."""

    unit: Unit
    """The unit in which it is shown."""


class Template(Struct, frozen=True):
    """A text with figures."""

    parts: tuple[str | Insertion | Template, ...]
    """The parts of the text in their order. A part that is a template is left out if it lacks a value."""

    def fill(self, lookup: Lookup) -> str:
        """Returns the text with its values."""
        return "".join(_filled(part, lookup) for part in self.parts)

    def names(self) -> Iterator[str]:
        """Yields the names of the figures and parameters in the text."""
        for part in self.parts:
            if isinstance(part, Insertion):
                yield from names_of(part.expression)
            elif isinstance(part, Template):
                yield from part.names()

    def unknown(self, lookup: Lookup) -> Unknown | None:
        """Returns why the text lacks values, or None if it has all that are not left out."""
        reasons: tuple[tuple[str, str], ...] = ()
        for part in self.parts:
            if isinstance(part, Insertion):
                value = evaluate(part.expression, lookup)
                reasons += value.reasons if isinstance(value, Unknown) else ()
        return Unknown(tuple(dict.fromkeys(reasons))) if reasons else None


class Guard(Struct, frozen=True):
    """A condition without which a rule says nothing."""

    test: Expression
    """What must be true."""

    otherwise: str
    """Why the rule is not applicable if it is not."""


class Caution(Struct, frozen=True):
    """A condition under which the advice of a rule is withheld."""

    when: Expression
    """What must not be true."""

    text: Template
    """Why the advice would then be wrong."""


OptionTemplate = Template | Mapping[str, "OptionTemplate"] | tuple["OptionTemplate", ...] | int | float | bool
"""The value of an option of a race, in which texts may have figures."""


class AdviceTemplate(Struct, frozen=True):
    """What a rule recommends."""

    text: Template
    """What to do, in a sentence without a full stop."""

    options: Mapping[str, OptionTemplate] = field(default_factory=dict)
    """Options of `pacenote race` that do it; empty if it needs to be done by hand."""

    when: Expression | None = None
    """When it is given; None for always."""


class Mechanism(Struct, frozen=True):
    """A figure that changes too if the advice works for the stated reason."""

    figure: str
    """Name of the figure."""

    direction: Direction
    """How it changes."""


class Bound(Struct, frozen=True):
    """The largest improvement that the advice can bring."""

    value: Expression
    """The relative improvement of the metric: 0.1 is 10 % more throughput, or 10 % less time. If the metric
    is `auto`, that of throughput.
    """

    assumes: str
    """Under which assumption that is the largest one."""

    excludes: str = ""
    """Other effects of the same advice, which the value does not include; empty if there are none."""

    time: Expression | None = None
    """If the metric is `auto`, the part of p99 that can be saved; None if nothing bounds it."""


class Rule(Struct, frozen=True, kw_only=True):
    """A rule. docs/reference/rules.md describes its file."""

    id: str
    """The id, such as `H1`."""

    title: str
    """What it finds, in a few words."""

    kind: RuleKind = "diagnosis"
    """Whether it explains or judges."""

    scope: Scope = "task"
    """What it is evaluated for."""

    tasks: TaskKind = "any"
    """The tasks that it is about."""

    needs: tuple[str, ...] = ()
    """Figures that must be observed."""

    guards: tuple[Guard, ...] = ()
    """Conditions without which it says nothing."""

    evidence: Expression
    """When it fires."""

    severe: Expression | None = None
    """When what it finds is severe; None for never."""

    finding: Template
    """What it finds, in one sentence without a full stop."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Its thresholds, by name."""

    advice: tuple[AdviceTemplate, ...] = ()
    """What it recommends, the best first."""

    bound: Bound | None = None
    """The largest improvement, or None if nothing bounds it."""

    metric: Metric = "auto"
    """What its advice is to improve."""

    confidence: float = 1.0
    """How often the advice helps if the rule fires, from 0 to 1, as far as its source tells."""

    mechanism: tuple[Mechanism, ...] = ()
    """The figures that change too."""

    cautions: tuple[Caution, ...] = ()
    """When its advice is withheld."""

    withheld_by: tuple[str, ...] = ()
    """Ids of rules that withhold its advice if they fire."""

    despite: tuple[str, ...] = ()
    """Ids of validity rules that make it neither inapplicable nor doubtful."""

    effect: Effect = "none"
    """What it does to the diagnosis if it is a validity rule that fires."""

    source: str
    """Where it comes from."""

    file: str = ""
    """Name of its file."""

    line: int = 0
    """The line of the file on which it begins."""


def _filled(part: str | Insertion | Template, lookup: Lookup) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Template):
        return "" if part.unknown(lookup) else part.fill(lookup)
    value = evaluate(part.expression, lookup)
    return NOT_OBSERVED if isinstance(value, Unknown) else format_value(value, part.unit)
