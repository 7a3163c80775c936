"""The result of a saturation as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.printable import single_line
from pacenote.model.race_record import Verdict
from pacenote.model.result import CensoredPercentile
from pacenote.model.saturation import ConcurrencyLevel, Estimate, LimitedBy, Probe, SaturationResult, UslFit
from pacenote.report.formatting import format_value
from pacenote.units import format_count, format_number

_WHY: dict[LimitedBy, str] = {
    "engine": "the engine",
    "driver": "the driver or its machine, not the engine: they affected each trial of the rate above (see "
    "the reasons); a quieter machine, more threads or `--spin` may help",
    "samples": "the number of samples: at the rate above, no probe failed, but none had enough samples to be "
    "sure that it met the objective; longer probes (`--probe-time`) may help",
    "range": "the highest allowed rate (`--max-rate`)",
    "disagreement": "probes that disagreed: some passed, and others of the same or a lower rate did not; "
    "longer probes (`--probe-time`) or a quieter machine may help",
    "search": "the search, which ended before a rate failed",
    "nothing": "no rate met the objective",
}


def render_saturation(found: SaturationResult, verdict: Verdict | None = None) -> str:
    """Renders the answer, all probes and the closed-loop sweep as Markdown, and the verdict on the race if it
    is not valid.
    """
    return "\n".join([*_answer(found), *_verdict(verdict), "", *_probes(found), *_levels(found), ""])


def answer(found: SaturationResult) -> str:
    """Returns the answer in one line."""
    stable, unstable = _rate(found.stable, found), _rate(found.unstable, found)
    failed = found.limited_by not in ("samples", "driver")
    if found.stable is not None and found.unstable is not None:
        return f"between {stable} and {unstable}" if failed else f"at least {stable}; undecided at {unstable}"
    if found.disputed:
        bounds = [f"at least {stable}"] if found.stable is not None else []
        bounds += [f"below {unstable}"] if found.unstable is not None and failed else []
        disputed = f"the probes at {_rates(found.disputed, found)} disagree"
        return "; ".join([", ".join(bounds) or "inconclusive", disputed])
    if found.stable is not None:
        return f"at least {stable}"
    if found.passed_above:
        return f"inconclusive; probes at {_rates(found.passed_above, found)} passed, but none at {unstable}"
    if found.unstable is not None and not failed:
        return f"inconclusive; no probe passed, the slowest at {unstable}"
    if found.unstable is not None:
        return f"below {unstable}: no rate met the objective"
    return "no probe was completed"


def _rates(rates: Sequence[float], found: SaturationResult) -> str:
    """Returns the lowest and the highest of these rates, which are in ascending order."""
    others = f" and at other rates up to {_rate(rates[-1], found)}" if len(rates) > 1 else ""
    return f"{_rate(rates[0], found)}{others}"


def _answer(found: SaturationResult) -> Iterator[str]:
    bound = " (upper bound of its 95 % interval)"
    limits = [f"{limit}{bound}" for limit in found.objective.latency]
    allowed = found.objective.error_rate
    limits.append(f"error rate at most {allowed * 100:g} %{bound if 0 < allowed < 1 else ''}")
    limits.append("all operations sent and answered")
    yield f"# Saturation of task {single_line(found.task)}"
    yield ""
    yield f"**{answer(found)}**"
    yield ""
    yield f"- race: {found.race_id}"
    yield f"- objective: {', '.join(limits)}"
    yield f"- open loop, at most {format_count(found.connections, 'connection')}"
    yield (
        f"- each probe {found.window_s:g} s after {found.warmup_s:g} s of warm-up, longer if the "
        f"objective needs it; precision {found.precision * 100:g} %"
    )
    yield f"- limited by: {_WHY[found.limited_by]}"
    for rate in (*found.disputed, *found.passed_above):
        probes = [probe for probe in found.probes if probe.rate == rate]
        passed = sum(probe.outcome == "passed" for probe in probes)
        yield f"- {_rate(rate, found)}: {passed} of {format_count(len(probes), 'probe')} passed"
    for note in found.notes:
        yield f"- {single_line(note)}"
    if not found.complete:
        why = f" ({single_line(found.ended_early)})" if found.ended_early else ""
        yield f"- the search ended early{why}: the interval is the result so far"


def _verdict(verdict: Verdict | None) -> Iterator[str]:
    """Yields the reasons why the tasks before the search may have left the engine in an unusual state."""
    if verdict is None or verdict.state == "valid":
        return
    yield f"- verdict on the race, which includes the tasks before the search: {verdict.state}"
    for reason in verdict.reasons:
        yield f"  - {single_line(reason)}"


def _rate(rate: float | None, found: SaturationResult) -> str:
    if rate is None:
        return "nothing"
    text = f"{format_number(rate)} ops/s"
    if found.unit in ("", "ops"):
        return text
    return f"{text} ({format_number(rate * found.work_per_operation)} {single_line(found.unit)}/s)"


def _probes(found: SaturationResult) -> Iterator[str]:
    shown = sorted({50.0, 99.0, *(limit.q for limit in found.objective.latency)})
    heads = ["probe", "target ops/s", "done", *(f"p{q:g} ms" for q in shown), "errors %", "waited", "outcome"]
    yield from _table(heads, [_probe_cells(probe, shown) for probe in found.probes])


def _probe_cells(probe: Probe, shown: Sequence[float]) -> list[str]:
    times = [probe.at(q) for q in shown]
    why = f": {'; '.join(single_line(reason) for reason in probe.reasons)}" if probe.reasons else ""
    return [
        str(probe.number),
        format_number(probe.rate),
        format_number(probe.achieved),
        *(_latency_cell(time) for time in times),
        "" if probe.error_rate is None else f"{probe.error_rate * 100:.3g}",
        f"{probe.waited:,}",
        f"{probe.outcome}{why}",
    ]


def _latency_cell(percentile: CensoredPercentile | None) -> str:
    if percentile is None:
        return ""
    text = "endless" if percentile.ms is None else format_value(percentile.ms)
    if not percentile.supported:
        return f"{text} *"
    high = percentile.high_ms
    return f"{text} (to {'endless' if high is None else format_value(high)})"


def _levels(found: SaturationResult) -> Iterator[str]:
    if not found.levels:
        return
    yield ""
    yield "## Closed loop, by clients"
    yield ""
    clients = sorted({level.clients for level in found.levels})
    rows = [_level_cells(one, [level for level in found.levels if level.clients == one]) for one in clients]
    heads = ["clients", f"{single_line(found.unit) or 'ops'}/s", "lowest", "highest", "left out of the law"]
    yield from _table(heads, rows)
    yield ""
    yield from _law(found.fit, found)


def _level_cells(clients: int, levels: Sequence[ConcurrencyLevel]) -> list[str]:
    rates = [level.work for level in levels]
    figures = (sum(rates) / len(rates), min(rates), max(rates))
    reasons = sorted({single_line(reason) for level in levels for reason in level.left_out})
    count = sum(bool(level.left_out) for level in levels)
    left_out = f"{count} of {len(levels)}: {'; '.join(reasons)}" if count else ""
    return [str(clients), *(format_number(rate) for rate in figures), left_out]


def _law(fit: UslFit | None, found: SaturationResult) -> Iterator[str]:
    if fit is None:
        yield "The levels are too few, or too scattered, for the Universal Scalability Law."
        return
    unit = f"{single_line(found.unit) or 'ops'}/s"
    yield "Universal Scalability Law, with 95 % confidence intervals:"
    yield ""
    yield f"- throughput of one client (lambda): {_interval(fit.rate_alone)} {unit}"
    yield f"- contention (sigma): {_interval(fit.contention)}"
    yield f"- coherency (kappa): {_interval(fit.coherency)}"
    if fit.peak_beyond is not None:
        yield (
            f"- peak: not located: it may lie beyond the {fit.peak_beyond:,} clients measured; more clients "
            "(`--sweep-clients`) may show it"
        )
    elif fit.peak_clients is None or fit.peak_rate is None:
        yield "- no peak: the 99 % interval of kappa contains 0, so more clients may increase throughput"
    else:
        yield f"- peak: {_interval(fit.peak_clients)} clients, {_interval(fit.peak_rate)} {unit}"
    yield f"- the law deviates from the means by {fit.residual * 100:.2g} % (root mean square)"


def _interval(interval: Estimate) -> str:
    return f"{interval.value:.4g} ({interval.low:.4g} … {interval.high:.4g})"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(' --- ' for _ in heads)}|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
