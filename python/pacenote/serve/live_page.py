"""The page of a running race, in parts that are replaced as the race goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pacenote.figures.percentiles import LINE_PERCENTILES
from pacenote.model.printable import shortened, single_line
from pacenote.model.race_progress import RaceProgress, TaskProgress
from pacenote.model.result import TaskResult
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.render.html import escaped
from pacenote.report.task_line import percentile_text, task_line
from pacenote.serve.document import OwnPage, attribute
from pacenote.serve.live_race import KEPT_RATES, LiveRace
from pacenote.serve.race_pages import RaceHeading
from pacenote.units import format_count, format_number, format_seconds

_REFRESH_S = 5
"""Seconds between two versions of the page in a browser without scripts."""

_LATE_S = 5.0
"""Age of progress, in seconds, from which on it is stated."""

_SHOWN_WAIT_S = 2.0
"""Seconds that an operation must be retried before this is shown."""

_RUNNING = ("Task", "Done", "Rate", "", "p50", "p99", "Late p99", "Errors", "Left")
_ENDED = ("Task", "Duration", "Throughput", "p50", "p99", "Errors")
_STEP, _HEIGHT = 20, 200
"""Distance of two points of a sparkline, and its height, in its own units."""

_LEFT = tuple(f"{_STEP * at}," for at in range(KEPT_RATES))
"""The first coordinates of its points. As little as possible is computed for each point and second."""


def live_page(heading: RaceHeading, race: LiveRace, key: str) -> OwnPage:
    """Returns the whole page, which obeys only events with the key."""
    parts = running_parts(race) | settled_parts(race)
    body = "".join((
        heading.top("Report"),
        f'<main id=live data-events="{attribute(heading.path("events"))}" data-key={key}>'
        f"<h1>{escaped(heading.name)}</h1>",
        "<p id=lost class=wrong role=alert hidden>The connection is lost. Does <code>pacenote serve</code> "
        "still run?</p>",
        *(f"<div id={name}>{part}</div>" for name, part in parts.items()),
        "</main>",
    ))
    return OwnPage(f"{heading.name} · running · Pacenote", body, "live.js", _REFRESH_S)


def running_parts(race: LiveRace) -> dict[str, str]:
    """Returns the parts of the page that change every second, by their ids."""
    running = race.progress.tasks if race.progress else ()
    return {
        "status": f"<p class=status>{escaped(_status(race))}</p>",
        "running": "".join(_running(running, race)),
        "waits": "".join(_waits(race.progress)),
    }


def settled_parts(race: LiveRace) -> dict[str, str]:
    """Returns the other parts, which change when a task begins or ends."""
    return {"ended": "".join(_ended(race.record.tasks)), "to-come": "".join(_to_come(race.to_come))}


def _status(race: LiveRace) -> str:
    if not race.is_running:
        return "The race has ended; its report is being written."
    progress = race.progress
    if progress is None:
        return "The race ends." if race.record.tasks and not race.to_come else "The race is being prepared."
    parts = [
        progress.activity or f"Step {progress.step} of {progress.steps}",
        f"{format_seconds(round(progress.elapsed_s))} so far",
    ]
    if progress.left is not None:
        more = "" if progress.left.complete else ", plus tasks of unknown duration"
        parts.append(f"about {format_seconds(round(progress.left.seconds))} left{more}")
    if race.age_s >= _LATE_S:
        parts.append(f"as of {format_seconds(round(race.age_s))} ago")
    return " · ".join(parts)


def _running(tasks: Sequence[TaskProgress], race: LiveRace) -> Iterator[str]:
    if tasks:
        yield from _table("Running", _RUNNING, (_running_cells(task, race) for task in tasks))


def _running_cells(task: TaskProgress, race: LiveRace) -> Iterator[str]:
    yield escaped(task.task)
    yield _done(task)
    if task.one_off:
        yield from ("", "", "", "", "")
    else:
        target = "" if task.target is None else f" of {format_number(task.target)}"
        yield escaped(f"{task.rate:,.0f}{target} {task.unit}/s")
        yield _sparkline(race.rates.get(task.task, ()))
        kind = "latency" if task.has_latency else "service time"
        yield "" if task.p50_ms is None else f"{escaped(_ms(task.p50_ms))}<span class=quiet>{kind}</span>"
        yield from (escaped(_ms(value)) for value in (task.p99_ms, task.late_p99_ms))
    yield f"<span class=wrong>{task.errors:,}</span>" if task.errors else "0"
    yield "" if task.eta_s is None else escaped(format_seconds(round(task.eta_s)))


def _done(task: TaskProgress) -> str:
    if task.one_off or task.done_share is None:
        shown = ""
    else:
        share = min(max(task.done_share, 0.0), 1.0)
        shown = f'<progress value={share:.3f} aria-label="{attribute(task.task)}"></progress> {share:.0%}'
    return f"{shown} <span class=quiet>warm-up</span>" if task.warming_up else shown


def _sparkline(rates: Sequence[float]) -> str:
    """Returns the last rates as a line, the newest at the right."""
    highest = max(rates, default=0.0)
    if len(rates) < 2 or highest <= 0:
        return ""
    # The line is 1.5 of 20 pixels thick.
    lowest, scale = _HEIGHT - 10, (_HEIGHT - 20) / highest
    lefts = _LEFT[-len(rates) :]
    points = " ".join([
        f"{left}{int(lowest - rate * scale)}" for left, rate in zip(lefts, rates, strict=True)
    ])
    box = f"0 0 {_STEP * (KEPT_RATES - 1)} {_HEIGHT}"
    return f'<svg class=spark viewBox="{box}" aria-hidden=true><polyline points="{points}"/></svg>'


def _waits(progress: RaceProgress | None) -> Iterator[str]:
    """Yields what does not go on: operations that are tried again, and tasks of which none has ended."""
    for wait in progress.waits if progress else ():
        if wait.waited_s >= _SHOWN_WAIT_S:
            attempts = format_count(wait.attempts, "attempt")
            text = f"{wait.task}: no success after {attempts} in {format_seconds(round(wait.waited_s))}"
            yield f"<p class=doubtful>{escaped(f'{text} ({single_line(wait.reason)})')}</p>"
    for task in progress.tasks if progress else ():
        if task.silent_s is not None:
            silence = format_seconds(round(task.silent_s))
            yield f"<p class=doubtful>{escaped(f'{task.task}: no operation has ended for {silence}')}</p>"


def _ended(results: Sequence[TaskResult]) -> Iterator[str]:
    if results:
        yield from _table("Ended", _ENDED, map(_ended_cells, results))


def _ended_cells(result: TaskResult) -> Iterator[str]:
    line = task_line(result)
    name = escaped(line.name)
    yield f"{name} <span class=doubtful>{escaped(line.ended)}</span>" if line.ended else name
    yield escaped(format_seconds(result.duration_s))
    mark = BACKLOG_MARK if line.rate_has_backlog else ""
    yield "" if line.rate is None else escaped(f"{format_number(line.rate)} {line.unit}/s{mark}")
    for q in LINE_PERCENTILES:
        latency = percentile_text(line.percentile(q))
        yield escaped(f"{latency}{BACKLOG_MARK}" if latency and line.has_backlog else latency)
    reason = f" ({shortened(line.reason, 200)})" if line.reason else ""
    yield f"<span class=wrong>{line.failed:,}{escaped(reason)}</span>" if line.failed else "0"


def _to_come(names: Sequence[str]) -> Iterator[str]:
    if names:
        items = "".join(f"<li>{escaped(name)}" for name in names)
        yield f"<h2>To come</h2><ol class=names>{items}</ol>"


def _table(title: str, heads: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yields a table whose cells are HTML; the first column has text, the others have numbers."""
    yield f"<h2>{title}</h2><div class=scroll tabindex=0 role=region aria-label={title}><table><thead><tr>"
    yield "".join(f"<th scope=col>{head}" if head else "<td>" for head in heads)
    yield "</thead><tbody>"
    for row in rows:
        first, *cells = row
        yield f"<tr><th scope=row>{first}"
        yield "".join(f"<td>{cell}" for cell in cells)
    yield "</tbody></table></div>"


def _ms(value: float | None) -> str:
    return "" if value is None else format_seconds(value / 1e3)
