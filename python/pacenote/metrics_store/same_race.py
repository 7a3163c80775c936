"""Whether a document of a metrics store is about a race of this machine, or about another one with its id and
second.

An id and a time can be guessed, or copied from a list. What was measured cannot, and neither can the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.errors import StoreError
from pacenote.model.codec import as_text
from pacenote.model.printable import shortened, single_line
from pacenote.model.shell_command import shell_command

FACTS = ("track", "environment", "track-revision", "rally-version", "plan-sha256")
"""What documents of races and results state, as far as it is known, in the order in which it is compared;
those of metrics have some of it.
"""

_OF_RACES = ("challenge", "pipeline", "car")
_OF_CLUSTERS = ("distribution-version", "revision")
_STATISTICS = ("min", "mean", "median", "max")
_LONGEST = 80


class OtherRaceStored(StoreError):
    """A metrics store has another race with the id and the second of a race of this machine."""


def check_same_race(own: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Raises OtherRaceStored if a document of the store, about a race, a result or a metric, is not about the
    race of which `own` is the document. What the document lacks, such as what earlier versions did not write,
    is not compared.
    """
    command = shell_command("pacenote", "delete", "race", f"--id={own['race-id']}")
    for fact, here, there in _facts(own, stored):
        if not _agrees(here, there):
            raise OtherRaceStored(
                f"race {own['race-id']} of {own['race-timestamp']} is not the one that the metrics store has "
                f"with this id and time: its {fact} is {_shown(here)} here, and {_shown(there)} in the store",
                hint=f"`{command} --no-metrics-store` deletes the one here, and the same command without "
                "that option, on a machine that has no race with this id, the one in the store",
            )


def _facts(own: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[tuple[str, object, object]]:
    """Yields the name of each fact that a document of the store has, with the value here and there."""
    is_race = "results" in stored
    for fact in (*FACTS, *(_OF_RACES if is_race else ())):
        if stored.get(fact) is not None:
            yield fact, own.get(fact), stored[fact]
    if not is_race:
        return
    cluster = _mapping(stored["cluster"]) if "cluster" in stored else {}
    for fact in _OF_CLUSTERS:
        if cluster.get(fact) is not None:
            yield f"{fact} of the engine", _mapping(own["cluster"]).get(fact), cluster[fact]
    here, there = _tasks(own), _tasks(stored)
    for task, results in there.items():
        known = here.get(task, {})
        for statistic, value in _mapping(results.get("throughput")).items():
            if statistic in _STATISTICS and value is not None:
                own_value = _mapping(known.get("throughput")).get(statistic)
                yield f"{statistic} throughput of '{single_line(task)}'", own_value, value
        if results.get("duration") is not None:
            yield f"duration of '{single_line(task)}'", known.get("duration"), results["duration"]


def _tasks(document: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Returns the results of each task by its name."""
    results = _mapping(document["results"]).get("op_metrics")
    entries = map(_mapping, results if isinstance(results, list) else ())
    return {as_text(entry["task"]): entry for entry in entries if isinstance(entry.get("task"), str)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _agrees(here: object, there: object) -> bool:
    """Returns whether values agree: numbers may have been rounded."""
    if isinstance(here, int | float) and isinstance(there, int | float):
        return math.isclose(here, there, rel_tol=1e-9)
    return here == there


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    # A store may answer with anything: the text of a list may be much longer than a reply.
    return (
        shortened(single_line(as_text(value)), _LONGEST)
        if isinstance(value, str | int | float)
        else "another"
    )
