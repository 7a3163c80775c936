"""What limits a comparison of imported races."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pacenote.compare.pairing import PairedRaces
from pacenote.compare.task_validity import (
    MAX_DATA_CHANGE,
    common_tasks,
    error_findings,
    missing_tasks,
    store_findings,
)
from pacenote.model.comparison import ComparedRace
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.imported import ImportedTask, imported_tasks

_STORE_SIZE = "Store size"
_OWN = "Pacenote"

_MIN_EQUAL = 3
"""Races of a side from which on equal times are not a coincidence of rounded figures."""

_Tasks = Mapping[str, ImportedTask]


def tool_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields whether different tools ran the races."""
    tools = dict.fromkeys(filter(None, map(_tool, races.all)))
    if len(tools) > 1 or (_OWN in tools and any(race.record.imported for race in races.all)):
        yield Finding(
            "the races were run with different tools or versions, which measure differently: "
            f"{_listed(tools)}",
            "user",
            "compare races of the same tool",
            doubtful_from=EVERYTHING if _OWN in tools else None,
        )


def imported_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields what limits a comparison of imported races."""
    sides = ([_tasks(race) for race in races.baseline], [_tasks(race) for race in races.contender])
    every = [*sides[0], *sides[1]]
    common = common_tasks(every)
    yield from missing_tasks(every)
    for name in common:
        # An unknown unit is not another one.
        units = dict.fromkeys(tasks[name].unit for tasks in every if tasks[name].unit)
        if len(units) > 1:
            yield Finding(f"the unit differs: {', '.join(units)}", "user", "", (name,), EVERYTHING)
        yield from error_findings(name, [[tasks[name].error_rate for tasks in side] for side in sides])
    yield from _equal_times(sides, common)
    yield from _missing_documents(every, common)
    yield from store_findings([
        [_store_size(race) for race in side] for side in (races.baseline, races.contender)
    ])
    if races.design == "one race each":
        yield Finding(
            "one race each: how much two races of the same configuration differ is not known", "user"
        )
    yield from _unstated(races)


def _equal_times(sides: Sequence[Sequence[_Tasks]], common: Sequence[str]) -> Iterator[Finding]:
    """Yields of which tasks all times are equal in all races of a side, which does not happen by chance."""
    for name, side in zip(("baseline", "contender"), sides, strict=True):
        equal = [
            task
            for task in common
            if len(side) >= _MIN_EQUAL
            and any(side[0][task].percentiles.values())
            and all(one[task].percentiles == side[0][task].percentiles for one in side)
        ]
        if equal:
            yield Finding(
                f"the times are equal in all {len(side)} races of the {name}: they may be copies of one race",
                "user",
                "leave out the copies",
                tuple(equal),
            )


def _missing_documents(every: Sequence[_Tasks], common: Sequence[str]) -> Iterator[Finding]:
    """Yields whether other documents are missing in some races than in others, because operations that were
    to index them failed.
    """
    indexing = [name for name in common if any(tasks[name].indexes for tasks in every)]
    rates = [[tasks[name].error_rate for tasks in every] for name in indexing]
    shares = [[1 - rate for rate in own if rate is not None] for own in rates]
    difference = max((1 - min(own) / max(own) for own in shares if own and max(own) > 0), default=0.0)
    if difference > MAX_DATA_CHANGE and len(indexing) < len(common):
        yield Finding(
            f"operations that index failed, so that up to {difference * 100:.3g} % fewer documents were "
            "searched in some races than in others",
            "engine",
            "repeat the races without errors",
            tuple(name for name in common if name not in indexing),
            EVERYTHING,
        )


def _listed(tools: Iterable[str]) -> str:
    named = tuple(tools)
    return ", ".join(named) if len(named) > 1 else f"{named[0]} and another one"


def _tool(race: ComparedRace) -> str:
    """Returns the tool that ran a race, with its version; empty if unknown."""
    imported = race.record.imported
    if imported is None:
        return _OWN
    if imported.tool == "unknown":
        return ""
    return " ".join(part for part in (imported.tool_name, imported.tool_version) if part)


def _tasks(race: ComparedRace) -> _Tasks:
    imported = race.record.imported
    return {task.task: task for task in imported_tasks(imported.values if imported else ())}


def _store_size(race: ComparedRace) -> float:
    imported = race.record.imported
    values = imported.values if imported else ()
    return next((value.value for value in values if value.metric == _STORE_SIZE), 0.0)


def _unstated(races: PairedRaces) -> Iterator[Finding]:
    facts = dict.fromkeys(
        fact for race in races.all for fact in (race.record.imported.unstated if race.record.imported else ())
    )
    also = f" {', '.join(facts)}," if facts else ""
    text = f"the files do not state{also} data, machines and settings: what else differs is not known"
    yield Finding(text, "user")
