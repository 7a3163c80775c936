"""`pacenote add annotation`: adds a note about the results of a day."""

from __future__ import annotations

import argparse
import uuid

from pacenote.cli.console import Console
from pacenote.cli.metrics_store.annotations import add_to_store
from pacenote.cli.options.metrics_store import add_store_option, store_client
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser, validate_choice
from pacenote.errors import UsageError
from pacenote.model.race_time import TIMESTAMP_FORMAT, parse_timestamp
from pacenote.store.annotations import Annotation, AnnotationStore
from pacenote.store.home import default_home

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_CHART_TYPES = (
    *("query", "script", "stats", "indexing", "gc", "index_times", "merge_times", "merge_count"),
    *("refresh_times", "segment_count", "io", "ml_processing_time"),
)


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `add`."""
    parser.add_argument("what", metavar="WHAT", help="what to add: annotation")
    parser.add_argument(
        "--race-timestamp",
        type=_midnight,
        required=True,
        help="timestamp of a race on the day that it is about: 20260301T123015Z",
    )
    parser.add_argument("--message", required=True, metavar="TEXT", help="the text of the annotation")
    parser.add_argument("--track", help="track that it is about (default: all)")
    parser.add_argument(
        "--chart-type",
        choices=_CHART_TYPES,
        help=f"type of the charts that it is about: {', '.join(_CHART_TYPES)} (default: all)",
        harmless=True,
    )
    parser.add_argument("--chart-name", help="chart that it is about (default: all)", harmless=True)
    parser.add_argument(
        "--environment-name",
        default="local",
        help="environment that it is about (default: local, or env.name of rally.ini)",
        harmless=True,
    )
    add_store_option(parser)
    parser.add_flag("--dry-run", help="show what would be added, and add nothing", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Stores the annotation and prints its id. Raises UsageError and StoreError."""
    validate_choice(options.what, "add", ("annotation",))
    client = store_client(options)
    annotation = Annotation(
        annotation_id=str(uuid.uuid4()),
        race_timestamp=options.race_timestamp,
        message=options.message,
        environment=options.environment_name,
        track=options.track,
        chart_type=options.chart_type,
        chart_name=options.chart_name,
    )
    day = parse_timestamp(annotation.race_timestamp).date()
    if options.dry_run:
        console.result(f"would add annotation '{annotation.message}' to {day}\n")
        return 0
    AnnotationStore(default_home()).add(annotation)
    console.result(f"added annotation {annotation.annotation_id} to {day}\n")
    add_to_store((annotation,), client, console)
    return 0


def _midnight(text: str) -> str:
    """Returns the timestamp of the midnight before a race, as Rally stores it. Raises UsageError."""
    try:
        moment = parse_timestamp(text)
    except ValueError:
        raise UsageError(
            f"--race-timestamp '{text}' is not a timestamp",
            hint="timestamps are written like 20260301T123015Z, in UTC",
        ) from None
    return moment.replace(hour=0, minute=0, second=0).strftime(TIMESTAMP_FORMAT)
