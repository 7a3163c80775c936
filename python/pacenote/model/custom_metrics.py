"""Custom metrics: the numbers that runners return with their operations, such as a recall, and those that
OpenSearch Benchmark reports of a task.

What is known of such a number is said here, once: its key in options, its name in tables, its unit, its
statistic, and in which direction it is better. A custom metric with a direction is a quality metric: a
comparison says first that it became worse, and says `better` of nothing else then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from pacenote.model.codec import Stored
from pacenote.model.messages import quoted

QUALITY_KEY = "quality-metrics"
"""Key of the metadata (`meta`) of a track, challenge, operation or task: a mapping of the names of custom
metrics to their directions. Rally passes it to its metrics store, and ignores it otherwise.
"""

STATISTIC = "mean"
"""The statistic of every custom metric: the mean over the measured operations that have the number."""

Direction = Literal["higher", "lower", "neutral"]
"""What is better: higher or lower values, or neither: that the number changes is said, but is not worse."""

DIRECTIONS: tuple[Direction, ...] = ("higher", "lower", "neutral")
"""All directions."""

Directions = Mapping[tuple[str, str], Direction]
"""Directions by the task, or empty text for all tasks, and the key of a custom metric."""

_QUALITIES = frozenset({"recall", "precision", "ndcg", "dcg", "mrr"})
"""Words in names of which higher values are better, unless another word says that it is something else."""

_PRECISION_AT = re.compile(r"p(recision)?(@|[ _-]?at[ _-]?)([0-9]+|k)", re.IGNORECASE)
"""The precision of the first hits, such as `p@10`."""

_TIMES = frozenset({
    *("time", "times", "took", "latency", "duration", "elapsed"),
    *("ns", "us", "ms", "s", "sec", "seconds", "millis", "micros", "nanos", "minutes"),
})
"""Words in names of times, which change with the speed."""

_OTHERS = frozenset({
    *("count", "counts", "total", "size", "bytes", "threshold", "limit", "k"),
    *("error", "errors", "loss", "missed", "failures"),
})
"""Other words in names, of which it is not known that higher values are better."""

_HITS = re.compile(r"hits(\.total(\.value)?)?")
"""The number of hits, of which neither more nor fewer are better."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_AT_K = re.compile(r"(@|[ _-]at[ _-])k\b", re.IGNORECASE)

_TIMESTAMP = "_time_millis"
"""End of the names of points in time, such as the start of a recovery: their mean says nothing."""

_RESERVED = re.compile(r"(throughput(-.*)?|error-rate|p[0-9.]+(-.*)?|primary)")
"""Keys of other metrics of tasks."""

_OPENSEARCH_MEAN = "Mean "
"""Beginning of the names of custom metrics in results of OpenSearch Benchmark."""


class QualityDirection(Stored, frozen=True):
    """The direction of a custom metric, as an option or a file gives it."""

    key: str
    """The key of the metric."""

    task: str
    """The name of its task; empty for all tasks."""

    direction: Direction
    """What is better."""

    def __str__(self) -> str:
        task = f":{self.task}" if self.task else ""
        return f"{self.key}{task}={self.direction}"

    @classmethod
    def parse(cls, text: str) -> QualityDirection | None:
        """Reads a direction such as `recall=higher` or `distance:knn=lower`; None if it has another form."""
        metric, _, way = text.rpartition("=")
        key, _, task = metric.strip().partition(":")
        direction = next((known for known in DIRECTIONS if known == way.strip()), None)
        return cls(custom_key(key), task.strip(), direction) if direction is not None and key else None


class CustomMetric(Struct, frozen=True):
    """What is known of a custom metric of a task."""

    key: str
    """Its name in options."""

    name: str
    """Its name in tables."""

    direction: Direction | None = None
    """In which direction it is better; None if that is unknown."""

    unit: str = ""
    """Its unit; empty if it has none."""

    @property
    def higher_is_better(self) -> bool | None:
        """Whether an increase is an improvement; None if neither an increase nor a decrease is."""
        return None if self.direction in (None, "neutral") else self.direction == "higher"


class _Declared(Struct, frozen=True):
    direction: Direction
    unit: str = ""


class CustomMetrics(Struct, frozen=True):
    """What tracks and options declare of custom metrics; everything else is known or unknown."""

    declared: Mapping[tuple[str, str], _Declared] = field(default_factory=dict)
    """By the name of the task, or empty text for all tasks, and the name of the number."""

    problems: tuple[str, ...] = ()
    """What is wrong with the declarations of tracks, one sentence each."""

    def of(self, task: str, name: str) -> CustomMetric:
        """Returns what is known of a number that a runner returned under this name."""
        key = custom_key(name)
        declaration = next(filter(None, (self.declared.get((where, key)) for where in (task, ""))), None)
        direction = declaration.direction if declaration else known_direction(key)
        shown = name if name.startswith(_OPENSEARCH_MEAN) else f"{STATISTIC} {name}"
        return CustomMetric(key, shown, direction, declaration.unit if declaration else "")

    def keys_by_task(self) -> Mapping[str, Sequence[str]]:
        """Returns the keys that are declared for each task; those for all tasks have an empty text."""
        keys: dict[str, list[str]] = {}
        for task, key in self.declared:
            keys.setdefault(task, []).append(key)
        return keys


def custom_key(name: str) -> str:
    """Returns the key of a custom metric: its name, unless another metric of tasks has that key."""
    key = name.removeprefix(_OPENSEARCH_MEAN)
    return f"returned-{key}" if _RESERVED.fullmatch(key) else key


def known_direction(key: str) -> Direction | None:
    """Returns the direction of a usual name, such as `recall_at_10`; None if it is not one."""
    names = (key, key.rpartition(".")[2])
    if any(map(_HITS.fullmatch, names)):
        return "neutral"
    if any(map(_PRECISION_AT.fullmatch, names)):
        return "higher"
    words = _words(_AT_K.sub("", key))
    return "higher" if words & _QUALITIES and not words & (_TIMES | _OTHERS) else None


def is_time(key: str) -> bool:
    """Returns whether the words of a name say that the number is a time, which changes with the speed."""
    return bool(_words(key) & _TIMES)


def _words(key: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(key)}


def is_figure(name: str) -> bool:
    """Returns whether the mean of a returned number says something: that of points in time does not."""
    return not name.endswith(_TIMESTAMP)


def quality_directions(given: Iterable[QualityDirection]) -> Directions:
    """Returns the directions by task and key."""
    return {(direction.task, direction.key): direction.direction for direction in given}


def declared_metrics(
    task_meta: Iterable[Mapping[str, Mapping[str, object]]], given: Directions | None = None
) -> CustomMetrics:
    """Returns what races declare of custom metrics, the later ones first, and `given` by options before all.

    `task_meta` has the metadata of each race, by task. Options name a number by its task, or by empty text
    for all tasks, and its key.
    """
    given = given or {}
    declared: dict[tuple[str, str], _Declared] = {}
    problems: dict[str, None] = {}
    for metadata in task_meta:
        for task, meta in metadata.items():
            for key, declaration in _declarations(task, meta.get(QUALITY_KEY)):
                if isinstance(declaration, str):
                    problems[declaration] = None
                    continue
                is_given = any((where, key) in given for where in (task, ""))
                if declared.setdefault((task, key), declaration) != declaration and not is_given:
                    text = f"races declare {quoted(key)} in {QUALITY_KEY} of {task} differently"
                    problems[f"{text}: that of the last one counts"] = None
                declared[task, key] = declaration
    for (task, key), direction in given.items():
        for where in [place for place in declared if place[1] == key and task in ("", place[0])]:
            del declared[where]
        declared[task, key] = _Declared(direction)
    return CustomMetrics(declared, tuple(problems))


def _declarations(task: str, value: object) -> Iterator[tuple[str, _Declared | str]]:
    """Yields the keys of a declaration, each with its meaning or with what is wrong with it."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield "", f"{QUALITY_KEY} of {task} is not a mapping of names to directions"
        return
    for name, stated in value.items():
        direction, unit = stated, ""
        if isinstance(stated, Mapping):
            direction, unit = stated.get("direction"), str(stated.get("unit", ""))
        known = next((word for word in DIRECTIONS if word == direction), None)
        if known is None:
            text = f"the direction of {quoted(str(name))} in {QUALITY_KEY} of {task} is not {_ways()}"
            yield str(name), f"{text}, but {quoted(str(direction))}"
        else:
            yield custom_key(str(name)), _Declared(known, unit)


def _ways() -> str:
    return f"{', '.join(DIRECTIONS[:-1])} or {DIRECTIONS[-1]}"
