"""`pacenote saturate`: the highest rate at which a task meets an objective."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from pacenote.cli import race, values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.progress import watch
from pacenote.cli.report_output import check_report_file
from pacenote.errors import Interrupted, StoreError, UsageError, VoidRace

if TYPE_CHECKING:
    from pacenote.lab.saturate import SaturationRequest
    from pacenote.model.saturation import SaturationResult

LATER = race.LATER

_FORMATS = ("markdown", "json")


def add_options(parser: Parser) -> None:
    """What to look for, and how to race."""
    parser.add_argument("--task", help="the task to saturate (default: the last one of the challenge)")
    parser.add_argument(
        "--objective",
        default="",
        metavar="LIMITS",
        help="limits of latency: p99:100ms,p50:20ms (default: none; that the rate is kept, always)",
    )
    parser.add_argument(
        "--start-rate", type=values.above_zero, default=10.0, metavar="OPS", help="ops/s to begin with (10)"
    )
    parser.add_argument(
        "--min-rate", type=values.above_zero, default=0.1, metavar="OPS", help="do not go below (0.1)"
    )
    parser.add_argument(
        "--max-rate", type=values.above_zero, default=1e6, metavar="OPS", help="do not go above (1000000)"
    )
    parser.add_argument(
        "--precision", type=values.above_zero, default=3.0, metavar="PERCENT", help="width of the answer (3)"
    )
    parser.add_argument(
        "--probe-time", type=values.above_zero, default=20.0, metavar="S", help="seconds measured (20)"
    )
    parser.add_argument(
        "--probe-warmup", type=values.above_zero, default=5.0, metavar="S", help="seconds before that (5)"
    )
    parser.add_argument(
        "--sweep-clients",
        type=values.count,
        default=32,
        metavar="N",
        help="clients of the closed loop's sweep, 1, 2, 4, … up to this; 0 leaves it out (default: 32)",
    )
    parser.add_argument(
        "--sweep-time", type=values.above_zero, default=5.0, metavar="S", help="seconds of each level (5)"
    )
    race.add_options(parser)
    # Probes run open loop by themselves.
    parser.set_defaults(open_loop=True, max_connections=64)


def run(options: argparse.Namespace, console: Console) -> int:
    """Searches, prints what was found, and says by the exit code what became of it. Raises PacenoteError."""
    from pacenote.lab.saturate import saturate

    if options.report_format not in (None, *_FORMATS):
        raise UsageError(f"--report-format is {' or '.join(_FORMATS)} here")
    request = build_request(options)
    check_report_file(options)
    for text in race.without_effect(options, request.race):
        console.warning(text)
    with watch(console) as listener:
        saturation = saturate(request, listener)
    record, found = saturation.record, saturation.result
    text = _text(found, options)
    console.result(text)
    if options.report_file is not None:
        _append(options, text)
    if record.interrupted:
        return Interrupted.exit_code
    return VoidRace.exit_code if record.verdict.state == "void" or found.stable is None else 0


def build_request(options: argparse.Namespace) -> SaturationRequest:
    """The search that the options ask for. Raises UsageError where they contradict each other."""
    from pacenote.lab.rate_search import RateRange
    from pacenote.lab.saturate import SaturationRequest
    from pacenote.model.saturation import Objective, parse_latency_limits

    if options.dry_run:
        raise UsageError(
            "saturate has no dry run", hint="`pacenote race --dry-run` shows the steps of the challenge"
        )
    if not options.min_rate <= options.start_rate <= options.max_rate:
        raise UsageError("--min-rate, --start-rate and --max-rate must ascend")
    asked = race.build_request(options)
    # What comes before the task is done as the track has it.
    pacing = dataclasses.replace(asked.pacing, open_loop=False, max_connections=None)
    return SaturationRequest(
        race=dataclasses.replace(asked, pacing=pacing),
        task=options.task,
        objective=Objective(parse_latency_limits(options.objective), options.max_error_rate),
        within=RateRange(options.start_rate, options.min_rate, options.max_rate, options.precision / 100),
        connections=options.max_connections,
        window_s=options.probe_time,
        warmup_s=options.probe_warmup,
        clients=options.sweep_clients,
        level_s=options.sweep_time,
    )


def _text(found: SaturationResult, options: argparse.Namespace) -> str:
    if options.report_format == "json":
        from pacenote.cli.tables import json_text

        return json_text(found.to_document())
    from pacenote.report.saturation import render_saturation

    return render_saturation(found)


def _append(options: argparse.Namespace, text: str) -> None:
    try:
        with options.report_file.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"cannot write the report to {options.report_file}: {error.strerror}") from error
