"""The lines of a report that are not figures: what the race was, what went wrong, what the marks mean.

Texts come from the engine and from tracks too, so control characters are taken out here, once for every
renderer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.driver_health import ClockStep, clock_steps
from pacenote.model.printable import single_line
from pacenote.model.race_record import TIMESTAMP_FORMAT, RaceRecord, RecordedClient, RecordedCorpus
from pacenote.model.result import ErrorCount, TaskResult
from pacenote.report.model import MARK, SHORT, Note, Row
from pacenote.units import format_count

_TOP_ERRORS = 3

_WAITED_SHARE = 0.01
"""In a closed loop, more than this share of a schedule sent late is told."""


def header(record: RaceRecord) -> tuple[Note, ...]:
    """What the race was, one line each; what is not known is left out."""
    cluster = record.cluster
    engine = " ".join(part for part in (cluster.distribution, cluster.version, cluster.flavor) if part)
    lines = (
        ("Race ID", record.race_id),
        ("Race timestamp", record.timestamp.strftime(TIMESTAMP_FORMAT)),
        ("Track", record.track.name),
        ("Challenge", record.challenge or ""),
        ("Car", "+".join(record.car)),
        ("Engine", engine),
        ("User tags", ", ".join(f"{name}={value}" for name, value in record.user_tags.items())),
        ("Seed", str(record.seed)),
    )
    return tuple(Note(label, single_line(text)) for label, text in lines if text)


def notes(record: RaceRecord) -> tuple[Note, ...]:
    """Warnings, top errors, the way to the cluster, where the data came from, and what could not be read."""
    found = [
        *(note for task in record.tasks for note in _task_notes(task, record)),
        *(Note("Client", text) for text in _client_texts(record.client)),
        *(_corpus_note(corpus) for corpus in record.corpora),
        *(
            Note("Documents", f"index '{check.index}' may differ: {check.difference_expected}")
            for check in record.documents
            if check.difference_expected
        ),
        *(_clock_note(step) for step in clock_steps(record.driver)),
        *(Note("Telemetry missing", text) for text in record.telemetry_errors),
    ]
    return tuple(Note(note.label, single_line(note.text), single_line(note.task)) for note in found)


def footnotes(rows: Sequence[Row]) -> tuple[str, ...]:
    """What the figures shown need to be understood."""
    found: list[str] = []
    if any(row.mark == MARK for row in rows):
        found.append(
            f"{MARK} too few samples for this percentile (p99 needs 368, p99.9 3,688, p99.99 36,887): beside "
            "it is the 95 % interval of its true value, if the samples give one. It decides no verdict."
        )
    if any(row.mark == SHORT for row in rows):
        found.append(
            f"{SHORT} measured for less than a second: a rate per second of so little work is extrapolated."
        )
    if any(row.metric.endswith("primary shards") and row.value is not None for row in rows):
        found.append(
            "Times and counts of primary shards are those of the race, not since the indices were made."
        )
    if any(row.metric.endswith("lateness") for row in rows):
        found.append(
            "Lateness is how long a request was held up in the driver: from when it was due and its client "
            "free, whichever came later, until it was sent."
        )
    if any("percentile service time" in row.metric for row in rows):
        found.append(
            "Latency is shown only for tasks with a target rate; elsewhere it is the service time. "
            "Neither contains failed requests."
        )
    return tuple(found)


def _client_texts(client: RecordedClient) -> Iterator[str]:
    """What of the way to the cluster a reader of the figures should know."""
    for host, proxy in client.proxies.items():
        yield f"requests to {host} went through the proxy {proxy}"
    if client.certificates_verified is False:
        yield "TLS certificates were not verified"
    elif client.host_names_verified is False:
        yield "the names in TLS certificates were not verified"
    if client.compress:
        yield "bodies were compressed, and compressed replies asked for"


def _task_notes(task: TaskResult, record: RaceRecord) -> Iterator[Note]:
    name = task.task
    if task.error_rate > 0:
        yield Note("Warning", f"{task.error_rate * 100:.3g} % of the measured operations failed", name)
    if task.throughput is None and name not in record.unreported:
        why = "no operation succeeded" if task.error_rate >= 1 else "it ended during its warm-up"
        yield Note("Warning", f"no throughput: {why}", name)
    if task.accounting.unanswered:
        count = format_count(task.accounting.unanswered, "operation")
        yield Note("Warning", f"{count} had no answer when the race ended", name)
    if text := _waited_text(task):
        yield Note("Warning", text, name)
    if task.underruns:
        count = format_count(task.underruns, "operation")
        waited = f"{count} waited {task.underrun_s:.3g} s"
        yield Note("Warning", f"the parameter source could not keep up: {waited}", name)
    if text := _unsteady_text(task):
        yield Note("Steady state", text, name)
    if task.samples.kept and task.samples.left_out:
        left_out, since = f"{task.samples.left_out:,}", f"{task.samples.from_s or 0:.0f} s"
        yield Note("Samples", f"{left_out} were not kept one by one, from {since} on", name)
    if task.ended_by == "stopped":
        yield Note("Warning", "stopped before its end", name)
    by_count = sorted(task.errors, key=lambda error: error.count, reverse=True)
    for error in by_count[:_TOP_ERRORS]:
        yield Note("Error", _error_text(error), name)
    if rest := by_count[_TOP_ERRORS:]:
        others = sum(error.count for error in rest)
        yield Note("Error", f"{format_count(len(rest), 'more kind')} of error, {others:,} in all", name)


def _unsteady_text(task: TaskResult) -> str:
    """What changed while a task was measured; empty for a steady one, and where nobody can tell."""
    steady = task.steady
    if steady.by is None or not steady.changes:
        return ""
    first, last = steady.changes[0], steady.changes[-1]
    measure = "throughput" if steady.by == "throughput" else f"median {steady.by.replace('-', ' ')}"
    if len(steady.changes) > 1:
        largest = max((change.share for change in steady.changes), key=abs)
        what = f"changed {len(steady.changes)} times between {first.from_s:.0f} and {last.to_s:.0f} s"
        what = f"{what}, at most by {largest * 100:+.0f} %"
    elif first.to_s > first.from_s:
        what = f"drifted by {first.share * 100:+.0f} % from {first.from_s:.0f} to {first.to_s:.0f} s"
    else:
        what = f"changed by {first.share * 100:+.0f} % at {first.from_s:.0f} s"
    settled = "never settled" if steady.since_s is None else f"steady from {steady.since_s:.0f} s on"
    return f"{steady.state.replace('-', ' ')}: {measure} {what}, {settled}"


def _waited_text(task: TaskResult) -> str:
    """What no client was free for in time. Where each has a schedule of its own, a few are nothing odd."""
    waited, operations = task.accounting.waited, task.accounting.operations
    if task.open_loop and waited:
        ceiling = format_count(task.clients, "connection")
        return f"{format_count(waited, 'operation')} waited for a free connection: the ceiling is {ceiling}"
    if waited > _WAITED_SHARE * operations:
        late = f"{waited:,} of {operations:,} operations were sent late"
        return f"{late}: their client still had no reply to the one before"
    return ""


def _error_text(error: ErrorCount) -> str:
    status = f" (HTTP {error.status})" if error.status is not None else ""
    when = f"first at {error.first_s:.1f} s, last at {error.last_s:.1f} s"
    return f"{error.count:,} × {error.error_class}{status}, {when}, for example: {error.reason}"


def _clock_note(step: ClockStep) -> Note:
    return Note(
        "Clock",
        f"the wall clock was set {step.by_s:+.3g} s at {step.at_s:.1f} s: what was measured does not contain "
        "it, but times of day in the engine's log do",
    )


def _corpus_note(corpus: RecordedCorpus) -> Note:
    size = f"{format_count(corpus.documents, 'document')}, {corpus.bytes:,} bytes"
    origin = {
        "declared": "as the track declares it",
        "excerpt": "the first documents of what the track declares",
        "as-is": "files as they were found, not checked against the track",
        "generated": f"generated, seed {corpus.seed}: not the public corpus",
    }[corpus.origin]
    return Note("Corpus", f"'{corpus.name}': {origin} ({size})")
