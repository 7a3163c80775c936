"""`pacenote diagnose`: what made a race slow, how sure that is, and what to try."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.report_file import check_report_file, check_report_size, write_report_file
from pacenote.cli.parser import Parser
from pacenote.cli.program import program
from pacenote.errors import UsageError
from pacenote.model.output_text import json_text
from pacenote.model.shell_command import shell_command
from pacenote.store.race_store import RaceStore, check_home

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.diagnosis import Diagnosis
    from pacenote.report.diagnosis import DiagnosisSection
    from pacenote.store.race_groups import FoundGroup

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the races, the rules, the experiment to write, and the form of the report."""
    parser.add_argument(
        "races",
        metavar="RACE",
        nargs="+",
        help="ids of races, prefixes, 'latest', tag:KEY=VALUE or folders; several are also compared",
    )
    parser.add_argument("--rules", type=values.path, help="also evaluate the rules in this folder")
    parser.add_argument(
        "--write-experiment",
        type=values.output_file,
        metavar="PATH",
        help="write the experiment that tests the first advice to this file (.toml), or one for each advice "
        "to this folder",
    )
    parser.add_argument("--only", default="", metavar="RULE", help="write the experiment for this rule")
    with parser.group("report"):
        parser.add_argument(
            "--report",
            choices=("short", "full"),
            metavar="SIZE",
            help="short, the first cause on a screen, or full, all findings with their evidence and why the "
            "other rules did not fire (default: short on a terminal, otherwise full)",
            harmless=True,
        )
        parser.add_argument(
            "--full",
            dest="report",
            action="store_const",
            const="full",
            help="the same as --report=full",
            harmless=True,
        )
        parser.add_argument(
            "--report-format",
            choices=("markdown", "json"),
            metavar="FORMAT",
            help="markdown or json (default: text on a terminal, otherwise markdown)",
            harmless=True,
        )
        parser.add_argument(
            "--report-file",
            type=values.output_file,
            help="also write the full diagnosis to this file: markdown is appended, json gets a new file "
            "(default: none)",
        )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the diagnosis of each race and returns 0, whatever was found. Raises PacenoteError."""
    from pacenote.cli.lists.rules import all_rules
    from pacenote.diagnose.answers import diagnose
    from pacenote.evidence.stored_races import read_evidence, unfinished_races
    from pacenote.store.race_groups import find_group

    check_report_size(options)
    options.report_file = check_report_file(options.report_file)
    if options.only and options.write_experiment is None:
        raise UsageError("--only needs --write-experiment=PATH")
    rules = all_rules(options.rules)
    store = RaceStore()
    check_home(store.home)
    group = find_group(store, options.races)
    for text in (*group.left_out, *group.renamed):
        console.warning(text)
    for text in unfinished_races(group.races):
        console.warning(text)
    race_evidence = read_evidence(group)
    ids = [evidence.race_id for evidence in race_evidence]
    diagnoses = [
        diagnose(evidence, rules, [*ids[:number], *ids[number + 1 :]])
        for number, evidence in enumerate(race_evidence)
    ]
    _show(diagnoses, options, console)
    if options.write_experiment is not None:
        _write_experiments(diagnoses[0], group, options, console)
    return 0


def _show(diagnoses: Sequence[Diagnosis], options: argparse.Namespace, console: Console) -> None:
    """Prints the diagnoses, and writes them to `--report-file`. Raises StoreError."""
    on_terminal = console.shows_results_on_terminal and options.report_format is None
    size = options.report or ("short" if on_terminal else "full")
    if on_terminal or size == "short":
        _show_lines(diagnoses, console, full=size == "full")
    else:
        console.result(_text(diagnoses, options.report_format))
    if options.report_file is not None:
        text = _text(diagnoses, options.report_format)
        written = write_report_file(options.report_file, text, options.report_format)
        if written != options.report_file:
            console.progress(f"the report is in {written}, because {options.report_file.name} has one")


def _show_lines(diagnoses: Sequence[Diagnosis], console: Console, *, full: bool) -> None:
    from pacenote.report.render.diagnosis import diagnosis_lines
    from pacenote.report.render.screen import render_lines

    out = console.rich_results()
    for number, diagnosis in enumerate(diagnoses):
        if full or number:
            out.print()
        render_lines(diagnosis_lines(_title(diagnosis), _sections(diagnosis, full=full), out.width), out)
    if not full:
        diagnose = f"{program()} {shell_command('diagnose', diagnoses[0].races[0])}"
        out.print(f"\n{diagnose} --full", markup=False, highlight=False)
        if any(each.options for answer in diagnoses[0].findings for each in answer.advice[:1]):
            out.print(f"{diagnose} --write-experiment=try.toml", markup=False, highlight=False)


def _text(diagnoses: Sequence[Diagnosis], report_format: str | None) -> str:
    if report_format == "json":
        from pacenote.model.diagnosis import diagnoses_document

        return json_text(diagnoses_document(diagnoses))
    from pacenote.report.render.diagnosis import diagnosis_markdown

    return "\n".join(diagnosis_markdown(_title(each), _sections(each, full=True)) for each in diagnoses)


def _sections(diagnosis: Diagnosis, *, full: bool) -> tuple[DiagnosisSection, ...]:
    from pacenote.report.diagnosis import diagnosis_sections
    from pacenote.report.diagnosis_answer import diagnosis_answer

    return diagnosis_sections(diagnosis) if full else diagnosis_answer(diagnosis)


def _title(diagnosis: Diagnosis) -> str:
    others = f", compared with {', '.join(diagnosis.races[1:])}" if len(diagnosis.races) > 1 else ""
    return f"Diagnosis of race {diagnosis.races[0]}{others}"


def _write_experiments(
    diagnosis: Diagnosis, group: FoundGroup, options: argparse.Namespace, console: Console
) -> None:
    from pacenote.cli.lab.diagnosis_experiment import check_first, lacks_secrets, write_experiments
    from pacenote.cli.lab.experiment_check import RaceOptionCheck

    record = group.races[0].record
    check = RaceOptionCheck(console)
    unchecked = check_first(record)
    for file in write_experiments(diagnosis, record, options.write_experiment, options.only, check):
        if lacks_secrets(file):
            console.warning(f"{file} lacks secrets of the race, which were not stored: fill in '<hidden>'")
        if unchecked:
            console.warning(f"{file} is not run as it is: {unchecked}")
        console.progress(f"next: {program()} {shell_command('experiment', 'run', str(file))}")
