"""Which of many races form a series: those of one track and configuration that may be used, in their order.

What must be equal is what makes figures incomparable: track, challenge, kind of engine, cars, machine, number
of nodes, data, selected tasks and tool. Everything else is what a trend is about: versions and revisions of
engine, track and Pacenote, parameters, settings and options of the JVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pacenote.compare.pairing import EXPERIMENT_TAG
from pacenote.compare.race_findings import names_text
from pacenote.compare.validity import machine_text
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.model.machine_memory import is_same_memory
from pacenote.model.messages import list_with_rest
from pacenote.model.trend import TrendOptions
from pacenote.units import format_count

_SHOWN_VALUES = 2
"""Maximum number of configurations that a sentence shows."""


_ENVIRONMENT = ("machine", "data")
"""What changes without a decision about the benchmark: another processor or memory, a corpus that grows."""

_LATE_FACTS = ("number of nodes", "data")
"""What a race that stopped early knows only in part."""


@dataclass(frozen=True, slots=True)
class RaceSeries:
    """Races that may be compared with each other."""

    races: tuple[ComparedRace, ...]
    """The races, oldest first; empty if none may be used. Those before the newest `TrendOptions.last` are
    looked at only if a regression was found among them.
    """

    configuration: Mapping[str, str]
    """What they have in common, by name."""

    left_out: tuple[str, ...]
    """Which other races were left out, and why, one sentence each."""

    newest_unusable: str = ""
    """Which races that began after the newest one are void or unfinished, or that this one is older than it
    may be, in one sentence; empty if the newest race counts.
    """

    earlier: tuple[tuple[ComparedRace, ...], ...] = ()
    """The series of the same benchmark, with another machine or other data, that had ended before this one
    began, the newest first.
    """


def race_series(races: Sequence[ComparedRace], options: TrendOptions) -> RaceSeries:
    """Returns the races that have the configuration of the newest race that may be used.

    Races of experiments are left out, unless all races are of experiments: their order is part of a design.
    """
    found = {race.key: race for race in races}
    with_experiments = all(EXPERIMENT_TAG in race.record.user_tags for race in found.values())
    usable, unusable = list[ComparedRace](), dict[str, list[ComparedRace]]()
    for race in found.values():
        if reason := _unusable_reason(race, with_experiments=with_experiments):
            unusable.setdefault(reason, []).append(race)
        else:
            usable.append(race)
    usable.sort(key=_order)
    named = ComparisonOptions(names=options.names)
    left_out = [*options.left_out, *_unusable_texts(unusable, named)]
    if not usable:
        return RaceSeries((), {}, tuple(left_out))
    memory = usable[-1].record.environment.memory_bytes or 0
    wanted = _configuration(usable[-1], memory)
    same, others = list[ComparedRace](), list[ComparedRace]()
    for race in usable:
        (same if _configuration(race, memory) == wanted else others).append(race)
    left_out += _other_texts(others, wanted, memory, named)
    later = [race for race in found.values() if _is_later(race, same[-1], wanted, memory)]
    newest_unusable = (
        _late_text(same[-1], options) or _unread_text(same[-1], options) or _unusable_text(later, named)
    )
    return RaceSeries(
        tuple(same),
        {key: value for key, value in wanted.items() if value},
        tuple(left_out),
        newest_unusable,
        _ended_before(same[0], others, memory),
    )


def _ended_before(
    first: ComparedRace, others: Iterable[ComparedRace], memory: int
) -> tuple[tuple[ComparedRace, ...], ...]:
    """Returns the series that had ended before the first race of a series, and that differ from it only in
    their environment, the newest first. `others` are in the order of their time.
    """
    wanted = _configuration(first, memory)
    alike: dict[tuple[object, ...], list[list[ComparedRace]]] = {}
    for race in reversed([*others]):
        own = _configuration(race, memory)
        if any(own[key] != value for key, value in wanted.items() if key not in _ENVIRONMENT):
            continue
        machine = race.record.environment
        key = (own["data"], machine.cpu_model, machine.architecture, machine.cpu_logical_cores)
        series = alike.setdefault(key, [])
        joined = next((each for each in series if _have_same_memory(each[0], race)), None)
        if joined is None:
            series.append([race])
        else:
            joined.append(race)
    ended = (races for series in alike.values() for races in series if _order(races[0]) < _order(first))
    newest_first = sorted(ended, key=lambda races: _order(races[0]), reverse=True)
    return tuple(tuple(reversed(races)) for races in newest_first)


def _have_same_memory(newest: ComparedRace, race: ComparedRace) -> bool:
    return is_same_memory(race.record.environment.memory_bytes, newest.record.environment.memory_bytes)


def _is_later(race: ComparedRace, newest: ComparedRace, wanted: Mapping[str, str], memory: int) -> bool:
    """Returns whether a race that may not be used should have been the newest one: it is void or did not
    finish, and what is known of its configuration is that of the series.
    """
    if race.state == "running" or race.record.options.test_mode or race.began is None:
        return False
    is_void = race.record.verdict.state == "void"
    if not (is_void or race.state != "complete") or _order(race) < _order(newest):
        return False
    # A race that failed early does not know its engine yet.
    own = _configuration(race, memory)
    return all(value in ("", wanted[key]) or key in _LATE_FACTS for key, value in own.items())


def _unusable_text(races: Sequence[ComparedRace], named: ComparisonOptions) -> str:
    """Returns that the newest races may not be used; empty if there are none."""
    if not races:
        return ""
    count = "newest race" if len(races) == 1 else f"newest {len(races)} races"
    reasons = dict.fromkeys(_unusable_reason(race, with_experiments=True) for race in races)
    if len(races) == 1:
        (reason,) = reasons
        verb, _, rest = reason.partition(" ")
        reasons = dict.fromkeys([f"{_SINGULAR.get(verb, verb)} {rest}"])
    return f"the {count} {' or '.join(reasons)}: {names_text(races, named)}"


def _unread_text(newest: ComparedRace, options: TrendOptions) -> str:
    """Returns that races which began after the newest one cannot be read, and what to do; empty if there are
    none.
    """
    began, track = newest.began, newest.record.track.name
    later = [
        race
        for race in options.damaged
        if race.track in ("", track) and (began is None or race.began >= began)
    ]
    if not later:
        return ""
    count = "newest race" if len(later) == 1 else f"newest {len(later)} races"
    names = list_with_rest([race.name for race in later], _SHOWN_VALUES)
    advice = "; ".join(dict.fromkeys(race.advice for race in later))
    return f"the {count} cannot be read: {names}; {advice}"


def _late_text(newest: ComparedRace, options: TrendOptions) -> str:
    """Returns that the newest race is older than it may be; empty if it is not."""
    if options.not_before is None or newest.began is None or newest.began >= options.not_before:
        return ""
    name = options.name(newest.record.race_id)
    return (
        f"the newest race is of {newest.began:%Y-%m-%d %H:%M} ({name}), and one since "
        f"{options.not_before:%Y-%m-%d %H:%M} is missing"
    )


def _order(race: ComparedRace) -> tuple[float, str]:
    return (race.began.timestamp() if race.began else 0.0, race.record.race_id)


def _unusable_reason(race: ComparedRace, *, with_experiments: bool) -> str:
    """Returns why a race may not be used, as the end of a sentence in the plural; empty if it may."""
    if race.state == "running":
        return "are still running"
    if race.state != "complete":
        return "did not finish"
    if race.record.verdict.state == "void":
        return "are void"
    if race.record.options.test_mode:
        return "ran in test mode, which does not measure"
    if race.began is None:
        return "have no known time"
    if EXPERIMENT_TAG in race.record.user_tags and not with_experiments:
        return "are of experiments, whose order is part of their design"
    return ""


_SINGULAR = {"are": "is", "have": "has"}


def _unusable_texts(found: Mapping[str, Sequence[ComparedRace]], named: ComparisonOptions) -> Iterator[str]:
    for reason, races in found.items():
        verb, _, rest = reason.partition(" ")
        shown = f"{_SINGULAR.get(verb, verb)} {rest}" if len(races) == 1 else reason
        yield f"{format_count(len(races), 'race')} {shown}: {names_text(races, named)}"


def _other_texts(
    others: Iterable[ComparedRace], wanted: Mapping[str, str], memory: int, named: ComparisonOptions
) -> Iterator[str]:
    """Yields which races have another configuration: the first of its facts that differs."""
    found: dict[str, list[tuple[ComparedRace, str]]] = {}
    for race in others:
        own = _configuration(race, memory)
        fact = next(key for key, value in own.items() if value != wanted[key])
        found.setdefault(fact, []).append((race, own[fact] or "none"))
    for fact, races in found.items():
        values = list_with_rest([*dict.fromkeys(value for _, value in races)], _SHOWN_VALUES)
        names = names_text([race for race, _ in races], named)
        count = format_count(len(races), "race has", "races have")
        yield f"{count} another {fact} than {wanted[fact] or 'none'}: {values} ({names})"


def _configuration(race: ComparedRace, memory: int) -> dict[str, str]:
    """Returns what races of a series have in common, by name; `memory` is that of the newest race."""
    record = race.record
    imported = record.imported
    options = record.options
    corpora = (
        f"{corpus.name} ({corpus.origin}) with {format_count(corpus.documents, 'document')}"
        for corpus in record.corpora
    )
    machine = "" if imported is not None else machine_text(record.environment, memory)
    tasks = [*options.include_tasks, *(f"not {each}" for each in options.exclude_tasks)]
    return {
        "tool": "Pacenote" if imported is None else imported.tool_name,
        "track": record.track.name,
        "challenge": record.challenge or "",
        "engine": record.cluster.distribution or "",
        "car": "+".join(record.car),
        "number of nodes": str(len(record.cluster.nodes) or ""),
        "machine": machine,
        "data": ", ".join(corpora),
        "selection of tasks": ", ".join(tasks),
    }
