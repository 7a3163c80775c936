"""docs/reference/export.md has tables of the metrics and columns, which `UPDATE_GOLDEN=1` renews."""

import json
import os
import re
import subprocess
import sys

import pytest

from pacenote.export.table import COLUMNS
from pacenote.figures.catalogue import ENGINE, METRICS
from pacenote.model.system_metrics import SystemMetrics
from shape.sources import ROOT

PAGE = ROOT / "docs" / "reference" / "export.md"

UNITS = {"rate": "work per second, such as docs/s", "other": "stated with the figure"}


def metrics_table():
    lines = ["| metric | unit | what it is | `part` |", "| --- | --- | --- | --- |"]
    for metric in METRICS.values():
        unit = UNITS.get(metric.unit, metric.unit)
        lines.append(f"| `{metric.key}` | {unit} | {metric.text} | {metric.part} |")
    return lines


def columns_table():
    lines = ["| column | type | what it is |", "| --- | --- | --- |"]
    return lines + [f"| `{column.name}` | {column.kind} | {column.text} |" for column in COLUMNS]


@pytest.mark.parametrize(("name", "table"), [("metrics", metrics_table()), ("columns", columns_table())])
def test_the_reference_has_the_table(name, table):
    begin, end = f"<!-- {name}: written by tests/export -->\n", f"<!-- end of {name} -->"
    expected = f"{begin}\n" + "\n".join(table) + f"\n\n{end}"
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    if os.environ.get("UPDATE_GOLDEN"):
        text = PAGE.read_text()
        PAGE.write_text(re.sub(pattern, lambda _: expected, text, flags=re.DOTALL))
    tables = re.findall(pattern, PAGE.read_text(), flags=re.DOTALL)
    assert tables == [expected], "UPDATE_GOLDEN=1 renews it"


def test_names_of_metrics_are_names_of_families():
    assert [name for name in METRICS if not re.fullmatch(r"[a-z][a-z0-9_]*", name)] == []
    assert len(METRICS) > 50


@pytest.mark.parametrize("kind", ["engine", "task"])
def test_one_line_of_the_catalogue_adds_a_figure_everywhere(kind):
    script = ROOT / "tests" / "figures" / "added_figure.py"
    paths = os.pathsep.join(map(str, (ROOT / "tests", ROOT / "python")))
    shown = subprocess.run(
        [sys.executable, script, kind],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert json.loads(shown.stdout) == dict.fromkeys(
        ("report", "CSV", "HTML page", "comparison", "export", "metrics store", "rules"), True
    )


def test_every_field_of_the_engine_is_the_origin_of_a_metric():
    assert {metric.origin for metric in ENGINE} == set(SystemMetrics.__struct_fields__)
