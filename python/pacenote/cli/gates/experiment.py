"""`--fail-on` and JUnit of `pacenote experiment`: the gates of `pacenote compare` for each contender."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.gates.comparison import gate_result
from pacenote.errors import PacenoteError, UsageError, VoidRace

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison
    from pacenote.model.experiment import DesignKind
    from pacenote.model.experiment_result import ExperimentResult

_WITHOUT_VERDICTS = ("noise", "screening")
"""Designs that compare no variants."""


def check_gates(design: DesignKind, options: argparse.Namespace) -> None:
    """Raises UsageError for `--fail-on` or JUnit with a design that has no comparisons."""
    if design in _WITHOUT_VERDICTS:
        named = (
            "--fail-on" if options.fail_on else "--require" if options.require else "--report-format=junit"
        )
        if options.fail_on or options.require or options.report_format == "junit":
            raise UsageError(f"{named} needs verdicts on variants, which the design {design} does not have")


def is_gated(options: argparse.Namespace) -> bool:
    """Returns whether there are gates or requirements."""
    return bool(options.fail_on or options.require)


def gated_exit_code(result: ExperimentResult, options: argparse.Namespace, console: Console) -> int:
    """Returns the exit code of an experiment with `--fail-on` or `--require`, and says why a gate fires, or
    cannot.

    Raises UsageError if one of them names a metric that does not exist.
    """
    fired = False
    for name, comparison in _compared(result):
        if comparison is None:
            option = "--fail-on" if options.fail_on else "--require"
            console.warning(f"{option}: {name} has no races to compare")
            fired = True
            continue
        gates = gate_result(comparison, options.fail_on, options.require)
        for text in filter(None, (gates.text, *gates.warnings)):
            console.warning(f"{name}: {text}")
        fired = fired or bool(gates.text)
    return VoidRace.exit_code if fired else 0


def exit_code(result: ExperimentResult) -> int:
    """Returns the exit code for a result: 64 if there is nothing to compare, 3 if nothing may be compared."""
    if not result.has_races:
        return PacenoteError.exit_code
    return VoidRace.exit_code if result.is_void else 0


def result_junit(result: ExperimentResult, options: argparse.Namespace) -> str:
    """Returns a result as JUnit XML with one test suite for each contender."""
    from pacenote.report.render.comparison_junit import error_suite, render_suites, suite

    suites = []
    for name, comparison in _compared(result):
        title = f"{result.experiment_id}: {name}"
        if comparison is None:
            failures = [f"{one.name} failed: {one.failure}" for one in result.variants if one.failure]
            suites.append(error_suite(title, "; ".join(("no races to compare", *failures))))
            continue
        gates = gate_result(comparison, options.fail_on, options.require)
        suites.append(suite(title, comparison, gates.failed, gates.warnings))
    return render_suites(suites, "pacenote experiment")


def _compared(result: ExperimentResult) -> Iterator[tuple[str, Comparison | None]]:
    """Yields the contenders with their comparisons; of a ladder that kept a step, its best against its start:
    a step that is worse is not kept, which is no failure. If none of its steps could be compared, these are
    its contenders.
    """
    if result.design == "ladder":
        steps = result.variants[1:]
        if any(step.adopted for step in steps) or result.state in ("unfinished", "running"):
            yield "best", result.confirmation
        elif all(step.comparison is None or step.comparison.answer == "void" for step in steps):
            yield from ((step.name, step.comparison) for step in steps)
        return
    for variant in result.variants:
        if variant.name != result.baseline:
            yield variant.name, variant.comparison
