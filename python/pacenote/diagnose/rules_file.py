"""Reads files with rules, and reports all their mistakes at once.

[[rule]]
id = "H1"
title = "the heap is too small for the load"
needs = ["gc.stop_share", "gc.young_interval_s", "gc.live_share"]
evidence = "gc.stop_share > stop and gc.young_interval_s < interval and gc.live_share < live"
severe = "gc.stop_share > 0.1"
finding = "threads were stopped for {gc.stop_share} of the time, every {gc.young_interval_s}"
source = "S1, throughput recommendation 1"

[rule.parameters]
stop = {value = 0.05, unit = "share", meaning = "stopped part of the window"}
interval = {value = 1.0, unit = "s", meaning = "time between young collections"}
live = {value = 0.6, unit = "share", meaning = "live data of the heap"}

[rule.bound]
value = "1 / (1 - gc.stop_share) - 1"
assumes = "no pause is left"

[[rule.mechanism]]
figure = "gc.stop_share"
direction = "falls"

[[rule.advice]]
text = "double the heap to {jvm.heap_max_bytes * 2|heap}"
options = {car-params = {heap_size = "{jvm.heap_max_bytes * 2|heap}"}}

[[rule.cautions]]
when = "jvm.heap_max_bytes * 2 > host.memory_bytes / 2"
text = "the heap would be larger than half of the memory ({host.memory_bytes})"
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pacenote.diagnose import rule as rules
from pacenote.diagnose.catalogue import figure_named
from pacenote.diagnose.expression import (
    RESERVED_WORDS,
    Expression,
    ExpressionError,
    Kind,
    is_figure,
    kind_of,
    names_of,
    parse_expression,
)
from pacenote.diagnose.figure_units import KINDS, Unit
from pacenote.diagnose.rule import Rule
from pacenote.errors import UsageError
from pacenote.model.decoding import parse_toml
from pacenote.model.messages import did_you_mean
from pacenote.model.problems import MOST_PROBLEMS, TooManyProblems, check_count, count_text

BUNDLED = Path(__file__).with_name("rules")
"""The folder of the rules that come with Pacenote."""

MAX_BYTES = 1 << 20
"""Largest size of a file with rules."""

MAX_FILES = 1_000
"""Largest number of files with rules in a folder."""

_RULE_KEYS = (
    *("id", "title", "kind", "scope", "tasks", "needs", "guards", "evidence", "severe", "finding"),
    *("parameters", "advice", "bound", "metric", "confidence", "mechanism", "cautions"),
    *("withheld-by", "despite", "effect", "source"),
)
_MAX_DEPTH = 8
"""Largest number of tables and lists inside each other in an option of advice."""

_TYPES: Mapping[Kind, type] = {"number": float, "text": str, "truth": bool}
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,19}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]*")
_INSERTION = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*\{[^\[\]]*)\]")
"""A part of a text that is left out if a figure in it was not observed: brackets around a value in braces."""


class RuleFileError(UsageError):
    """Files with rules have mistakes. `problems` lists all of them, each with its file and line."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


@cache
def bundled_rules() -> tuple[Rule, ...]:
    """Returns the rules that come with Pacenote, in the order of their files. Raises RuleFileError.

    They are read once, because the server diagnoses many races.
    """
    return read_rules(BUNDLED)


def read_rules(folder: Path) -> tuple[Rule, ...]:
    """Returns the rules of the TOML files in a folder. Raises RuleFileError with all mistakes."""
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except OSError as error:
        raise RuleFileError(f"the folder of rules {folder} cannot be read: {error.strerror}") from error
    if not files or len(files) > MAX_FILES:
        count = "no TOML file" if not files else f"more than {MAX_FILES:,} files"
        raise RuleFileError(f"the folder of rules {folder} has {count}", hint="docs/reference/rules.md")
    all_rules: list[Rule] = []
    problems: list[str] = []
    for file in files:
        reader = _FileReader(file.name, _text(file))
        all_rules += reader.read()
        problems += reader.problems
        if len(problems) >= MOST_PROBLEMS:
            raise _mistakes(folder, problems)
    ids = [rule.id for rule in all_rules]
    problems += [
        f"{rule.file}: line {rule.line}: the id {rule.id} is used twice"
        for at, rule in enumerate(all_rules)
        if rule.id in ids[:at]
    ]
    if problems:
        raise _mistakes(folder, problems)
    return tuple(all_rules)


def with_own_rules(bundled: Sequence[Rule], own: Sequence[Rule]) -> tuple[Rule, ...]:
    """Returns both; an own rule replaces the bundled one with its id.

    Raises RuleFileError if a rule refers to one that does not exist.
    """
    replaced = {rule.id: rule for rule in own}
    together = [replaced.pop(rule.id, rule) for rule in bundled]
    together += replaced.values()
    known = {rule.id for rule in together}
    problems = [
        f"{rule.file}: line {rule.line}: {rule.id}: there is no rule '{name}'{did_you_mean(name, known)}"
        for rule in together
        for name in (*rule.withheld_by, *rule.despite)
        if name not in known
    ]
    if problems:
        raise RuleFileError("rules refer to others that do not exist", problems=tuple(problems))
    return tuple(together)


def _unit(name: object) -> Unit | None:
    return next((unit for unit in KINDS if unit == name), None)


def _mistakes(folder: Path, problems: Sequence[str]) -> RuleFileError:
    if len(problems) == 1:
        return RuleFileError(f"{folder}/{problems[0]}")
    text = f"the rules in {folder} have {count_text(problems)}"
    return RuleFileError(text, problems=tuple(problems[:MOST_PROBLEMS]))


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise RuleFileError(f"{file} is larger than 1 MiB: it is not a file with rules")
        return data.decode("utf-8")
    except OSError as error:
        raise RuleFileError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{file} is not UTF-8 text") from error


class _FileReader:
    """Reads one file and collects its problems."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self.problems: list[str] = []

    def read(self) -> list[Rule]:
        try:
            document = parse_toml(self._text)
        except (ValueError, RecursionError) as error:
            self.problems.append(f"{self._file} is not valid TOML: {error}")
            return []
        entries = document.get("rule")
        if set(document) != {"rule"} or not isinstance(entries, list):
            self.problems.append(f"{self._file} must consist of [[rule]] tables")
            return []
        lines = [
            number
            for number, line in enumerate(self._text.splitlines(), 1)
            if re.match(r"\s*\[\[\s*rule\s*\]\]", line)
        ]
        valid_rules = []
        for at, entry in enumerate(entries):
            line = lines[at] if len(lines) == len(entries) else 0
            reader = _RuleReader(entry if isinstance(entry, dict) else {}, self._file, line)
            try:
                read = reader.read()
            except TooManyProblems:
                read = None
            self.problems += reader.problems
            if len(self.problems) >= MOST_PROBLEMS:
                break
            valid_rules += [] if read is None else [read]
        return valid_rules


class _RuleReader:
    """Reads one rule and collects its problems."""

    def __init__(self, table: Mapping[str, Any], file: str, line: int) -> None:
        self._table = table
        self._file = file
        self._line = line
        self._parameters: dict[str, rules.Parameter] = {}
        self._used: set[str] = set()
        self.problems: list[str] = []

    def read(self) -> Rule | None:
        """Returns the rule, or None if it has problems."""
        for key in self._table.keys() - set(_RULE_KEYS):
            self._add(f'"{key}" is not a key of a rule{did_you_mean(key, _RULE_KEYS)}')
        self._read_parameters()
        evidence = self._expression(self._table.get("evidence"), "evidence", "truth")
        finding = self._template(self._table.get("finding"), "finding")
        if evidence is None or finding is None:
            return None
        rule = Rule(
            id=self._id(),
            title=self._words("title"),
            kind=self._choice("kind", rules.RuleKind, "diagnosis"),
            scope=self._choice("scope", rules.Scope, "task"),
            tasks=self._choice("tasks", rules.TaskKind, "any"),
            needs=self._needs(),
            guards=self._guards(),
            evidence=evidence,
            severe=self._optional("severe", "truth"),
            finding=finding,
            parameters=self._parameters,
            advice=self._advice(),
            bound=self._bound(),
            metric=self._choice("metric", rules.Metric, "auto"),
            confidence=self._confidence(),
            mechanism=self._mechanism(),
            cautions=self._cautions(),
            withheld_by=self._names("withheld-by"),
            despite=self._names("despite"),
            effect=self._choice("effect", rules.Effect, "none"),
            source=self._words("source"),
            file=self._file,
            line=self._line,
        )
        self._check(rule)
        return None if self.problems else rule

    def _check(self, rule: Rule) -> None:
        if (rule.kind == "validity") == (rule.effect == "none"):
            self._add("effect belongs to rules of the kind validity, which must have one")
        for name in self._parameters.keys() - self._used:
            self._add(f"the parameter {name} is not used")

    def _add(self, text: str) -> None:
        name = self._table.get("id")
        rule = f"{name}: " if isinstance(name, str) else ""
        check_count(self.problems)
        self.problems.append(f"{self._file}: line {self._line}: {rule}{text}")

    def _words(self, key: str) -> str:
        value = self._table.get(key)
        if isinstance(value, str) and value.strip():
            return value
        self._add(f"{key} must be a text" if key in self._table else f"{key} is missing")
        return ""

    def _id(self) -> str:
        name = self._words("id")
        if name and not _ID.fullmatch(name):
            self._add("an id has at most 20 letters, digits, _ and -, and begins with a letter")
        return name

    def _choice(self, key: str, kind: Any, default: str) -> Any:
        value = self._table.get(key, default)
        known = get_args(kind)
        if value not in known:
            self._add(f"{key} must be one of {', '.join(known)}, not {value!r}")
        return value

    def _names(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._add(f"{key} must be a list of texts")
            return ()
        return tuple(value)

    def _needs(self) -> tuple[str, ...]:
        for name in (names := self._names("needs")):
            try:
                self._kind_of_name(name, "needs")
            except ExpressionError as error:
                self._add(f"needs: {error}")
        return names

    def _confidence(self) -> float:
        value = self._table.get("confidence", 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            self._add("confidence must be a number above 0, at most 1")
            return 1.0
        return float(value)

    def _read_parameters(self) -> None:
        table = self._table.get("parameters", {})
        for name, entry in (table if isinstance(table, dict) else {"parameters": None}).items():
            if not _PARAMETER.fullmatch(name) or name in RESERVED_WORDS:
                self._add(f"{name} cannot be the name of a parameter")
            if isinstance(entry, dict) and set(entry) == {"value", "unit", "meaning"}:
                self._read_parameter(name, entry)
            else:
                self._add(f"the parameter {name} needs a value, a unit and a meaning")

    def _read_parameter(self, name: str, entry: Mapping[str, Any]) -> None:
        value: Any = entry["value"]
        unit = _unit(entry["unit"])
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if unit is None:
            self._add(f"the unit of the parameter {name} must be one of {', '.join(KINDS)}")
        elif isinstance(value, float) and not math.isfinite(value):
            self._add(f"the value of the parameter {name} is not finite")
        elif not isinstance(value, float | str | bool) or type(value) is not _TYPES[KINDS[unit]]:
            self._add(f"the value of the parameter {name} does not have the unit {unit}")
        else:
            self._parameters[name] = rules.Parameter(value, unit, str(entry["meaning"]))

    def _kind_of_name(self, name: str, key: str) -> Kind:
        return KINDS[self._unit_of_name(name, key)]

    def _unit_of_name(self, name: str, key: str) -> Unit:
        if not is_figure(name):
            if name not in self._parameters:
                raise ExpressionError(f"there is no parameter '{name}'{did_you_mean(name, self._parameters)}")
            self._used.add(name)
            return self._parameters[name].unit
        figure = figure_named(name)
        if isinstance(figure, str):
            if key == "needs":
                self._add(f"needs: {figure}")
                return "count"
            raise ExpressionError(figure)
        return figure.unit

    def _expression(self, text: object, key: str, wanted: Kind) -> Expression | None:
        if not isinstance(text, str):
            self._add(f"{key} must be an expression" if text is not None else f"{key} is missing")
            return None
        try:
            expression = parse_expression(text)
            kind = kind_of(expression, lambda name: self._kind_of_name(name, key))
        except ExpressionError as error:
            self._add(f"{key}: {error}")
            return None
        if kind != wanted:
            self._add(f"{key} must be a {wanted}, not a {kind}")
        return expression

    def _optional(self, key: str, wanted: Kind) -> Expression | None:
        return self._expression(self._table[key], key, wanted) if key in self._table else None

    def _template(self, text: object, key: str) -> rules.Template | None:
        if not isinstance(text, str) or not text:
            self._add(f"{key} must be a text" if text is not None else f"{key} is missing")
            return None
        parts: list[str | rules.Insertion | rules.Template] = []
        for number, part in enumerate(_OPTIONAL.split(text)):
            pieces = self._parts(part, key)
            parts += [rules.Template(tuple(pieces))] if number % 2 else pieces
        return rules.Template(tuple(parts))

    def _parts(self, text: str, key: str) -> list[str | rules.Insertion]:
        parts: list[str | rules.Insertion] = []
        at = 0
        for match in _INSERTION.finditer(text):
            inserted = self._insertion(match[1], key)
            parts += [text[at : match.start()], *([inserted] if inserted else [])]
            at = match.end()
        parts.append(text[at:])
        if any("{" in part or "}" in part for part in parts if isinstance(part, str)):
            self._add(f"{key}: a brace has no partner")
        return [part for part in parts if part]

    def _insertion(self, text: str, key: str) -> rules.Insertion | None:
        source, _, unit = text.partition("|")
        try:
            expression = parse_expression(source)
            kind = kind_of(expression, lambda name: self._kind_of_name(name, key))
            shown = unit.strip() or next((self._unit_of_name(name, key) for name in names_of(expression)), "")
        except ExpressionError as error:
            self._add(f"{key}: {error}")
            return None
        inserted = _unit(shown)
        if inserted is not None and KINDS[inserted] == kind:
            return rules.Insertion(expression, inserted)
        self._add(f"{key}: '{{{text}}}' needs a unit, such as {{{source.strip()}|share}}, of the kind {kind}")
        return None

    def _tables(self, key: str, keys: Sequence[str]) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """Yields the tables of a list, with their names in messages."""
        entries = self._table.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self._add(f"{key} must be [[rule.{key}]] tables")
            return
        for number, entry in enumerate(entries, 1):
            where = f"{key} {number}"
            for unknown in entry.keys() - set(keys):
                self._add(f'{where}: "{unknown}" is not one of its keys{did_you_mean(unknown, keys)}')
            yield where, entry

    def _guards(self) -> tuple[rules.Guard, ...]:
        guards = []
        for where, entry in self._tables("guards", ("test", "otherwise")):
            test = self._expression(entry.get("test"), f"{where}: test", "truth")
            if not isinstance(reason := entry.get("otherwise"), str):
                self._add(f"{where}: otherwise must be a text")
            elif test is not None:
                guards.append(rules.Guard(test, reason))
        return tuple(guards)

    def _cautions(self) -> tuple[rules.Caution, ...]:
        cautions = []
        for where, entry in self._tables("cautions", ("when", "text")):
            when = self._expression(entry.get("when"), f"{where}: when", "truth")
            text = self._template(entry.get("text"), f"{where}: text")
            if when is not None and text is not None:
                cautions.append(rules.Caution(when, text))
        return tuple(cautions)

    def _mechanism(self) -> tuple[rules.Mechanism, ...]:
        mechanisms = []
        for where, entry in self._tables("mechanism", ("figure", "direction")):
            name, direction = entry.get("figure"), entry.get("direction")
            problem = figure_named(name) if isinstance(name, str) else "figure must be a text"
            if isinstance(problem, str):
                self._add(f"{where}: {problem}")
            elif direction == "rises" or direction == "falls":  # mypy narrows it
                mechanisms.append(rules.Mechanism(problem.name, direction))
            else:
                self._add(f"{where}: direction must be rises or falls")
        return tuple(mechanisms)

    def _bound(self) -> rules.Bound | None:
        entry = self._table.get("bound")
        if entry is None:
            return None
        if not isinstance(entry, dict) or set(entry) - {"excludes", "time"} != {"value", "assumes"}:
            self._add("bound must be a table with a value and what it assumes; it may have time and excludes")
            return None
        value = self._expression(entry["value"], "bound", "number")
        time = self._expression(entry["time"], "bound: time", "number") if "time" in entry else None
        if time is not None and self._table.get("metric", "auto") != "auto":
            self._add('bound: time belongs to rules with the metric "auto"')
        excludes = entry.get("excludes", "")
        for key, text in (("assumes", entry["assumes"]), ("excludes", excludes)):
            if not isinstance(text, str):
                self._add(f"bound: {key} must be a text")
        return None if value is None else rules.Bound(value, str(entry["assumes"]), str(excludes), time)

    def _advice(self) -> tuple[rules.AdviceTemplate, ...]:
        advice = []
        for where, entry in self._tables("advice", ("text", "options", "when")):
            text = self._template(entry.get("text"), f"{where}: text")
            options = entry.get("options", {})
            when = None
            if "when" in entry:
                when = self._expression(entry["when"], f"{where}: when", "truth")
            if not isinstance(options, dict):
                self._add(f"{where}: options must be a table")
            elif text is not None:
                patch = {name: self._option(value, f"{where}: {name}") for name, value in options.items()}
                advice.append(rules.AdviceTemplate(text, patch, when))
        return tuple(advice)

    def _option(self, value: object, where: str, depth: int = 0) -> rules.OptionTemplate:
        if isinstance(value, str):
            return self._template(value, where) or rules.Template(())
        if isinstance(value, bool | int | float):
            return value
        if depth == _MAX_DEPTH or not isinstance(value, dict | list):
            self._add(
                f"{where} is nested too deep" if depth == _MAX_DEPTH else f"{where} cannot be {value!r}"
            )
        elif isinstance(value, dict):
            return {name: self._option(item, f"{where}.{name}", depth + 1) for name, item in value.items()}
        else:
            return tuple(self._option(item, where, depth + 1) for item in value)
        return False
