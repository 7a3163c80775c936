"""How long a search for the highest rate takes: what is expected, and at most if its probes become longer."""

from __future__ import annotations

from msgspec import Struct

from pacenote.lab.probe import MAX_BURST_WINDOW_S, quick_rate, window_s
from pacenote.lab.progress import TYPICAL_PROBES
from pacenote.lab.rate_search import GROWTH, RateRange
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.plan.duration import ExpectedDuration
from pacenote.stats.usl import sweep_order
from pacenote.units import OPS, format_rate, format_seconds

LONGER = 1.1
"""How many times as long as before probes are at least if the search says that they are longer."""


def _before_window_s(request: SaturationRequest) -> float:
    """Returns the seconds of a probe before its window: cool-down and warm-up."""
    return request.race.conditions.cooldown_s + request.warmup_s


def probe_s(request: SaturationRequest, rate: float, effect: float = 1.0) -> float:
    """Returns the seconds of a probe of a rate until its window ends; `effect` is the design effect of slow
    operations.
    """
    measured_s = window_s(request.objective, rate, request.window_s, effect)
    return _before_window_s(request) + measured_s


def longest_probe_s(request: SaturationRequest) -> float:
    """Returns the seconds of the longest probe, with the last replies, which an engine that cannot keep up
    sends until their requests time out.
    """
    measured_s = max(request.window_s, MAX_BURST_WINDOW_S)
    return _before_window_s(request) + measured_s + request.race.client.timeout_s


def announcement(request: SaturationRequest, within: RateRange, before: ExpectedDuration) -> str:
    """States how long a search takes: at low rates, a probe may take minutes.

    The rate at most doubles from probe to probe, so no search of the fewest probes is shorter than the first
    duration. Most that do not go below the first rate are not longer than the second, unless slow operations
    come in bursts or replies are awaited after the windows: how much longer the probes are then is not known,
    only their greatest length.
    """
    fewest, most = TYPICAL_PROBES
    least_s = sum(probe_s(request, min(within.highest, within.start * GROWTH**n)) for n in range(fewest))
    first_s = probe_s(request, within.start)
    span = f"{format_seconds(round(least_s))} to {format_seconds(round(most * first_s))}"
    quick = quick_rate(request.objective, request.window_s)
    text = f"expected duration: {span} for {fewest} to {most} probes"
    text += f" of {format_seconds(probe_s(request, quick))} each"
    if within.lowest < quick:
        text += f", longer below {format_rate(quick)} {OPS}/s"
    if within.start < quick:
        text += f" ({format_seconds(first_s)} at {within.start:,.4g} {OPS}/s)"
    if request.clients:
        levels = len(sweep_order(request.clients, request.repeats))
        level_s = _before_window_s(request) + request.level_s
        text += f", then {format_seconds(round(levels * level_s))} for the closed loop"
    longest_s = longest_probe_s(request)
    text += (
        f"; if slow operations come in bursts or replies are late, up to {format_seconds(round(longest_s))} "
        f"for each probe, and {format_seconds(round(most * longest_s))} for {most}"
    )
    return text if before == ExpectedDuration() else f"{text}; before them, the preparation: {before}"


class LongerProbes(Struct):
    """Notices when the probes of a search become longer than was announced."""

    request: SaturationRequest
    """The search."""

    effect: float = 1.0
    """The design effect of the last announcement."""

    def announce(self, rate: float, effect: float, done: int) -> str:
        """Returns a sentence about the time that is left after `done` probes, the last one of `rate`, if slow
        operations with this design effect make probes longer than announced; empty if they do not.
        """
        before_s, now_s = (
            probe_s(self.request, rate, design_effect) for design_effect in (self.effect, effect)
        )
        if now_s < LONGER * before_s:
            return ""
        self.effect = effect
        fewest, most = TYPICAL_PROBES
        least_s, most_s = (max(1, count - done) * now_s for count in (fewest, most))
        return (
            f"slow operations come in bursts: probes of {format_rate(rate)} {OPS}/s take "
            f"{format_seconds(round(now_s))} instead of {format_seconds(round(before_s))} from now on, and "
            f"all that follow about {format_seconds(round(least_s))} to {format_seconds(round(most_s))}"
        )
