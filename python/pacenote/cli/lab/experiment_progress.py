"""The progress of an experiment: one line for the race that runs, and one for each that has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from pacenote.cli.console import Console
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.model.experiment import JournalEntry, PlannedRace
from pacenote.model.printable import single_line, whole_line
from pacenote.units import format_count, format_seconds

Estimate = Callable[[ExperimentProgress], str]
"""Returns the running estimate in one line, empty if there is none yet."""

INTERVAL_S = 60.0
"""Seconds between two lines of progress of a race where there is no terminal."""


class PlainExperimentListener:
    """Prints a line when a race begins or ends, and one a minute in between."""

    def __init__(
        self, console: Console, estimate: Estimate, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._estimate = estimate
        self._clock = clock
        self._printed_at = 0.0

    def race_started(self, race: PlannedRace, progress: ExperimentProgress) -> None:
        """Announces a race."""
        self._printed_at = self._clock()
        self._console.progress(f"{race_title(race, progress)} …")

    def race_line(self, text: str) -> None:
        """Shows what a race reports, at most once a minute."""
        if self._clock() - self._printed_at >= INTERVAL_S:
            self._printed_at = self._clock()
            self._console.progress(f"  {single_line(text)}")

    def race_ended(self, race: PlannedRace, end: JournalEntry, progress: ExperimentProgress) -> None:
        """Shows how a race ended."""
        self._console.progress(end_line(race, end, progress))

    def block_ended(self, block: int, progress: ExperimentProgress) -> None:  # noqa: ARG002  # of the protocol
        """Shows the running estimate."""
        if text := self._estimate(progress):
            self._console.progress(text)

    def warning(self, text: str) -> None:
        """Shows a warning."""
        self._console.warning(single_line(text))


class LiveExperimentListener(PlainExperimentListener):
    """Redraws the race that runs, with what it reports; races that have ended stay above it."""

    def __init__(self, console: Console, estimate: Estimate) -> None:
        super().__init__(console, estimate)
        from rich.live import Live

        self._live = Live(console=console.rich_progress(), refresh_per_second=4, transient=True)
        self._live.start()
        self._title, self._line, self._state = "", "", ""

    def race_started(self, race: PlannedRace, progress: ExperimentProgress) -> None:
        """Shows the race."""
        self._title, self._line = race_title(race, progress), ""
        self._draw()

    def race_line(self, text: str) -> None:
        """Shows what the race reports."""
        self._line = single_line(text)
        self._draw()

    def race_ended(self, race: PlannedRace, end: JournalEntry, progress: ExperimentProgress) -> None:
        """Shows how the race ended, above the others."""
        self._live.console.print(end_line(race, end, progress), markup=False)

    def block_ended(self, block: int, progress: ExperimentProgress) -> None:  # noqa: ARG002  # of the protocol
        """Shows the running estimate."""
        self._state = self._estimate(progress)
        self._draw()

    def warning(self, text: str) -> None:
        """Shows a warning above the races."""
        self._live.console.print(f"warning: {single_line(text)}", style="yellow", markup=False)

    def close(self) -> None:
        """Removes the line of the running race."""
        self._live.stop()

    def _draw(self) -> None:
        from rich.text import Text

        lines = [self._title, f"  {self._line}" if self._line else "", self._state]
        self._live.update(Text("\n".join(line for line in lines if line), overflow="ellipsis", no_wrap=True))


@contextmanager
def experiment_listener(
    console: Console, estimate: Estimate
) -> Generator[PlainExperimentListener, None, None]:
    """Yields the listener for the kind of console, and restores the terminal at the end of the block."""
    if console.quiet or not console.shows_progress_on_terminal:
        yield PlainExperimentListener(console, estimate)
        return
    listener = LiveExperimentListener(console, estimate)
    try:
        yield listener
    finally:
        listener.close()


def race_title(race: PlannedRace, progress: ExperimentProgress) -> str:
    """Returns the line about a race that begins: its number, its block, its variant, and the time left."""
    blocks = max(one.block for one in progress.plan.races)
    block = f"block {race.block} of {blocks}" if race.block else "warm-up"
    parts = [f"race {race.number} of {len(progress.plan.races)}", block, race.variant, left_text(progress)]
    return ", ".join(part for part in parts if part)


def left_text(progress: ExperimentProgress) -> str:
    """Returns how long the races still take, or an empty text if that is not known yet."""
    per_race = progress.seconds_per_race
    if per_race is None:
        return ""
    return f"about {format_seconds(round(per_race * len(progress.left())))} left"


def left_lines(progress: ExperimentProgress) -> Iterator[str]:
    """Yields what an experiment has still to race: the number of races with their time, and each block."""
    left = progress.left()
    if not left:
        yield f"no race is left: {progress.stopped or 'all have ended'}"
        return
    time_left = left_text(progress)
    count = f"{len(left)} of {format_count(len(progress.plan.races), 'race')}"
    yield f"{count} would run{f', {time_left}' if time_left else ''}"
    for block in dict.fromkeys(race.block for race in left):
        names = ", ".join(race.variant for race in left if race.block == block)
        yield f"{f'block {block}' if block else 'warm-up'}: {names}"


def end_line(race: PlannedRace, end: JournalEntry, progress: ExperimentProgress) -> str:
    """Returns the line about a race that has ended."""
    words = {
        "raced": end.verdict,
        "failed": f"failed: {end.text}",
        "interrupted": "interrupted",
        "killed": f"repeated: {end.text}",
        "disturbed": f"repeated, because it was disturbed: {end.text}",
    }
    taken = format_seconds(round(end.seconds))
    state = words.get(end.outcome or "", "")
    text = f"race {race.number} of {len(progress.plan.races)}, {race.variant}: {state} ({taken})"
    return whole_line(f"{text}; {race.variant} is not raced any more" if progress.is_left_out(race) else text)
