"""The progress of a search: a line when a race begins or ends, when candidates drop out, and at its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_progress import INTERVAL_S
from pacenote.lab.tune.candidates import settings
from pacenote.lab.tune.progress import TuneProgress
from pacenote.model.printable import single_line
from pacenote.model.tune import TuneEvent
from pacenote.report.tune import settings_text
from pacenote.units import format_count, format_seconds


class TuneLines:
    """Prints what happens in a search."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._printed_at = 0.0

    def race_line(self, text: str) -> None:
        """Shows what a race reports, at most once a minute."""
        if self._clock() - self._printed_at >= INTERVAL_S:
            self._printed_at = self._clock()
            self._console.progress(f"  {single_line(text)}")

    def changed(self, event: TuneEvent, state: TuneProgress) -> None:
        """Shows what was added to the journal."""
        if event.event == "started":
            self._printed_at = self._clock()
        if text := event_line(event, state):
            self._console.progress(single_line(text))


def event_line(event: TuneEvent, state: TuneProgress) -> str:
    """Returns the line about an event; empty if it is not shown."""
    if event.event == "suggested":
        new = [one for one in event.candidates if one.origin != "default"]
        return f"{format_count(len(new), 'new candidate')}: {len(state.active)} race now" if new else ""
    if event.event == "started":
        block = f"block {event.block}" if event.block else "before the first block"
        return (
            f"race {event.race}, {block}, candidate {event.candidate} ({_settings(event.candidate, state)}) …"
        )
    if event.event == "ended":
        taken = format_seconds(round(event.seconds))
        is_shown = event.outcome == "raced" and event.objective is not None
        words = f"{event.verdict}, {event.objective:,.6g}" if is_shown else event.text or str(event.outcome)
        if event.outcome == "disturbed":
            words = f"repeated, because it was disturbed: {event.text}"
        left = max(0.0, state.budget_s - state.seconds)
        return f"  {words} ({taken}); {format_seconds(round(left))} of the budget left"
    if event.event == "judged":
        gone = "; ".join(f"{one.candidate} dropped out: {one.text}" for one in event.dropped)
        return f"block {event.block}: {len(state.active)} candidates left{'; ' if gone else ''}{gone}"
    if event.event == "chosen":
        best = f"candidate {event.candidate} ({_settings(event.candidate, state)})"
        return f"the search is over: {event.text}; best: {best}"
    if event.event == "confirming":
        return f"confirmation: experiment {event.experiment_id}"
    if event.event == "repeated":
        return f"block {event.block} is raced again: its races are too old, or of another machine"
    if event.event == "retried":
        return f"the search goes on, with a budget of {format_seconds(round(state.budget_s))}"
    if event.event == "machine":
        return f"the machine is not as it was: {event.text}"
    return event.text


def _settings(candidate: int, state: TuneProgress) -> str:
    return settings_text(settings(state.plan.knobs, state.candidates[candidate].levels))
