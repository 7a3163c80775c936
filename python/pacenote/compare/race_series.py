"""Which of many races form a series: those of one track and configuration that may be used, in their order.

What must be equal is what makes figures incomparable: track, challenge, kind of engine, cars, machine, number
of nodes, data, selected tasks, what the tasks do, tool and profiling. Everything else is what a trend is
about: versions and revisions of engine, track and Pacenote, parameters, settings and options of the JVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.compare.pairing import EXPERIMENT_TAG
from pacenote.compare.race_findings import names_text
from pacenote.compare.task_work import other_work, task_works
from pacenote.compare.validity import machine_text
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.model.machine_memory import is_same_memory
from pacenote.model.messages import list_with_rest
from pacenote.model.recorded_options import recorded_profilers
from pacenote.model.trend import TrendOptions
from pacenote.units import format_count

_SHOWN_VALUES = 2
"""Maximum number of configurations that a sentence shows."""


_WORK = "work of a task"
"""What a task does: its operation type, its unit, its target rate, the documents that it indexes, and the
work of an operation if its times decide.
"""

_ENVIRONMENT = ("machine", "data", _WORK)
"""What changes without a decision about the benchmark: another processor or memory, a corpus that grows, or a
task that does something else under its name.
"""

_LATE_FACTS = ("number of nodes", "data", _WORK)
"""What a race that stopped early knows only in part."""


class _Accepted(Struct, frozen=True):
    """Which races are used that otherwise are left out, because all races are such."""

    experiments: bool
    """Those of experiments."""

    profiled: bool
    """Those that were profiled."""


class RaceSeries(Struct, frozen=True):
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
    """The series of the same benchmark, with another machine, other data or other work of a task, that had
    ended before this one began, the newest first.
    """


def race_series(races: Sequence[ComparedRace], options: TrendOptions) -> RaceSeries:
    """Returns the races that have the configuration of the newest race that may be used.

    Races of experiments are left out, unless all races are of experiments: their order is part of a design.
    So are those that were profiled, unless all were: a profiler changes what they measure.
    """
    by_key = {race.key: race for race in races}
    accepted = _Accepted(
        experiments=all(EXPERIMENT_TAG in race.record.user_tags for race in by_key.values()),
        profiled=all(map(_profilers, by_key.values())),
    )
    usable, unusable = list[ComparedRace](), dict[str, list[ComparedRace]]()
    for race in by_key.values():
        if reason := _unusable_reason(race, accepted):
            unusable.setdefault(reason, []).append(race)
        else:
            usable.append(race)
    usable.sort(key=_order)
    named = ComparisonOptions(names=options.names)
    left_out = [*options.left_out, *_unusable_texts(unusable, named)]
    if not usable:
        return RaceSeries((), {}, tuple(left_out))
    newest = usable[-1]
    wanted = _configuration(newest, newest)
    same, others = list[ComparedRace](), list[ComparedRace]()
    for race in usable:
        (same if _configuration(race, newest) == wanted else others).append(race)
    left_out += _other_texts(others, wanted, newest, named)
    later = [race for race in by_key.values() if _is_later(race, same[-1], wanted, accepted)]
    newest_unusable = (
        _late_text(same[-1], options)
        or _unread_text(same[-1], options)
        or _unusable_text(later, named, accepted)
    )
    return RaceSeries(
        tuple(same),
        {key: value for key, value in wanted.items() if value and key != _WORK},
        tuple(left_out),
        newest_unusable,
        _ended_before(same[0], newest, others),
    )


def _ended_before(
    first: ComparedRace, newest: ComparedRace, others: Iterable[ComparedRace]
) -> tuple[tuple[ComparedRace, ...], ...]:
    """Returns the series that had ended before the first race of a series, and that differ from its newest
    one only in their environment, the newest first. `others` are in the order of their time.
    """
    wanted = _configuration(newest, newest)
    alike: dict[tuple[object, ...], list[list[ComparedRace]]] = {}
    for race in reversed([*others]):
        own = _configuration(race, newest)
        if any(own[key] != value for key, value in wanted.items() if key not in _ENVIRONMENT):
            continue
        machine = race.record.environment
        key = (own["data"], machine.cpu_model, machine.architecture, machine.cpu_logical_cores)
        series = alike.setdefault(key, [])
        joined = next((each for each in series if _belong_together(each[0], race)), None)
        if joined is None:
            series.append([race])
        else:
            joined.append(race)
    ended = (races for series in alike.values() for races in series if _order(races[0]) < _order(first))
    newest_first = sorted(ended, key=lambda races: _order(races[0]), reverse=True)
    return tuple(tuple(reversed(races)) for races in newest_first)


def _belong_together(newest: ComparedRace, race: ComparedRace) -> bool:
    """Returns whether a race has the memory and the work of the newest one of a series."""
    memory = newest.record.environment.memory_bytes
    return is_same_memory(race.record.environment.memory_bytes, memory) and not _other_work(race, newest)


def _other_work(race: ComparedRace, newest: ComparedRace) -> str:
    return other_work(task_works(race.record), task_works(newest.record))


def _profilers(race: ComparedRace) -> str:
    return ", ".join(sorted(recorded_profilers(race.record.options)))


def _is_later(
    race: ComparedRace, newest: ComparedRace, wanted: Mapping[str, str], accepted: _Accepted
) -> bool:
    """Returns whether a race that may not be used should have been the newest one: it is void, did not finish
    or was profiled, and what is known of its configuration is that of the series.
    """
    if race.state == "running" or race.record.options.test_mode or race.began is None:
        return False
    is_lost = race.record.verdict.state == "void" or race.state != "complete"
    is_profiled = not accepted.profiled and _profilers(race) != ""
    if not (is_lost or is_profiled) or _order(race) < _order(newest):
        return False
    # A race that failed early does not know its engine yet.
    own = _configuration(race, newest)
    own["profiling"] = ""
    return all(value in ("", wanted[key]) or key in _LATE_FACTS for key, value in own.items())


def _unusable_text(races: Sequence[ComparedRace], named: ComparisonOptions, accepted: _Accepted) -> str:
    """Returns that the newest races may not be used; empty if there are none."""
    if not races:
        return ""
    count = "newest race" if len(races) == 1 else f"newest {len(races)} races"
    accepted = replace(accepted, experiments=True)
    reasons = dict.fromkeys(_unusable_reason(race, accepted) for race in races)
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


def _unusable_reason(race: ComparedRace, accepted: _Accepted) -> str:
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
    if EXPERIMENT_TAG in race.record.user_tags and not accepted.experiments:
        return "are of experiments, whose order is part of their design"
    if not accepted.profiled and (profilers := _profilers(race)):
        return f"were profiled ({profilers}), which changes what they measure"
    return ""


_SINGULAR = {"are": "is", "have": "has", "were": "was"}


def _unusable_texts(reasons: Mapping[str, Sequence[ComparedRace]], named: ComparisonOptions) -> Iterator[str]:
    for reason, races in reasons.items():
        verb, _, rest = reason.partition(" ")
        shown = f"{_SINGULAR.get(verb, verb)} {rest}" if len(races) == 1 else reason
        yield f"{format_count(len(races), 'race')} {shown}: {names_text(races, named)}"


def _other_texts(
    others: Iterable[ComparedRace], wanted: Mapping[str, str], newest: ComparedRace, named: ComparisonOptions
) -> Iterator[str]:
    """Yields which races have another configuration: the first of its facts that differs."""
    by_fact: dict[str, list[tuple[ComparedRace, str]]] = {}
    for race in others:
        own = _configuration(race, newest)
        fact = next(key for key, value in own.items() if value != wanted[key])
        by_fact.setdefault(fact, []).append((race, own[fact] or "none"))
    for fact, races in by_fact.items():
        values = list_with_rest([*dict.fromkeys(value for _, value in races)], _SHOWN_VALUES)
        names = names_text([race for race, _ in races], named)
        count = format_count(len(races), "race has", "races have")
        usual = "the newest one" if fact == _WORK else wanted[fact] or "none"
        yield f"{count} another {fact} than {usual}: {values} ({names})"


def _configuration(race: ComparedRace, newest: ComparedRace) -> dict[str, str]:
    """Returns what races of a series have in common, by name: what hardly differs from that of the newest
    race equals it.
    """
    record = race.record
    imported = record.imported
    options = record.options
    memory = newest.record.environment.memory_bytes
    corpora = (
        f"{corpus.name} ({corpus.origin}) with {format_count(corpus.documents, 'document')}"
        for corpus in record.corpora
    )
    machine = "" if imported is not None else machine_text(record.environment, memory or 0)
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
        "profiling": _profilers(race),
        _WORK: _other_work(race, newest),
    }
