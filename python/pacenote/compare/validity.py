"""What limits a comparison, found before its numbers are looked at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from msgspec.structs import replace

from pacenote.compare.imported_validity import imported_findings, tool_findings
from pacenote.compare.operation_work import work_findings
from pacenote.compare.pairing import PairedRaces, block_of, is_duet, share_ids
from pacenote.compare.race_findings import count_text, listed, names_text, race_findings
from pacenote.compare.target_validity import target_findings
from pacenote.compare.task_validity import task_findings
from pacenote.compare.value_shares import Sides, differing
from pacenote.model.comparison import FIRST_LOOK, ComparedRace, ComparisonOptions, FactDifference
from pacenote.model.driver_scheduling import could_not_read_budget, granted_scheduling, obtained_scheduling
from pacenote.model.finding import EVERYTHING, Cause, Finding
from pacenote.model.machine_memory import is_same_memory
from pacenote.model.race_frequencies import MOST_CHANGE, changed_frequency
from pacenote.model.race_record import Environment
from pacenote.model.recorded_options import recorded_profilers
from pacenote.units import format_bytes, format_count, format_frequency, format_share

MORE_RACES = "run more races"
"""Advice about too few races, which does not hold for races whose number was planned."""

_SHOWN_VALUES = 3
"""Maximum number of different values that a finding shows."""

_UNBLOCKED = "the races are not compared within blocks, so that a drift of the machine is not excluded"

_CONTAINER = re.compile("[0-9a-f]{12}")
"""A name that Docker gives a container."""


def voiding_findings(races: PairedRaces, options: ComparisonOptions) -> list[Finding]:
    """Returns what may make metrics of these races void: findings that make figures doubtful do."""
    if _imported(races) == {True, False}:
        return [*tool_findings(races), *race_findings(races, options)]
    return [
        *tool_findings(races),
        *_tracks(races),
        *race_findings(races, options),
        *_profiling(races),
        *_data(races),
        *_machines(races),
        *(imported_findings(races) if _imported(races) == {True} else _of_tasks(races)),
    ]


def _of_tasks(races: PairedRaces) -> Iterator[Finding]:
    yield from task_findings(races)
    yield from target_findings(races)
    yield from work_findings(races)


def limiting_findings(
    races: PairedRaces, differences: Sequence[FactDifference], options: ComparisonOptions
) -> list[Finding]:
    """Returns what limits the comparison of these races, but makes nothing void."""
    if _imported(races) == {True, False}:
        # Their data, machines and settings are unknown, and nothing else is worth saying.
        return []
    configurations = () if _imported(races) == {True} else _configurations(races, differences)
    return [
        *_scheduling(races),
        *_software(races),
        *_frequencies(races),
        *order_findings(races),
        *_design(races, options),
        *configurations,
    ]


def _imported(races: PairedRaces) -> set[bool]:
    return {race.record.imported is not None for race in races.all}


def _void(text: str, cause: Cause = "user", advice: str = "") -> Finding:
    return Finding(text, cause, advice, doubtful_from=EVERYTHING)


def _warning(text: str, cause: Cause = "unknown", advice: str = "") -> Finding:
    return Finding(text, cause, advice)


def _tracks(races: PairedRaces) -> Iterator[Finding]:
    for fact, name_of in (
        ("track", lambda race: race.record.track.name),
        ("challenge", lambda race: race.record.challenge or "(none)"),
    ):
        stated = (
            race for race in races.all if not (race.record.imported and fact in race.record.imported.unstated)
        )
        names = dict.fromkeys(map(name_of, stated))
        if len(names) > 1:
            yield _void(
                f"the races are of different {fact}s: {', '.join(names)}",
                advice="compare races of the same track and challenge",
            )
            return


def _sides_text(sides: Sides, races: PairedRaces, value_of: Callable[[ComparedRace], str]) -> str:
    """Returns the values of both sides; if only some pairs differ, with their blocks."""
    old, new = (_counted(side, value_of) for side in sides)
    blocks = list(dict.fromkeys(map(block_of, sides[0])))
    more = len(blocks) - _SHOWN_VALUES
    shown = listed([*blocks[:_SHOWN_VALUES], f"{more} more"] if more > 0 else blocks)
    where = f" ({'block' if len(blocks) == 1 else 'blocks'} {shown})"
    return f"{old} in the baseline, {new} in the contender" + (
        where if races.design == "paired" and len(sides[0]) < len(races.baseline) else ""
    )


def _counted(side: Sequence[ComparedRace], value_of: Callable[[ComparedRace], str]) -> str:
    """Returns the values of a side; several ones with the number of races that have them."""
    counts = Counter(map(value_of, side))
    if len(counts) == 1:
        return next(iter(counts))
    shown = [f"{value} ({count} of {len(side)})" for value, count in counts.most_common(_SHOWN_VALUES)]
    more = len(counts) - _SHOWN_VALUES
    return " and ".join([*shown, f"{more} more"] if more > 0 else shown)


def _frequencies(races: PairedRaces) -> Iterator[Finding]:
    """Yields that the processors that the engine kept busy were slower on one side."""
    sides = [[race.record for race in side] for side in (races.baseline, races.contender)]
    change = changed_frequency(*sides)
    if change is not None and change.share > MOST_CHANGE:
        old, new = map(format_frequency, (change.baseline_hz, change.contender_hz))
        yield _warning(
            f"the processors of the engine ran at {old} in the baseline and at {new} in the contender "
            f"({format_share(change.share)} apart, limit {MOST_CHANGE * 100:.0f} %), so that a part of the "
            f"difference may be theirs",
            "machine",
            "use the governor `performance`, and run the races in blocks",
        )


def _varies(races: PairedRaces, value_of: Callable[[ComparedRace], Hashable]) -> bool:
    return len(set(map(value_of, races.all))) > 1


def _values(races: Sequence[ComparedRace], value_of: Callable[[ComparedRace], str]) -> str:
    values = list(dict.fromkeys(map(value_of, races)))
    more = len(values) - _SHOWN_VALUES
    return " and ".join([*values[:_SHOWN_VALUES], f"{more} more"] if more > 0 else values)


def _profiling(races: PairedRaces) -> Iterator[Finding]:
    """Yields that one side was profiled and the other was not, or otherwise; that both were is in the reasons
    of their verdicts.
    """
    if sides := differing(races, _profilers):
        yield _void(
            f"profiling differs: {_sides_text(sides, races, _profilers)}",
            advice="compare races that are not profiled",
        )


def _profilers(race: ComparedRace) -> str:
    return ", ".join(sorted(recorded_profilers(race.record.options))) or "none"


def _data(races: PairedRaces) -> Iterator[Finding]:
    # Races that are not in blocks may have a seed each, which says nothing about the sides.
    seeds = [
        {tuple(corpus.seed for corpus in race.record.corpora) for race in side}
        for side in (races.baseline, races.contender)
    ]
    with_seeds = races.design != "unpaired" or all(len(side) == 1 for side in seeds)
    # Older races do not have the names of files.
    with_files = all(corpus.files for race in races.all for corpus in race.record.corpora)

    def data(race: ComparedRace) -> Hashable:
        return tuple(
            replace(
                corpus,
                seed=corpus.seed if with_seeds else None,
                # The length of generated documents depends on the seed.
                bytes=corpus.bytes if with_seeds or corpus.origin != "generated" else 0,
                files=corpus.files if with_files else (),
            )
            for corpus in race.record.corpora
        )

    if sides := differing(races, data):
        text = _data_text
        if set(map(text, sides[0])) == set(map(text, sides[1])):
            text = _exact_data_text
        yield _void(
            f"the data differs: {_sides_text(sides, races, text)}",
            advice="repeat the races with the same data",
        )


def _data_text(race: ComparedRace) -> str:
    corpora = (
        f"'{corpus.name}' ({corpus.origin}) with {format_count(corpus.documents, 'document')} in "
        f"{format_bytes(corpus.bytes)}"
        for corpus in race.record.corpora
    )
    return ", ".join(corpora) or "none"


def _exact_data_text(race: ComparedRace) -> str:
    corpora = (
        f"'{corpus.name}' with {corpus.bytes:,} bytes"
        + (f" of seed {corpus.seed}" if corpus.seed is not None else "")
        + (f" in {', '.join(corpus.files)}" if corpus.files else "")
        for corpus in race.record.corpora
    )
    return ", ".join(corpora)


def _machines(races: PairedRaces) -> Iterator[Finding]:
    first = races.baseline[0].record.environment.memory_bytes or 0

    def machine(race: ComparedRace) -> str:
        return machine_text(race.record.environment, first)

    advice = "run the races of both sides on the same machine"
    if sides := differing(races, machine):
        yield _void(f"the machines differ: {_sides_text(sides, races, machine)}", "machine", advice)
    elif _has_own_hosts(races):
        sides = (races.baseline, races.contender)
        yield _void(f"the hosts differ: {_sides_text(sides, races, _host)}", "machine", advice)
    elif _varies(races, machine):
        yield _warning(f"the machine changed between the races: {_values(races.all, machine)}", "machine")
    for what, value_of in (
        ("host", _host),
        ("kernel", _kernel),
        ("host of the engine", _engine_hosts),
    ):
        if _varies(races, value_of):
            yield _warning(
                f"the {what} changed between the races: {_values(races.all, value_of)}",
                "machine",
                "run all races without changing the machine" if differing(races, value_of) else "",
            )


def _has_own_hosts(races: PairedRaces) -> bool:
    """Returns whether the sides ran on hosts of their own. Names of containers say nothing about the machine:
    those that Docker gives, and names that each race has of its own.
    """
    names = [race.record.environment.host_name or "" for race in races.all]
    if not all(names) or any(map(_CONTAINER.fullmatch, names)):
        return False
    old, new = set(names[: len(races.baseline)]), set(names[len(races.baseline) :])
    return not old & new and len(old | new) < len(names)


def machine_text(machine: Environment, usual_bytes: int) -> str:
    """Returns processor, cores and memory; a memory that hardly differs from the usual one equals it."""
    parts = [machine.cpu_model or "", machine.architecture or ""]
    if machine.cpu_logical_cores is not None:
        parts.append(format_count(machine.cpu_logical_cores, "core"))
    if size := machine.memory_bytes:
        parts.append(format_bytes(usual_bytes if is_same_memory(size, usual_bytes) else size))
    return ", ".join(part for part in parts if part) or "unknown"


def _host(race: ComparedRace) -> str:
    return race.record.environment.host_name or "unknown"


def _kernel(race: ComparedRace) -> str:
    return race.record.environment.kernel or "unknown"


def _engine_hosts(race: ComparedRace) -> str:
    hosts = {str(node.get("host", "")) for node in race.record.cluster.nodes}
    return ", ".join(sorted(hosts)) or "unknown"


def _scheduling(races: PairedRaces) -> Iterator[Finding]:
    """Yields that the kernel scheduled the driver differently: times include its waits for a core."""
    if sides := differing(races, _obtained_scheduling):
        begun = {granted_scheduling(race.record.driver) for race in races.all}
        unread = any(could_not_read_budget(race.record.driver) for race in races.all)
        # With the same permissions, workers lost their priority because they used more than their budget.
        is_budget = len(begun) == 1 and not unread
        advice = "run both sides with --driver-scheduling=normal, or give the driver more cores"
        yield _warning(
            "the driver's threads were scheduled differently, so that measured times include different waits "
            f"for a core: {_sides_text(sides, races, _obtained_scheduling)}",
            "driver" if is_budget else "user",
            advice if is_budget else "run both sides with the same --driver-scheduling and permissions",
        )
    elif _varies(races, _obtained_scheduling):
        yield _warning(
            "the scheduling of the driver's threads changed between the races: "
            f"{_values(races.all, _obtained_scheduling)}",
            "machine",
        )


def _obtained_scheduling(race: ComparedRace) -> str:
    return obtained_scheduling(race.record.driver, race.record.tasks)


def _software(races: PairedRaces) -> Iterator[Finding]:
    def version(race: ComparedRace) -> str:
        return race.record.environment.pacenote or "unknown"

    if _varies(races, version):
        yield _warning(
            f"the races were run by different versions of Pacenote: {_values(races.all, version)}",
            "pacenote",
            "repeat them with one version",
        )


def order_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields why a drift of the machine is not excluded."""
    if races.design == "unpaired":
        yield _unpaired(races)
    elif problem := races.order_problem:
        if not all(races.lags):
            yield _warning(problem)
            return
        what = "taking the first half" if is_duet(races.all) else "running first"
        yield _warning(problem, "user", f"let the sides take turns at {what}")


def _design(races: PairedRaces, options: ComparisonOptions) -> Iterator[Finding]:
    count = min(len(races.baseline), len(races.contender))
    if 1 < count < FIRST_LOOK:
        unit = "blocks" if races.design == "paired" else "races of a side"
        yield _warning(f"only {count} {unit}: a first look needs {FIRST_LOOK}", "user", MORE_RACES)
    yield from map(_warning, options.left_out)
    if races.alone:
        names = names_text(races.alone, options)
        blocks = ", ".join(dict.fromkeys(block_of(race) or "no block" for race in races.alone))
        alone = format_count(len(races.alone), "race has", "races have")
        pronoun = "is" if len(races.alone) == 1 else "are"
        what = (
            f"and {pronoun} not compared" if races.design == "paired" else "so that two groups are compared"
        )
        yield _warning(f"{alone} no partner in the block, {what}: {names} ({blocks})")


def _unpaired(races: PairedRaces) -> Finding:
    problem = races.order_problem or _UNBLOCKED
    if share_ids(races.all) and any(map(block_of, races.all)):
        return _warning(
            f"{problem}: experiments of two machines have the same id, so that their blocks are not told "
            "apart",
            "user",
            "give each experiment a name of its own",
        )
    return _warning(problem, "user", "run the races in blocks with the tags experiment and block")


def _configurations(races: PairedRaces, differences: Sequence[FactDifference]) -> Iterator[Finding]:
    missing = sum(race.snapshot is None for race in races.all)
    if missing:
        yield _warning(
            f"{count_text(missing, races.all)} {'has' if missing == 1 else 'have'} no readable snapshot of "
            "engine and machine, so that only the options are compared"
        )
    if not differences:
        yield _warning(
            "no difference between the configurations was found: the groups are expected to be equal"
        )
