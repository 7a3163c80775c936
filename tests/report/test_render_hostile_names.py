"""Texts of a stored saturation and search, which may come from others, in Markdown and on a terminal."""

import io
import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console as RichConsole

from pacenote.cli.lab.experiment_output import report_markdown, report_text
from pacenote.model.race_record import Verdict
from pacenote.report.experiment import build_experiment_report
from pacenote.report.render.markdown import pipe_table
from pacenote.report.render.saturation import print_saturation, render_saturation
from pacenote.report.saturation import build_saturation_report
from pacenote.report.tune import build_tune_report
from report.page import examples
from report.test_saturation import FOUND, NEXT, STORED

EVIL = "<img src=x onerror=alert(1)>[click](javascript:x)![i](http://x)|[link=http://x/]y[/link][/x]"


def hostile(value: Any, hint: Any = None) -> Any:
    """Returns a value in which each text that may be any text is one that outputs would obey."""
    if isinstance(value, str):
        return EVIL if hint is str or str in get_args(hint) else value
    if isinstance(value, msgspec.Struct):
        hints = get_type_hints(type(value))
        fields = value.__struct_fields__
        return replace(value, **{name: hostile(getattr(value, name), hints[name]) for name in fields})
    inner = [arg for arg in get_args(hint) if arg not in (Ellipsis, NoneType)]
    if isinstance(value, Mapping):
        return {key: hostile(item, inner[-1]) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(hostile(item, inner[0]) for item in value)
    return value


def check_markdown(text: str) -> None:
    assert "img src" in text
    assert not re.search(r"(?<!\\)<", text), text
    assert not re.search(r"(?<!\\)\](?=[(\[:])", text), text
    lines = text.splitlines()
    for rule in (line for line in lines if re.fullmatch(r"\|[ :|-]+\|", line)):
        at = lines.index(rule)
        for line in (lines[at - 1], lines[at + 1]):
            assert len(re.findall(r"(?<!\\)\|", line)) == rule.count("|"), line


def test_no_text_of_a_saturation_is_obeyed() -> None:
    level = replace(FOUND.levels[0], left_out=("x",))
    result = hostile(replace(FOUND, notes=("x",), levels=(level,)))
    report = build_saturation_report(result, Verdict("void", (EVIL,)))
    check_markdown(render_saturation(report))
    rounded = build_saturation_report(result, Verdict("void", (EVIL,)), rounded=True)
    shown = io.StringIO()
    print_saturation(rounded, STORED, NEXT, RichConsole(file=shown, width=900, force_terminal=True))
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown.getvalue())
    assert "\x1b" not in plain, "no text is a link or a style"
    head = next(line for line in plain.splitlines() if "clients" in line and "┃" in line)
    assert EVIL in head


def test_no_text_of_a_search_or_an_experiment_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "HOSTILE", EVIL)
    tune = build_tune_report(examples.hostile_tune_page().result)
    check_markdown(report_markdown(tune))
    heads = {head for table in tune.tables for head in table.headers}
    assert any(EVIL in head for head in heads)
    assert EVIL in report_text(tune, None)
    check_markdown(report_markdown(build_experiment_report(examples.hostile_pair_page().result)))


def test_a_table_escapes_its_heads_as_its_cells() -> None:
    check_markdown(pipe_table((EVIL, "b"), [("a", EVIL)], "decimal"))
