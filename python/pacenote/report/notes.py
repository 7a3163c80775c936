"""The lines of a report that are not values: the description of the race, problems, and explanations of
marks.

Some texts come from engines and tracks, so control characters are removed here, once for all renderers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pacenote.model.cpu_list import format_cpus
from pacenote.model.document_checks import DocumentCheck, UncheckedDocuments
from pacenote.model.driver_facts import part
from pacenote.model.driver_scheduling import demotion_texts
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Finding
from pacenote.model.imported import UNSTATED_TIME, ImportedResults
from pacenote.model.node_options import NodeOptions
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord, RecordedClient, RecordedCorpus
from pacenote.model.race_time import TIMESTAMP_FORMAT
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import TaskResult
from pacenote.model.user_tags import tag_texts
from pacenote.model.warmup_backlog import (
    BACKLOG_MARK,
    backlog_advice,
    backlog_text,
    drain_text,
    surplus_text,
    unmarked_backlog_text,
    unused_drain_text,
)
from pacenote.report.rows import SHORT_WINDOW_MARK, UNSUPPORTED_MARK, Note, Row
from pacenote.report.starting_state_notes import starting_state_lines
from pacenote.units import format_bytes, format_count, format_number, format_rate
from pacenote.verdict.determine import missed_targets
from pacenote.verdict.driver_health import (
    MACHINE_USE,
    ClockStep,
    HostUse,
    clock_steps,
    host_uses,
    is_shorter_than_ticks,
    unmeasured,
)
from pacenote.verdict.driver_pauses import gaps_between_tasks_text
from pacenote.verdict.overhead_rules import failed_cleanup_text
from pacenote.verdict.quota_rules import harmless_quota_text

_TOP_ERRORS = 3
"""Maximum number of kinds of errors that are shown for each task."""

_WAITED_SHARE = 0.01
"""Fraction of late operations above which they are reported in a closed loop."""

_NO_TELEMETRY = "--no-default-telemetry: figures of the engine and of the host were not read"
"""Says why the report lacks figures of the engine."""

ONE_RUN = "one run: spread unknown, do not compare on this alone"
"""Says that the results of a valid race may not come again."""


def header(record: RaceRecord) -> tuple[Note, ...]:
    """Returns notes on the track, the engine and the options of the race; unknown values are omitted."""
    cluster = record.cluster
    engine = " ".join(part for part in (cluster.distribution, cluster.version, cluster.flavor) if part)
    lines = (
        ("Race ID", record.race_id),
        ("Race timestamp", _timestamp(record)),
        *_imported_lines(record.imported),
        ("Track", record.track.name),
        ("Challenge", record.challenge or ""),
        ("Car", "+".join(record.car)),
        ("Cars from", _team_text(record.options)),
        ("Engine", engine),
        ("Assembled", cluster.title or ""),
        ("Nodes", nodes_text(record.options.nodes) if record.options.nodes else ""),
        ("Set for this race", ", ".join(single_settings(record.options))),
        ("Absent modules", ", ".join(cluster.absent_modules or ())),
        ("User tags", ", ".join(f"{name}={value}" for name, value in tag_texts(record.user_tags).items())),
        ("Seed", str(record.seed) if record.imported is None else ""),
        *starting_state_lines(record),
        (
            "Saturation",
            f"{saturation.task}: {saturation.answer}" if (saturation := record.saturation) else "",
        ),
    )
    return tuple(Note(label, single_line(text)) for label, text in lines if text)


def _timestamp(record: RaceRecord) -> str:
    """Returns when a race began; empty if that is not known, because it was imported."""
    is_unknown = record.imported is not None and UNSTATED_TIME in record.imported.unstated
    return "" if is_unknown else record.timestamp.strftime(TIMESTAMP_FORMAT)


def _imported_lines(imported: ImportedResults | None) -> Iterator[tuple[str, str]]:
    if imported is not None:
        yield "Imported", imported.source
        yield "Unknown", ", ".join(imported.unstated)


def _team_text(options: RecordedOptions) -> str:
    """Returns where the cars come from; empty for built-in ones, which have no revision."""
    if options.team_path is not None:
        return options.team_path
    revision = (options.team_revision or "")[:12]
    return f"repository {options.team_repository or 'default'}, revision {revision}" if revision else ""


def nodes_text(nodes: NodeOptions) -> str:
    """Returns what was selected for the nodes; empty for one node without options."""
    groups = ", ".join(
        f"{'+'.join(group.roles) or 'coordinating'}:{group.count}"
        for group in nodes.groups
        if group.roles is not None
    )
    limits = nodes.limits
    parts = (
        f"{nodes.count} ({groups})" if groups else str(nodes.count) if nodes.count > 1 else "",
        f"CPUs {'; '.join(map(format_cpus, nodes.cpus))}" if nodes.cpus else "",
        f"at most {format_bytes(limits.memory)} of memory each" if limits.memory is not None else "",
        f"at most {limits.cpus:g} CPUs each" if limits.cpus is not None else "",
        f"data in {'; '.join(', '.join(map(str, each)) for each in nodes.data_paths)}"
        if nodes.data_paths
        else "",
    )
    return "; ".join(part for part in parts if part)


def single_settings(options: RecordedOptions) -> Iterator[str]:
    """Yields what was set one by one (`--set`, `--jvm`, `--env`), in addition to the cars."""
    yield from (f"{name}={value}" for name, value in options.settings.items())
    yield from options.jvm_options
    yield from (f"{name}={value}" for name, value in options.engine_variables.items())


def notes(record: RaceRecord) -> tuple[Note, ...]:
    """Returns warnings, the most frequent errors, how the cluster was reached, the data, and missing
    telemetry.
    """
    lines = [
        *_spread_note(record),
        *(note for task in record.tasks for note in _task_notes(task, record)),
        *_unused_drain_note(record),
        *(Note("Client", text) for text in _client_texts(record.client)),
        *(Note("Host", _host_text(use)) for use in host_uses(record.driver)),
        *(_corpus_note(corpus) for corpus in record.corpora),
        *(
            Note("Documents", f"index '{check.label}' may differ: {check.difference_expected}")
            for check in record.documents
            if check.difference_expected
        ),
        *(Note("Documents", _unknown_text(check)) for check in record.documents if check.unknown),
        *(Note("Documents", _unchecked_text(unchecked)) for unchecked in record.unchecked_documents),
        *(Note("Driver", text) for text in demotion_texts(record.driver, record.tasks)),
        *(_clock_note(step) for step in clock_steps(record.driver)),
        *_unaffected_notes(record),
        *_unmeasured_note(unmeasured(record.driver)),
        *_short_race_note(record.driver),
        *(() if record.options.default_telemetry else (Note("Telemetry missing", _NO_TELEMETRY),)),
        *(Note("Telemetry missing", text) for text in record.telemetry_errors),
    ]
    return tuple(Note(note.label, single_line(note.text), single_line(note.task)) for note in lines)


def footnotes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Returns explanations of the marks, and of rows that need one."""
    texts: list[str] = []
    if any(UNSUPPORTED_MARK in row.mark for row in rows):
        texts.append(
            f"{UNSUPPORTED_MARK} Too few samples for this percentile (p99 needs at least 368, p99.9 3,688, "
            "p99.99 36,887). The 95 % interval of the true value is shown if the samples give one. The "
            "verdict does not depend on it."
        )
    if any(SHORT_WINDOW_MARK in row.mark for row in rows):
        texts.append(
            f"{SHORT_WINDOW_MARK} Measured for less than a second: the rate per second is extrapolated."
        )
    if any(BACKLOG_MARK in row.mark for row in rows):
        texts.append(
            f"{BACKLOG_MARK} Measured operations waited for the warm-up, directly or behind others, and "
            "raised this figure by more than 10 %, or throughput by more than 1 %: it includes the backlog "
            "of the warm-up. While that lasts, service time and throughput are those of an engine with a "
            "full queue."
        )
    if any(row.kind == "shards" and row.value is not None for row in rows):
        texts.append(
            "Times and counts of primary shards cover only the race, not the time since the indices were "
            "created."
        )
    if any(row.kind == "lateness" for row in rows):
        texts.append(
            "Lateness is the delay of a request in the driver: from when it was due, or when its client "
            "became free if that was later, until it was sent."
        )
    if any(row.kind == "service-time" for row in rows):
        texts.append(
            "Latency is shown only for tasks with a target rate; for others it equals the service time. "
            "Neither includes failed requests."
        )
    return tuple(texts)


def printable_finding(finding: Finding) -> Finding:
    """Returns a finding without control characters, which may be in names and in messages of an engine."""
    return replace(finding, text=single_line(finding.text), tasks=tuple(map(single_line, finding.tasks)))


def _spread_note(record: RaceRecord) -> Iterator[Note]:
    if record.complete:
        yield Note("Spread", ONE_RUN)


def _unused_drain_note(record: RaceRecord) -> Iterator[Note]:
    if text := unused_drain_text(record):
        yield Note("Warm-up", text)


def _client_texts(client: RecordedClient) -> Iterator[str]:
    """Yields messages about the connection to the cluster that affect how to interpret the values."""
    for host, proxy in client.proxies.items():
        yield f"requests to {host} went through the proxy {proxy}"
    if client.certificates_verified is False:
        yield "TLS certificates were not verified"
    elif client.host_names_verified is False:
        yield "the host names in TLS certificates were not verified"
    if client.compress:
        yield "request bodies were compressed"
    if client.accept_encoding == "identity":
        yield "replies were requested without compression"


def _task_notes(task: TaskResult, record: RaceRecord) -> Iterator[Note]:
    name = task.task
    if task.error_rate:
        yield Note("Warning", f"{task.error_rate * 100:.3g} % of the measured operations failed", name)
    elif task.accounting.failed:
        failed = f"{task.accounting.failed_share * 100:.3g} % of all operations failed"
        yield Note("Warning", f"{failed}, only in the warm-up", name)
    if task.throughput is None and name not in record.unreported:
        why = _why_no_throughput(task)
        yield Note("Warning", f"no throughput: {why}", name)
    if _succeeded_only_after_completion(task):
        text = "0, because no operation had succeeded when another task completed the step"
        yield Note("Throughput", text, name)
    if task.reported_s and task.throughput is not None:
        yield Note(
            "Throughput",
            f"refers to {format_number(task.reported_s)} s that the engine or runner reports",
            name,
        )
    if task.accounting.unanswered:
        count = format_count(task.accounting.unanswered, "operation")
        ended = "another task completed the step" if task.ended_by == "completed-by" else "the race ended"
        yield Note("Warning", f"{count} had no response when {ended}", name)
    yield from (Note("Warning", text, name) for text in _runner_texts(task))
    yield from _connection_notes(task)
    unsent = (each.text for each in record.unsent_documents if each.task == name)
    yield from (Note("Documents", text, name) for text in unsent)
    if text := _waited_text(task):
        yield Note("Warning", text, name)
    if text := backlog_text(task):
        advice = backlog_advice(task, misses_target=task in missed_targets(record))
        yield Note("Warning", f"{text}: {advice}", name)
    if text := surplus_text(task):
        yield Note("Warning", text, name)
    for text in (unmarked_backlog_text(task), drain_text(task)):
        if text:
            yield Note("Warm-up", text, name)
    if task.underruns:
        count = format_count(task.underruns, "operation")
        waited = f"{count} waited {format_rate(task.underrun_s)} s"
        yield Note("Warning", f"the parameter source was too slow: {waited}", name)
    if text := _unsteady_text(task):
        yield Note("Steady state", text, name)
    if task.samples.kept and task.samples.left_out:
        left_out, since = f"{task.samples.left_out:,}", f"{task.samples.from_s or 0:.0f} s"
        yield Note("Samples", f"{left_out} samples were not stored, starting at {since}", name)
    if task.ended_by == "stopped":
        yield Note("Warning", "stopped before its end", name)
    by_count = sorted(task.errors, key=lambda error: error.count, reverse=True)
    for error in by_count[:_TOP_ERRORS]:
        yield Note("Error", _error_text(error), name)
    if rest := by_count[_TOP_ERRORS:]:
        counts = {error.counted: 0 for error in rest}
        for error in rest:
            counts[error.counted] += error.count
        others = " and ".join(format_count(count, noun) for noun, count in counts.items())
        yield Note("Error", f"{format_count(len(rest), 'more kind')} of error, {others} in total", name)


def _runner_texts(task: TaskResult) -> Iterator[str]:
    """Yields what a runner in Python did that makes figures of its task doubtful."""
    if task.unfinished_requests:
        count = format_count(task.unfinished_requests, "request")
        yield f"{count} of the runner had not ended when their client did: their bytes are not counted"
    if task.caught_failures:
        count = format_count(task.caught_failures, "request")
        yield f"{count} failed in operations that count as successes: the runner has not raised the error"
    if task.inconsistent_results:
        count = format_count(task.inconsistent_results, "operation")
        yield f"the counts of the runner for {count} do not add up to the weight, all of which counts as done"


def _connection_notes(task: TaskResult) -> Iterator[Note]:
    """Yields notes about requests that clean up, and about connections."""
    if text := failed_cleanup_text(task.cleanup):
        yield Note("Warning", text, task.task)
    if reconnects := task.accounting.reconnects:
        reopened = f"{format_count(reconnects, 'connection')} had to be opened again"
        yield Note(
            "Connections",
            f"{reopened}; requests waited {format_rate(task.connecting_s)} s for them",
            task.task,
        )


def _succeeded_only_after_completion(task: TaskResult) -> bool:
    """Returns whether a task has service times, but no work in its window, since another task ended it."""
    if task.ended_by != "completed-by" or task.throughput is None or task.service_time is None:
        return False
    return task.reported_s is None and task.throughput.mean == 0


def _why_no_throughput(task: TaskResult) -> str:
    if not task.accounting.operations:
        return "no operation began"
    if not task.accounting.succeeded or task.error_rate == 1:
        return "no operation succeeded"
    return "the task ended during its warm-up" if task.reported_s is None else "its reported time is 0 s"


def _unsteady_text(task: TaskResult) -> str:
    """Returns the changes while a task was measured, or an empty string if it was steady or its state is
    unknown.
    """
    steady = task.steady
    if steady.by is None or not steady.changes:
        return ""
    first, last = steady.changes[0], steady.changes[-1]
    measure = "throughput" if steady.by == "throughput" else f"median {steady.by.replace('-', ' ')}"
    if len(steady.changes) > 1:
        largest = max((change.share for change in steady.changes), key=abs)
        what = f"changed {len(steady.changes)} times between {first.from_s:.0f} and {last.to_s:.0f} s"
        what = f"{what}, by at most {largest * 100:+.0f} %"
    elif first.to_s > first.from_s:
        what = f"drifted by {first.share * 100:+.0f} % from {first.from_s:.0f} to {first.to_s:.0f} s"
    else:
        what = f"changed by {first.share * 100:+.0f} % at {first.from_s:.0f} s"
    settled = "never steady" if steady.since_s is None else f"steady since {steady.since_s:.0f} s"
    return f"{steady.state.replace('-', ' ')}: {measure} {what}, {settled}"


def _waited_text(task: TaskResult) -> str:
    """Returns the operations that were due while no client was free, or an empty string if a closed loop has
    few of them.
    """
    waited, operations = task.accounting.waited, task.accounting.operations
    if task.open_loop and waited:
        ceiling = format_count(task.clients, "connection")
        return f"{format_count(waited, 'operation')} waited for a free connection: the limit is {ceiling}"
    if waited > _WAITED_SHARE * operations:
        text = f"{waited:,} of {operations:,} operations waited for the previous response of their client"
        return f"{text}, most of the latency" if mostly_waits(task) else text
    return ""


def mostly_waits(task: TaskResult) -> bool:
    """Returns whether most of the median latency of a task was waiting for the previous response of its
    client.
    """
    times = (task.latency, task.service_time, task.lateness)
    latency, service, late = (summary.at(50.0) if summary else None for summary in times)
    if task.open_loop or not task.accounting.waited or not (latency and service and late):
        return False
    return latency.ms - late.ms - service.ms > latency.ms / 2


def _error_text(error: FailureGroup) -> str:
    status = f" (HTTP {error.status})" if error.status is not None else ""
    when = f"first at {error.first_s:.1f} s, last at {error.last_s:.1f} s"
    count = format_count(error.count, error.counted)
    return f"{count} × {error.error_class}{status}, {when}, for example: {error.reason}"


def _host_text(use: HostUse) -> str:
    text = f"{use.host} received {format_count(use.requests, 'request')}"
    if use.connection_failures:
        text += f"; {format_count(use.connection_failures, 'connection')} could not be opened"
    return text


def _clock_note(step: ClockStep) -> Note:
    return Note(
        "Clock",
        f"the wall clock was changed by {step.by_s:+.3g} s at {step.at_s:.1f} s: measured times are not "
        "affected, but timestamps in the engine's log are",
    )


def _unaffected_notes(record: RaceRecord) -> Iterator[Note]:
    """Yields what happened to the driver without affecting measured times."""
    gaps = gaps_between_tasks_text(part(record.driver, "clock"), record.tasks)
    for text in (gaps, harmless_quota_text(record.driver, record.tasks)):
        if text:
            yield Note("Driver", text)


def _unmeasured_note(missing: Sequence[str]) -> Iterator[Note]:
    if missing:
        yield Note(
            "Driver",
            f"the kernel did not report {'; '.join(missing)} (is /proc mounted?): the verdict does not cover "
            "this",
        )


def _short_race_note(driver: Mapping[str, object]) -> Iterator[Note]:
    if is_shorter_than_ticks(driver):
        text = f"the race was too short to measure {MACHINE_USE}: the verdict does not cover this"
        yield Note("Driver", text)


def _unknown_text(check: DocumentCheck) -> str:
    documents = format_count(check.unknown, "document")
    return (
        f"index '{check.label}': at most {documents} were sent without a reply; the engine may have indexed "
        "them, so that as many lost documents are not noticed"
    )


def _unchecked_text(unchecked: UncheckedDocuments) -> str:
    documents = format_count(unchecked.acknowledged, "document")
    return f"{documents} of task '{unchecked.task}' not compared with those in the engine: {unchecked.reason}"


def _corpus_note(corpus: RecordedCorpus) -> Note:
    size = f"{format_count(corpus.documents, 'document')}, {corpus.bytes:,} bytes"
    origin = {
        "declared": "as declared by the track",
        "excerpt": "the first documents of the declared data",
        "as-is": "existing files, not compared with the track",
        "generated": f"generated with seed {corpus.seed}, not the public corpus",
    }[corpus.origin]
    return Note("Corpus", f"'{corpus.name}': {origin} ({size})")
