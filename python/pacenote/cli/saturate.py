"""`pacenote saturate`: finds the highest rate at which a task meets an objective."""

from __future__ import annotations

import argparse
import dataclasses
import math
from typing import TYPE_CHECKING

from msgspec import structs

from pacenote.cli import race
from pacenote.cli.console import Console
from pacenote.cli.interruption import NO_PROBE, printing_report, stored_saturation
from pacenote.cli.lab.saturation_output import check_saturation_format, show_saturation
from pacenote.cli.metrics_store.races import add_to_store
from pacenote.cli.options import values
from pacenote.cli.options.metrics_store import configured_store
from pacenote.cli.options.race_trust import remember_options
from pacenote.cli.options.rally_ini import show_rally_settings
from pacenote.cli.options.telemetry import TELEMETRY_OPTIONS
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.output.race_page import add_page
from pacenote.cli.output.report_output import check_report_file
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted, UsageError, VoidRace
from pacenote.race.stop_signals import block_signals, exit_at_third, interrupting
from pacenote.store.home import RACES

if TYPE_CHECKING:
    from pacenote.lab.saturation_request import SaturationRequest

UNAVAILABLE_OPTIONS = race.UNAVAILABLE_OPTIONS

_REFUSED = ("dry_run", "warmup_drain", *TELEMETRY_OPTIONS)
"""Options of `race` that a search refuses."""

MIN_START_RATE = 10.0
"""Lowest rate, in operations per second, at which a search begins without `--start-rate`."""


def add_options(parser: Parser) -> None:
    """Adds the options of the search, and those of `race`."""
    with parser.group("search"):
        _add_search_options(parser)
    race.add_options(parser)
    for name in _REFUSED:
        parser.hide(f"--{name.replace('_', '-')}")
    # Probes always run open loop, and without telemetry devices; the host is always sampled.
    parser.set_defaults(open_loop=True, max_connections=64, default_telemetry=False)


def _add_search_options(parser: Parser) -> None:
    parser.add_argument(
        "--task",
        help="name of the task (default: the last of the challenge that is not administrative)",
        harmless=True,
    )
    parser.add_argument(
        "--objective",
        default="",
        metavar="LIMITS",
        help="latency limits: p99:100ms,p50:20ms; in ms without a unit (default: none; the engine must only "
        "keep up)",
        harmless=True,
    )
    parser.add_argument(
        "--start-rate",
        type=values.above_zero,
        metavar="OPS",
        help="first rate in ops/s (default: the lowest that --probe-time suffices for, at least 10)",
        harmless=True,
    )
    parser.add_argument(
        "--min-rate",
        type=values.above_zero,
        default=0.1,
        metavar="OPS",
        help="lowest rate in ops/s (0.1)",
        harmless=True,
    )
    parser.add_argument(
        "--max-rate",
        type=values.above_zero,
        default=1e6,
        metavar="OPS",
        help="highest rate in ops/s (1000000)",
        harmless=True,
    )
    parser.add_argument(
        "--precision",
        type=values.above_zero,
        default=3.0,
        metavar="PERCENT",
        help="width of the answer in percent (3)",
        harmless=True,
    )
    _add_run_options(parser)


def _add_run_options(parser: Parser) -> None:
    parser.add_argument(
        "--probe-time",
        type=values.above_zero,
        default=20.0,
        metavar="S",
        help="measured seconds of a probe (20)",
        harmless=True,
    )
    parser.add_argument(
        "--probe-warmup",
        type=values.above_zero,
        default=5.0,
        metavar="S",
        help="warm-up seconds of a probe (5)",
        harmless=True,
    )
    parser.add_argument(
        "--sweep-clients",
        type=values.clients_or_none,
        default=32,
        metavar="N",
        help="after the search, the task also runs in a closed loop, in which clients wait for responses, "
        "with 1, 2, 4, … up to this number of clients; 0, or from 6 (default: 32)",
        harmless=True,
    )
    parser.add_argument(
        "--sweep-time",
        type=values.above_zero,
        default=5.0,
        metavar="S",
        help="measured seconds of each level (5)",
        harmless=True,
    )
    parser.add_argument(
        "--prepare",
        choices=("needed", "all"),
        metavar="TASKS",
        default="needed",
        help="tasks that run once before it: needed, without those that only read, or all (default: needed)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Searches, prints the result, and returns the exit code. Raises PacenoteError."""
    from pacenote.lab.saturate import Saturation, saturate

    check_saturation_format(options)
    request = build_request(options)
    check_report_file(options)
    metrics_store = configured_store(options)
    show_rally_settings(options, console)
    for text in race.options_without_effect(options, request.race):
        console.warning(text)
    if options.owns_process:
        console.keep_results_apart()
    with exit_at_third(console.error_at_exit), interrupting():
        try:
            with progress_listener(console) as listener:
                saturation = saturate(request, listener)
            stopped = saturation.record.interrupted
        except KeyboardInterrupt as cause:
            saturation, stopped = Saturation(*stored_saturation(request.race, cause)), True
        record, result = saturation.record, saturation.result
        if stopped and not result.probes:
            raise Interrupted(NO_PROBE)
        with printing_report(stopped=stopped):
            folder = request.race.home / RACES / record.race_id
            remember_options(folder, request.race.home)
            show_saturation(result, record, folder, options, console)
            if options.html:
                add_page(folder, None, console)
            if metrics_store is not None and record.complete:
                add_to_store(folder, metrics_store, console)
            if options.owns_process:
                block_signals()
    if saturation.error is not None:
        raise saturation.error
    if stopped:
        return Interrupted.exit_code
    return VoidRace.exit_code if record.verdict.state == "void" or result.stable is None else 0


def build_request(options: argparse.Namespace) -> SaturationRequest:
    """Returns the search that the options describe.

    Raises UsageError for options that contradict each other.
    """
    from pacenote.lab.probe import quick_rate
    from pacenote.lab.rate_search import RateRange
    from pacenote.lab.saturation_request import SaturationRequest
    from pacenote.model.saturation import Objective, parse_latency_limits

    if any(getattr(options, name) for name in TELEMETRY_OPTIONS):
        raise UsageError("saturate runs no telemetry devices", hint="omit --telemetry; `race` runs them")
    if options.warmup_drain:
        raise UsageError(
            "saturate measures the whole window of each probe, without --warmup-drain",
            hint="omit --warmup-drain; --probe-warmup sets the warm-up of each probe",
        )
    if options.dry_run:
        raise UsageError(
            "saturate has no dry run", hint="`pacenote race --dry-run` shows the steps of the challenge"
        )
    objective = Objective(parse_latency_limits(options.objective), options.max_error_rate)
    quick = max(MIN_START_RATE, math.ceil(quick_rate(objective, options.probe_time)))
    start = options.start_rate or max(options.min_rate, min(options.max_rate, quick))
    if not options.min_rate <= start <= options.max_rate:
        raise UsageError("--min-rate, --start-rate and --max-rate must ascend")
    race_request = race.build_request(options)
    # Tasks before the saturated one run as the track declares them.
    pacing = structs.replace(race_request.pacing, open_loop=False, max_connections=None)
    return SaturationRequest(
        race=dataclasses.replace(race_request, pacing=pacing),
        task=options.task,
        objective=objective,
        within=RateRange(start, options.min_rate, options.max_rate, options.precision / 100),
        connections=options.max_connections,
        window_s=options.probe_time,
        warmup_s=options.probe_warmup,
        clients=options.sweep_clients,
        level_s=options.sweep_time,
        prepare=options.prepare,
    )
