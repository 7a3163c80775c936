"""`pacenote list rules` and `list figures`: the rules of the diagnosis, and the figures that they may use."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from pacenote.cli.console import Console
from pacenote.cli.output.tables import Fit, table
from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.figure_units import format_value
from pacenote.diagnose.rule import Rule
from pacenote.diagnose.rules_file import bundled_rules, read_rules, with_own_rules
from pacenote.model.output_text import json_text

_COLUMNS = ("Rule", "Finds", "For", "Needs", "Thresholds")


def all_rules(folder: Path | None) -> tuple[Rule, ...]:
    """Returns the bundled rules, and those in a folder. Raises UsageError."""
    return with_own_rules(bundled_rules(), () if folder is None else read_rules(folder))


def list_rules(options: argparse.Namespace, console: Console) -> str:
    """Returns the rules as text or JSON. Raises UsageError."""
    rules = all_rules(options.rules)
    if options.format == "json":
        return json_text([_document(rule) for rule in rules])
    rows = [(rule.id, rule.title, _subject(rule), ", ".join(rule.needs), _limits(rule)) for rule in rules]
    return table(_COLUMNS, rows, Fit(console.result_width, ((3, 20), (4, 24), (1, 30)), (3,), wraps_all=True))


def list_figures(options: argparse.Namespace, console: Console) -> str:
    """Returns the figures of the catalogue as text or JSON."""
    if options.format == "json":
        return json_text([to_builtins(figure) for figure in FIGURES.values()])
    rows = [(each.name, each.unit, each.source, each.meaning) for each in FIGURES.values()]
    headers = ("Figure", "Unit", "Source", "Meaning")
    return table(headers, rows, Fit(console.result_width, ((3, 30),), wraps_last=True))


def _subject(rule: Rule) -> str:
    return f"{rule.tasks} tasks" if rule.scope == "task" and rule.tasks != "any" else rule.scope


def _limits(rule: Rule) -> str:
    return ", ".join(
        f"{name} {format_value(each.value, each.unit)}" for name, each in rule.parameters.items()
    )


def _document(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "kind": rule.kind,
        "scope": rule.scope,
        "tasks": rule.tasks,
        "effect": rule.effect,
        "needs": list(rule.needs),
        "evidence": str(rule.evidence),
        "parameters": {
            name: {"value": each.value, "unit": each.unit, "meaning": each.meaning}
            for name, each in rule.parameters.items()
        },
        "bound": str(rule.bound.value) if rule.bound else None,
        "mechanism": [{"figure": each.figure, "direction": each.direction} for each in rule.mechanism],
        "source": rule.source,
        "file": rule.file,
    }
