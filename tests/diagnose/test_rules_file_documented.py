"""docs/reference/rules.md has a table of the bundled rules, which UPDATE_GOLDEN=1 renews."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from pacenote.diagnose.figure_units import format_value
from pacenote.diagnose.rule import Rule
from pacenote.diagnose.rules_file import BUNDLED, bundled_rules

PAGE = Path(__file__).parents[2] / "docs/reference/rules.md"
HEAD = "| rule | finds | fires if | with | source |\n| --- | --- | --- | --- | --- |\n"


def evidences() -> dict[str, str]:
    """Returns the evidence of each rule as its file has it, on one line."""
    tables = [tomllib.loads(file.read_text())["rule"] for file in BUNDLED.glob("*.toml")]
    return {rule["id"]: " ".join(rule["evidence"].split()) for rules in tables for rule in rules}


def row(rule: Rule, evidence: str) -> str:
    limits = ", ".join(
        f"`{name}` {format_value(each.value, each.unit)}" for name, each in rule.parameters.items()
    )
    cells = (rule.id, rule.title, f"`{evidence}`", limits or "–", " ".join(rule.source.split()))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def table() -> Iterator[str]:
    given = evidences()
    yield HEAD
    rules = [rule for rule in bundled_rules() if rule.kind == "diagnosis"]
    for rule in sorted(rules, key=lambda each: (each.id[0], int(each.id[1:]))):
        yield row(rule, given[rule.id])


def test_the_page_has_all_bundled_rules() -> None:
    text = PAGE.read_text()
    before, head, rest = text.partition(HEAD)
    assert head, "docs/reference/rules.md has lost its table of rules"
    rows = [line for line in rest.splitlines(keepends=True) if line.startswith("|")]
    after = rest.removeprefix("".join(rows))
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(before + "".join(table()) + after)
    else:
        assert head + "".join(rows) == "".join(table()), "UPDATE_GOLDEN=1 renews it"
