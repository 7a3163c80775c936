"""Formats results as Markdown for the README."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from outcome import BenchmarkError

BEGIN = "<!-- outcome: rewritten by benchmarks/run.py -->"
END = "<!-- end of outcome -->"

_WIDTH = 120

Document = Mapping[str, Any]


def read_results(folder: Path, names: Iterable[str]) -> dict[str, Document]:
    """Returns the stored results in the order of `names`; benchmarks without a stored result are omitted."""
    paths = {name: folder / f"{name}.json" for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def rewrite(readme: Path, results: Mapping[str, Document]) -> None:
    """Writes the results between the two markers in the README. Raises BenchmarkError if one is missing."""
    text = readme.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise BenchmarkError(f"{readme.name} lacks the line {BEGIN} or {END}")
    readme.write_text(f"{before}{BEGIN}\n\n{markdown(results)}\n{END}{after}")


def markdown(results: Mapping[str, Document]) -> str:
    """Returns the targets, then the figures of each benchmark with the command and date of its run."""
    if not results:
        return "No run has been stored yet.\n"
    parts = ["### Targets", "", *_targets(results), ""]
    for name, document in results.items():
        parts += [f"### {name}", "", *_benchmark(document), ""]
    parts += ["### Environment", "", *_environments(results)]
    return "\n".join(parts) + "\n"


def _targets(results: Mapping[str, Document]) -> Sequence[str]:
    rows: list[Sequence[str]] = []
    for name, document in results.items():
        for target in document["targets"]:
            side = "at most" if "at most" in target else "at least"
            limit = f"{side} {_figure(target[side], target['unit'])}"
            measured = _figure(target["measured"], target["unit"])
            outcome = target["outcome"]
            shown = f"**{outcome}**" if outcome == "missed" else outcome
            rows.append((name, target["what"], limit, measured, _interval(target["interval"]), shown))
    head = ("benchmark", "what", "target", "median", "95 % interval", "outcome")
    return _table(head, rows) if rows else ()


def _benchmark(document: Document) -> Sequence[str]:
    """Returns the figures and notes of one benchmark."""
    quick = ", **quick: not to be quoted**" if document["quick"] else ""
    lines = [f"`{document['command']}`, {document['date']}{quick}", ""]
    if document["skipped"]:
        return [*lines, f"Skipped: {document['skipped']}"]
    rows = []
    for figure in document["figures"]:
        unit = figure["unit"]
        spread = f"{_number(figure['min'])} to {_number(figure['max'])}"
        count = str(len(figure["values"]))
        interval = _interval(figure["interval"])
        rows.append((figure["name"], _figure(figure["median"], unit), interval, spread, count))
    lines += [*_table(("figure", "median", "95 % interval", "range", "values"), rows), ""]
    notes = [*document["notes"]]
    notes += [f"incomplete: {document['incomplete']}"] if document["incomplete"] else []
    load, used, stolen = (document["processor"][k] for k in ("load_before", "used_percent", "stolen_percent"))
    notes.append(
        f"load before: {load}; CPU time of all cores: {used} % used by this machine, {stolen} % by other"
        " virtual machines"
    )
    return [*lines, *_items(notes)]


def _environments(results: Mapping[str, Document]) -> Sequence[str]:
    """Returns one line for each environment, with the benchmarks that ran in it."""
    names_by_text: dict[str, list[str]] = {}
    for name, document in results.items():
        environment = document["environment"]
        gigabytes = round(environment["memory_bytes"] / 2**30) if environment["memory_bytes"] else "?"
        text = (
            f"{environment['cpu_usable_cores']} cores, shared virtual machine: {environment['cpu_model']},"
            f" {gigabytes} GiB, Linux {environment['kernel']}; Python {environment['python']},"
            f" Pacenote {environment['pacenote']} at {environment['commit']}"
        )
        names_by_text.setdefault(text, []).append(name)
    return _items(f"{', '.join(names)}: {text}" for text, names in names_by_text.items())


def _items(texts: Iterable[str]) -> list[str]:
    """Returns a list with one item for each text, whose lines are as long as those of the other pages."""
    return [
        textwrap.fill(f"- {text}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for text in texts
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _interval(bounds: Sequence[float] | None) -> str:
    """Formats the bounds of an interval; with too few values, there is none."""
    return f"{_number(bounds[0])} to {_number(bounds[1])}" if bounds else "–"


def _figure(value: float, unit: str) -> str:
    return _number(value) if unit == "ratio" else f"{_number(value)} {unit}"


def _number(value: float) -> str:
    """Formats a value with three significant digits, or with all digits of its integer part."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
