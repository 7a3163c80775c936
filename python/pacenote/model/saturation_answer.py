"""The answer of a search for the highest rate, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pacenote.model.codec import Name, Number, Stored
from pacenote.model.printable import single_line, whole_line
from pacenote.model.saturation import LimitedBy, Probe, ProbeOutcome, SaturationResult
from pacenote.units import OPS, format_count, format_number

_NOT_PASSED: tuple[ProbeOutcome, ...] = ("failed", "undecided", "void")

UNDECIDED: tuple[LimitedBy, ...] = ("connections", "samples", "driver")
"""What may limit a search at whose upper end the engine has not failed."""


class RecordedSaturation(Stored, frozen=True):
    """The answer of `pacenote saturate`, as `race.json` has it; all probes are in `saturation.json`."""

    task: Name
    """The name of the task."""

    answer: str
    """The answer in words."""

    stable: Number | None = None
    """The highest rate at which all probes passed, in operations per second; None if there is none."""

    unstable: Number | None = None
    """The lowest rate at which no probe passed, in operations per second; None if there is none."""

    limited_by: LimitedBy = "search"
    """The reason why the answer is not higher."""


def recorded_saturation(result: SaturationResult) -> RecordedSaturation:
    """Returns the answer for the record of the race."""
    return RecordedSaturation(result.task, answer(result), result.stable, result.unstable, result.limited_by)


def answer(result: SaturationResult) -> str:
    """Returns the answer in one line."""
    if result.varying is not None:
        low, high = (rate_text(rate, result) for rate in (result.varying.low, result.varying.high))
        return f"between {low} and {high}; the limit varies from probe to probe"
    stable, unstable = rate_text(result.stable, result), rate_text(result.unstable, result)
    failed = result.limited_by not in UNDECIDED
    if result.stable is not None and result.unstable is not None:
        if failed:
            return f"between {stable} and {unstable}"
        disputed = f"; the probes at {_rates(result.disputed, result)} disagree" if result.disputed else ""
        why = "too few connections for" if result.limited_by == "connections" else "undecided at"
        return f"at least {stable}{disputed}; {why} {unstable}"
    if result.disputed:
        bounds = [f"at least {stable}"] if result.stable is not None else []
        bounds += [f"below {unstable}"] if result.unstable is not None and failed else []
        disputed = f"the probes at {_rates(result.disputed, result)} disagree"
        return "; ".join([", ".join(bounds) or "inconclusive", disputed])
    if result.stable is not None:
        return f"at least {stable}"
    if result.passed_above:
        return f"inconclusive; probes at {_rates(result.passed_above, result)} passed, but none at {unstable}"
    if result.unstable is not None and not failed:
        return f"inconclusive; no probe passed, the slowest at {unstable}"
    if result.unstable is not None:
        return f"below {unstable}: no rate met the objective"
    return "no probe was completed"


def tries_text(rate: float, result: SaturationResult) -> str:
    """Returns how many probes of a rate passed, and what became of the others."""
    outcomes = [probe.outcome for probe in result.probes if probe.rate == rate]
    counts = [(outcomes.count(outcome), outcome) for outcome in _NOT_PASSED]
    others = ", ".join(f"{count} {outcome}" for count, outcome in counts if count)
    text = f"{outcomes.count('passed')} of {format_count(len(outcomes), 'probe')} passed"
    return f"{text} ({others})" if others else text


def outcome_text(probe: Probe) -> str:
    """Returns the outcome of a probe with its reasons, in one line."""
    outcome = outcome_word(probe)
    return f"{outcome}: {'; '.join(map(whole_line, probe.reasons))}" if probe.reasons else outcome


def outcome_word(probe: Probe) -> str:
    """Returns the outcome of a probe without its reasons."""
    # A probe passes only if whatever disturbed it cannot have shortened its latency (`lab.probe`).
    return "passed, although disturbed" if probe.outcome == "passed" and probe.reasons else probe.outcome


def rate_text(rate: float | None, result: SaturationResult) -> str:
    """Returns a rate in operations per second, and in the unit of the task if that is another one."""
    if rate is None:
        return "nothing"
    text = f"{format_number(rate)} {OPS}/s"
    if result.unit in ("", OPS):
        return text
    return f"{text} ({format_number(rate * result.work_at(rate))} {single_line(result.unit)}/s)"


def _rates(rates: Sequence[float], result: SaturationResult) -> str:
    """Returns the lowest and the highest of these rates, which are in ascending order."""
    others = f" and at other rates up to {rate_text(rates[-1], result)}" if len(rates) > 1 else ""
    return f"{rate_text(rates[0], result)}{others}"
