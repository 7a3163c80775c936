"""`--quality`: in which direction custom metrics are better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacenote.cli import values
from pacenote.cli.parser import Parser, Several
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison
    from pacenote.model.custom_metrics import Direction

_HINT = "write it as recall=higher or distance:knn=lower; the third direction is neutral"


@dataclass(frozen=True, slots=True)
class QualityDirection:
    """The direction of a custom metric, as an option gives it."""

    key: str
    """The key of the metric."""

    task: str
    """The name of its task; empty for all tasks."""

    direction: Direction
    """What is better."""

    def __str__(self) -> str:
        task = f":{self.task}" if self.task else ""
        return f"{self.key}{task}={self.direction}"


def add_quality_option(parser: Parser) -> None:
    """Adds `--quality`."""
    parser.add_argument(
        "--quality",
        type=_directions,
        action=Several,
        default=(),
        metavar="METRICS",
        help="directions of numbers that runners return, such as recall=higher,distance:knn=lower or "
        "hits=neutral: a comparison says first that one became worse (default: those of the track, and of "
        "usual names such as recall)",
    )


def quality_directions(given: Iterable[QualityDirection]) -> Mapping[tuple[str, str], Direction]:
    """Returns the directions by task, or empty text for all tasks, and key."""
    return {(each.task, each.key): each.direction for each in given}


def check_directions(given: Iterable[QualityDirection], comparison: Comparison) -> None:
    """Raises UsageError if the races of a comparison have no common custom metric that a direction is for: a
    name with a typing error would hide that quality fell.
    """
    known = [each.metric for each in comparison.metrics if each.metric.kind == "custom"]
    for each in given:
        names = {(metric.key, task) for metric in known for task in ("", metric.task)}
        if (each.key, each.task) not in names and comparison.answer != "void":
            from pacenote.compare.metrics import metric_hint

            raise UsageError(
                f"--quality={each}: the races have no common metric '{each.key}'",
                hint=metric_hint(each.key, known),
            )


def _directions(text: str) -> tuple[QualityDirection, ...]:
    found = tuple(_direction(part) for part in values.escaped_list(text))
    if not found:
        raise UsageError("--quality is empty", hint=_HINT)
    return found


def _direction(text: str) -> QualityDirection:
    from pacenote.model.custom_metrics import DIRECTIONS, custom_key

    metric, _, way = text.rpartition("=")
    key, _, task = metric.strip().partition(":")
    direction = next((known for known in DIRECTIONS if known == way.strip()), None)
    if direction is None or not key:
        raise UsageError(f"--quality cannot be '{text}'", hint=_HINT)
    return QualityDirection(custom_key(key), task.strip(), direction)
