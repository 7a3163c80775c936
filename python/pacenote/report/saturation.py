"""The result of a saturation as data: its answer, remarks and tables. `render` prints it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.figures.percentiles import LINE_PERCENTILES
from pacenote.model.printable import single_line, whole_line
from pacenote.model.race_record import Verdict
from pacenote.model.result import CensoredPercentile
from pacenote.model.saturation import ConcurrencyLevel, Estimate, LimitedBy, Probe, SaturationResult, UslFit
from pacenote.model.saturation_answer import answer, outcome_text, outcome_word, rate_text, tries_text
from pacenote.report.formatting import format_value
from pacenote.report.rows import UNSUPPORTED_MARK
from pacenote.units import format_count, format_number, format_rate

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
"""A number in a reason. The one of a percentile is part of its name."""

_WHY: dict[LimitedBy, str] = {
    "engine": "the engine",
    "connections": "the number of connections, not the engine: at the rate above, operations waited for a "
    "connection, although replies took hardly longer than with fewer in use; more of them "
    "(`--max-connections`) show whether the engine sustains more",
    "driver": "the driver or its machine, not the engine: they affected each trial of the rate above (see "
    "the reasons); a quieter machine, more threads or `--spin` may help",
    "samples": "probes that did not decide: at the rate above, none failed, but none showed that it met the "
    "objective, because it had too few samples, waited for the warm-up, or was disturbed (see the reasons); "
    "longer probes (`--probe-time`, `--probe-warmup`) may help",
    "range": "the highest allowed rate (`--max-rate`)",
    "disagreement": "probes that disagreed: some passed, and others of the same or a lower rate did not; "
    "longer probes (`--probe-time`) or a quieter machine may help",
    "search": "the search, which ended before a rate failed",
    "nothing": "no rate met the objective",
}

LIMITED_BY: dict[LimitedBy, str] = {
    "engine": "limited by the engine",
    "connections": "limited by the connections",
    "samples": "probes did not decide",
    "driver": "limited by the driver or its machine",
    "range": "limited by the highest allowed rate",
    "disagreement": "probes disagree",
    "search": "ended early",
    "nothing": "no rate met the objective",
}
"""Why the answer is not higher, in a few words."""

_NO_TIME = "none"
"""The cell of a percentile that ranks among the operations that failed or were not sent."""


class _Formats(Struct, frozen=True):
    """How the numbers of a table are written."""

    rate: Callable[[float], str]
    time: Callable[[float], str]


_WHOLE = _Formats(format_number, format_value)
_ROUNDED = _Formats(format_rate, format_rate)


class Remark(Struct, frozen=True):
    """One line of text."""

    text: str
    """The line, without control characters."""

    detail: bool = False
    """Whether it belongs to the remark before it."""


class SaturationTable(Struct, frozen=True):
    """A table of probes or of levels of the closed loop."""

    heads: tuple[str, ...]
    """The titles of its columns."""

    rows: tuple[tuple[str, ...], ...]
    """Its cells."""

    spare: tuple[str, ...] = ()
    """The titles of the columns that a narrow terminal does not show, the least important first."""

    notes: tuple[str, ...] = ()
    """The reasons to which codes in its cells refer, one per line."""


class SaturationReport(Struct, frozen=True):
    """The report of one saturation."""

    task: str
    """The name of the task."""

    answer: str
    """The answer in one line."""

    method: tuple[Remark, ...]
    """How the answer was found."""

    remarks: tuple[Remark, ...]
    """What limits the answer, what disturbed the search, and the verdict on the race if it is not valid."""

    probes: SaturationTable | None
    """All probes, or None if none was completed."""

    levels: SaturationTable | None
    """The closed loop by clients, or None if it was not measured."""

    law: tuple[Remark, ...]
    """The scalability law, below its title; empty without levels."""


def build_saturation_report(
    result: SaturationResult, verdict: Verdict | None = None, *, rounded: bool = False
) -> SaturationReport:
    """Returns the report of a saturation, with the verdict on the race if it is not valid; its tables have
    numbers with three significant digits if they are `rounded`, and codes instead of reasons.
    """
    return SaturationReport(
        task=single_line(result.task),
        answer=answer(result),
        method=tuple(map(Remark, _method(result))),
        remarks=(*map(Remark, _remarks(result)), *_verdict(verdict)),
        probes=_probes(result, _ROUNDED if rounded else _WHOLE) if result.probes else None,
        levels=_levels(result, _ROUNDED if rounded else _WHOLE) if result.levels else None,
        law=tuple(_law(result)) if result.levels else (),
    )


def _method(result: SaturationResult) -> Iterator[str]:
    bound = " (upper bound of its 95 % interval)"
    limits = [f"{limit}{bound}" for limit in result.objective.latency]
    allowed = result.objective.error_rate
    limits.append(f"error rate at most {allowed * 100:g} %{bound if 0 < allowed < 1 else ''}")
    limits.append("all operations sent and answered")
    yield from _rule(result)
    yield f"race: {result.race_id}"
    yield f"objective: {', '.join(limits)}"
    yield (
        "open loop: operations are sent when they are due, on at most "
        f"{format_count(result.connections, 'connection')}"
    )
    yield (
        f"each probe {result.window_s:g} s after {result.warmup_s:g} s of warm-up, longer if the "
        f"objective needs it; precision {result.precision * 100:g} %"
    )
    yield from _legend(result)


def _remarks(result: SaturationResult) -> Iterator[str]:
    yield f"limited by: {_WHY[result.limited_by]}"
    for rate in (*result.disputed, *result.passed_above):
        yield f"{rate_text(rate, result)}: {tries_text(rate, result)}"
    for note in result.notes:
        yield single_line(note)
    if any(probe.outcome == "passed" and probe.reasons for probe in result.probes):
        yield ("disturbed probes that passed count: a slow driver or machine can only make latency longer")
    if not result.complete:
        why = f" ({single_line(result.ended_early)})" if result.ended_early else ""
        yield f"the search ended early{why}: the interval is the result so far"


def _rule(result: SaturationResult) -> Iterator[str]:
    """Yields how often the rates of the answer were probed, with which outcomes."""
    probed = {probe.rate for probe in result.probes}
    rates = [rate for rate in (result.stable, result.unstable) if rate in probed]
    if not rates:
        return
    tries = (f"{rate_text(rate, result)}: {tries_text(rate, result)}" for rate in rates)
    yield f"decided by: {'; '.join(tries)}"
    if result.varying is not None:
        yield (
            "the limit varies from probe to probe: the interval is that of its median, which includes the "
            "rates between the highest that always passed and the lowest that always failed"
        )
    if any(probe.outcome == "void" for probe in result.probes):
        yield (
            "void probes did not pass while something other than the engine disturbed them, or had a clock "
            "that cannot be trusted: they do not count, except that a rate is in dispute if two are void "
            "before one passes; a quieter machine for the driver, or another one for the engine, may help"
        )


def _legend(result: SaturationResult) -> Iterator[str]:
    times = [probe.at(q) for probe in result.probes for q in _shown_percentiles(result)]
    if any(time is not None and not time.supported for time in times):
        yield f"{UNSUPPORTED_MARK}: too few samples for an interval"
    if any(time is not None and time.ms is None for time in times):
        yield f"{_NO_TIME}: so many operations failed or were not sent that there is no percentile"


def _verdict(verdict: Verdict | None) -> Iterator[Remark]:
    """Yields the reasons why the tasks before the search may have left the engine in an unusual state."""
    if verdict is None or verdict.state == "valid":
        return
    yield Remark(f"verdict on the race, which includes the tasks before the search: {verdict.state}")
    for reason in verdict.reasons:
        yield Remark(single_line(reason), detail=True)


def _shown_percentiles(result: SaturationResult) -> list[float]:
    return sorted({*LINE_PERCENTILES, *(limit.q for limit in result.objective.latency)})


def _probes(result: SaturationResult, formats: _Formats) -> SaturationTable:
    shown = _shown_percentiles(result)
    times = {q: f"p{q:g} ms" for q in shown}
    heads = ("probe", "target ops/s", "done", *times.values(), "errors %", "waited", "outcome")
    limited = {limit.q for limit in result.objective.latency}
    free = [name for q, name in times.items() if q not in limited]
    last = [name for q, name in times.items() if q in limited]
    spare = ("waited", *free, "done", "errors %", *last)
    if formats is _WHOLE:
        rows = tuple(_probe_cells(probe, shown, formats, outcome_text(probe)) for probe in result.probes)
        return SaturationTable(heads, rows, spare)
    codes = reason_codes(reason for probe in result.probes for reason in probe.reasons)
    rows = tuple(
        _probe_cells(probe, shown, formats, f"{outcome_word(probe)} {codes.of(probe.reasons)}".rstrip())
        for probe in result.probes
    )
    return SaturationTable(heads, rows, spare, codes.notes)


def _probe_cells(probe: Probe, shown: Sequence[float], formats: _Formats, outcome: str) -> tuple[str, ...]:
    times = [probe.at(q) for q in shown]
    return (
        str(probe.number),
        formats.rate(probe.rate),
        formats.rate(probe.achieved),
        *(_latency_cell(time, formats) for time in times),
        "" if probe.error_rate is None else f"{probe.error_rate * 100:.3g}",
        f"{probe.waited:,}",
        outcome,
    )


def _latency_cell(percentile: CensoredPercentile | None, formats: _Formats) -> str:
    if percentile is None:
        return ""
    text = _NO_TIME if percentile.ms is None else formats.time(percentile.ms)
    if not percentile.supported:
        return f"{text} {UNSUPPORTED_MARK}"
    high = percentile.high_ms
    if high is None:
        return text if percentile.ms is None else f"{text} (no bound)"
    return f"{text} (to {formats.time(high)})"


def _levels(result: SaturationResult, formats: _Formats) -> SaturationTable:
    clients = sorted({level.clients for level in result.levels})
    by_clients = {one: [level for level in result.levels if level.clients == one] for one in clients}
    codes = reason_codes(reason for level in result.levels for reason in level.left_out)
    is_coded = formats is _ROUNDED
    rows = tuple(
        _level_cells(one, levels, formats, codes if is_coded else None) for one, levels in by_clients.items()
    )
    heads = ("clients", f"{single_line(result.unit) or 'ops'}/s", "lowest", "highest", "left out of the law")
    return SaturationTable(heads, rows, ("highest", "lowest"), codes.notes if is_coded else ())


def _level_cells(
    clients: int, levels: Sequence[ConcurrencyLevel], formats: _Formats, codes: ReasonCodes | None
) -> tuple[str, ...]:
    rates = [level.work for level in levels]
    figures = (sum(rates) / len(rates), min(rates), max(rates))
    reasons = sorted({single_line(reason) for level in levels for reason in level.left_out})
    count = sum(bool(level.left_out) for level in levels)
    why = "; ".join(reasons) if codes is None else codes.of(r for level in levels for r in level.left_out)
    left_out = f"{count} of {len(levels)}: {why}" if count else ""
    return (str(clients), *(formats.rate(rate) for rate in figures), left_out)


def _law(result: SaturationResult) -> Iterator[Remark]:
    if result.fit is None:
        yield Remark("The levels are too few, or too scattered, for the Universal Scalability Law.")
        return
    yield Remark("Universal Scalability Law, a curve of throughput over clients, with 95 % intervals:")
    for text in _parameters(result.fit, result):
        yield Remark(text, detail=True)


def _parameters(fit: UslFit, result: SaturationResult) -> Iterator[str]:
    unit = f"{single_line(result.unit) or 'ops'}/s"
    yield f"throughput of one client (lambda): {_interval(fit.rate_alone)} {unit}"
    yield f"contention (sigma): {_interval(fit.contention)}"
    yield f"coherency (kappa): {_interval(fit.coherency)}"
    if fit.peak_beyond is not None:
        yield (
            f"peak: not located: it may lie beyond the {fit.peak_beyond:,} clients measured; more clients "
            "(`--sweep-clients`) may show it"
        )
    elif fit.peak_clients is None or fit.peak_rate is None:
        yield "no peak: the 99 % interval of kappa contains 0, so more clients may increase throughput"
    else:
        yield f"peak: {_interval(fit.peak_clients)} clients, {_interval(fit.peak_rate)} {unit}"
    yield f"the law deviates from the means by {fit.residual * 100:.2g} % (root mean square)"


def _interval(interval: Estimate) -> str:
    return f"{interval.value:.4g} ({interval.low:.4g} … {interval.high:.4g})"


class ReasonCodes(Struct, frozen=True):
    """The codes of reasons; those that differ only in their numbers have the same code."""

    codes: Mapping[str, str]
    """The code of each reason without its numbers."""

    notes: tuple[str, ...]
    """The reasons after their codes, each with the lowest and the highest of its numbers."""

    def of(self, reasons: Iterable[str]) -> str:
        """Returns the codes of reasons, separated by spaces."""
        return " ".join(dict.fromkeys(self.codes[_kind(whole_line(reason))] for reason in reasons))


def reason_codes(reasons: Iterable[str]) -> ReasonCodes:
    """Returns codes for reasons, in the order of their first appearance."""
    by_kind: dict[str, list[str]] = {}
    for reason in map(whole_line, reasons):
        by_kind.setdefault(_kind(reason), []).append(reason)
    codes = {kind: f"[{number}]" for number, kind in enumerate(by_kind, 1)}
    notes = (f"{codes[kind]} {_merged(alike)}" for kind, alike in by_kind.items())
    return ReasonCodes(codes, tuple(notes))


def _kind(reason: str) -> str:
    """Returns a reason with a character that no reason contains in place of each number."""
    return _NUMBER.sub("\0", reason)


def _merged(alike: Sequence[str]) -> str:
    """Returns reasons of one kind as one text, with a range for each number that varies."""
    columns = iter(zip(*(_NUMBER.findall(reason) for reason in alike), strict=True))
    return _NUMBER.sub(lambda _: _range(next(columns)), alike[0])


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} … {ordered[-1]}"
