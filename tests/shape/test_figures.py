"""Figures are named once: other code chooses neither percentiles nor metrics of the engine, nor does it write
the keys of options.
"""

import ast

from pacenote.figures.catalogue import METRICS
from pacenote.model.sample_counts import PERCENTILES
from pacenote.model.system_metrics import SystemMetrics
from shape.sources import PACKAGE, label, parse

FREE = ("figures", "verdict", "lab", "stats", "telemetry")
"""Packages that may: the catalogue, rules of the verdict, experiments, and what measures."""

ALLOWED = {
    "python/pacenote/cli/add.py": "Rally's types of charts, of which some are called like figures",
    "python/pacenote/compare/deciding.py": "an imported task without a median has no times",
    "python/pacenote/diagnose/race_facts.py": "imported races have no `TaskResult`",
    "python/pacenote/metrics_store/metrics_documents.py": "a document has all figures of a job",
    "python/pacenote/model/finding.py": "rules of the verdict doubt results from a percentile on",
    "python/pacenote/model/headline.py": "one line says how fast a task that does not index was",
    "python/pacenote/model/imported.py": "from how many samples on Rally has a percentile",
    "python/pacenote/model/result.py": "the percentiles that the driver computes and Rally shows",
    "python/pacenote/model/sample_counts.py": "how many samples a percentile needs",
    "python/pacenote/report/notes.py": "medians say whether a task mostly waited",
    "python/pacenote/report/imported_rows.py": "kinds of rows, from Rally's names of times",
    "python/pacenote/report/page/race/tasks.py": "percentiles that a sentence names, and the slowest task",
    "python/pacenote/report/screen/imported.py": "the slowest imported task has the highest median",
    "python/pacenote/report/screen/task_tables.py": "median service time beside latency; needed samples",
    "python/pacenote/report/summary.py": "reports have the processing time if asked for it",
    "python/pacenote/model/tune.py": "a limit has a unit, and the model does not know the catalogue",
    "python/pacenote/report/task_line.py": "p50 and p99 in one phrase",
}
"""Other modules that may, with the reason. The list may only become shorter."""

CHOSEN = {*PERCENTILES}
FIELDS = set(SystemMetrics.__struct_fields__)
KEYS = {metric.option_key for metric in METRICS.values() if "-" in metric.option_key}
"""Names of metrics in options that are no words of other meanings, as `throughput` is."""


def chosen_in(tree: ast.AST) -> set[object]:
    """Returns the percentiles, names of metrics of the engine and keys of options among the constants of a
    module.
    """
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {
        value
        for value in constants
        if (isinstance(value, float) and value in CHOSEN)
        or (isinstance(value, str) and (value in FIELDS or value.strip(":-") in KEYS))
    }


def chosen() -> dict[str, set[object]]:
    paths = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in FREE]
    assert len(paths) > 100, "the guard found hardly any modules"
    by_file = {label(path): chosen_in(parse(path)) for path in paths}
    return {path: values for path, values in by_file.items() if values}


def test_only_the_catalogue_chooses_figures():
    assert {path: found for path, found in chosen().items() if path not in ALLOWED} == {}


def test_every_exception_is_needed():
    assert sorted(ALLOWED.keys() - chosen().keys()) == []


def test_percentiles_and_fields_are_found_in_code():
    assert chosen_in(ast.parse("times.at(99.0); getattr(system, 'merge_time'); 'a merge_time'; 99")) == {
        99.0,
        "merge_time",
    }
    keys = ast.parse("key == 'error-rate'; f'p{q}-service-time'; f'error-rate:{task}'; 'throughput'")
    assert chosen_in(keys) == {"error-rate", "-service-time", "error-rate:"}
    assert chosen_in(parse(PACKAGE / "figures" / "catalogue.py"))
