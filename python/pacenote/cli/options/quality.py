"""`--quality`: in which direction custom metrics are better."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.options import values
from pacenote.cli.parser import Parser, Several
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.custom_metrics import QualityDirection

HINT = "write it as recall=higher or distance:knn=lower; the third direction is neutral"

_DEFAULT = "default: those of the track, and of usual names such as recall"


def add_quality_option(parser: Parser, prefix: str = "") -> None:
    """Adds `--quality`. `prefix` begins its help, such as with the actions that have it."""
    parser.add_argument(
        "--quality",
        type=parse_quality,
        action=Several,
        default=(),
        metavar="METRICS",
        help=f"{prefix}directions of numbers that runners return, such as recall=higher,distance:knn=lower "
        f"or hits=neutral: it is said first that one became worse ({_DEFAULT})",
        harmless=True,
    )


def parse_quality(text: str) -> tuple[QualityDirection, ...]:
    """Returns directions that are separated by commas. Raises UsageError if one has another form."""
    directions = tuple(map(_direction, values.escaped_list(text)))
    if not directions:
        raise UsageError("--quality is empty", hint=HINT)
    return directions


def given_quality(options: argparse.Namespace) -> tuple[QualityDirection, ...]:
    """Returns the directions of the command line, which must be for metrics of the races. Those of a
    configuration file are for all races, also for those without such metrics.
    """
    given = options.given.get("quality") if options.quality else None
    return () if given is None or given.is_configured else options.quality


def _direction(text: str) -> QualityDirection:
    from pacenote.model.custom_metrics import QualityDirection

    direction = QualityDirection.parse(text)
    if direction is None:
        raise UsageError(f"--quality cannot be '{text}'", hint=HINT)
    return direction
