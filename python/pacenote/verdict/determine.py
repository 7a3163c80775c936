"""Whether the results of a race may be used: rules for the finished record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.document_checks import DocumentCheck
from pacenote.model.driver_facts import late_joins
from pacenote.model.finding import EVERYTHING, INTERRUPTED, NOT_FINISHED, Cause, Finding, aborted
from pacenote.model.race_record import RaceRecord, RecordedCorpus, Verdict
from pacenote.model.recorded_options import recorded_profilers
from pacenote.model.result import TaskResult
from pacenote.model.snapshot import RecordedSnapshot, is_of_machine
from pacenote.model.target_rate import has_other_work, keeps_target, misses_target
from pacenote.model.task_kinds import reported_tasks, runs_once
from pacenote.model.task_observations import lacked_shares, possible_lacked_shares, signs_of_saturation
from pacenote.model.warmup_backlog import warmup_backlogs
from pacenote.units import format_count
from pacenote.verdict import driver_health, schedule_rules, task_rules
from pacenote.verdict.absence_rules import absence_findings
from pacenote.verdict.late_join_rules import late_join_findings
from pacenote.verdict.late_readings import late_reply_findings
from pacenote.verdict.observation_rules import observed_findings
from pacenote.verdict.overhead_rules import overhead_findings

_SHOWN_INDICES = 3
"""Maximum number of indices that a finding lists with their documents."""


def determine_verdict(record: RaceRecord) -> Verdict:
    """Returns the verdict on a race that has ended, successfully or not.

    A race is void if an error rate, of the measured operations or of all, is above `max_error_rate`, if
    nothing was measured of a reported task, if it was aborted, interrupted or did not finish, if plug-ins
    failed to execute too many operations, if the driver's counts do not add up, if acknowledged documents are
    missing, or if the machine was suspended.

    It is suspect if a task missed its target rate, or had other work in its operations than this takes for
    granted, in test mode, if the engine was profiled, and after late
    or unsent requests, failures of plug-ins, slow parameter sources, lost samples, a driver that was
    saturated or waited for a core, an unreliable clock or machine, a host that was set aside, clients that
    were busy with connections and cleaning up, joined a task late, or left it long before others, failures of
    requests that clean up, unsolicited data, additional documents, documents that could not be counted, other
    programs on a host of the engine, a cluster that was not healthy or busy with itself, or if the machine
    was reconfigured while it ran.
    Percentiles without enough samples are ignored.
    """
    void = tuple(_void_findings(record))
    suspect = tuple(_of_tasks(each, record.steps) for each in _suspect_findings(record))
    if void:
        return Verdict("void", void + suspect)
    return Verdict("suspect", suspect) if suspect else Verdict("valid")


def _of_tasks(finding: Finding, steps: Mapping[str, tuple[str, ...]]) -> Finding:
    """Returns a finding with the tasks of the steps that it names: the driver judges its threads by step."""
    tasks = dict.fromkeys(task for name in finding.tasks for task in steps.get(name, (name,)))
    return replace(finding, tasks=tuple(tasks))


def missed_targets(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks of a race that missed their target rates, without those that were aborted."""
    return tuple(
        task
        for task in record.tasks
        if (target := record.targets.get(task.task)) is not None
        and task.ended_by != "aborted"
        and misses_target(task, target, record.max_shortfall, late_joins(record.driver, task.index))
    )


def targets_not_kept(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks of a race that did not keep their target rates with operations that succeeded."""
    return tuple(
        task
        for task in record.tasks
        if (target := record.targets.get(task.task)) is not None
        and not keeps_target(task, target, record.max_shortfall)
    )


def disturbances(tasks: Sequence[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields findings about what may have affected measurements of `tasks`: the driver (`driver` in
    `race.json`), Python code, a slow disk, the machine, or connections that the engine closed.

    Each makes a race suspect and, unless the engine caused it, a measurement of `saturate` void.
    """
    yield from task_rules.late(tasks, driver)
    for rule in task_rules.TASK_RULES:
        yield from rule(tasks)
    yield from task_rules.paused(tasks, driver)
    yield from late_reply_findings(tasks, driver)
    yield from driver_health.suspect_findings(driver, tasks)


def _void_findings(record: RaceRecord) -> Iterator[Finding]:
    ended_early = record.aborted or record.interrupted
    if record.aborted:
        yield aborted(record.aborted)
    if record.interrupted:
        yield INTERRUPTED
    stopped = [task for task in record.tasks if task.ended_by == "aborted"]
    if stopped and not record.aborted:
        yield Finding("aborted", tasks=task_rules.names(stopped))
    if ended_early:
        yield from task_rules.unanswered(record.tasks, driver_health.wall_s(record.driver))
    yield from task_rules.excessive_error_rates(record.tasks, record.max_error_rate)
    if not ended_early:
        reported = (task for task in record.tasks if task.task not in record.unreported)
        yield from task_rules.not_measured(reported)
    yield from task_rules.plugin_failures(record.tasks, tolerable=False)
    if not (record.complete or ended_early):
        yield NOT_FINISHED
    yield from driver_health.void_findings(record.driver)
    yield from _missing_documents(check for check in record.documents if check.is_missing_documents)


class ScheduleFindings(Struct, frozen=True):
    """Findings about the schedules of the tasks of a race, with what caused them."""

    missed: tuple[Finding, ...]
    """About tasks that missed their target rates."""

    unsent: tuple[Finding, ...]
    """About the other tasks of which operations were not sent."""


def schedule_findings(record: RaceRecord) -> ScheduleFindings:
    """Returns the findings about the schedules of a race."""
    missed, delays = missed_targets(record), _delays(record)
    kept = (task for task in record.tasks if task not in missed and task.ended_by != "aborted")
    return ScheduleFindings(
        tuple(schedule_rules.missed_targets(missed, record.targets, delays)),
        tuple(schedule_rules.unsent(kept, delays)),
    )


def _with_other_work(record: RaceRecord, missed: Collection[TaskResult]) -> Iterator[TaskResult]:
    """Yields the tasks whose operations had other work than their target rates take for granted, without
    those that missed these for another reason.
    """
    for task in record.tasks:
        target = record.targets.get(task.task)
        if target is None or task in missed or task.ended_by == "aborted":
            continue
        if has_other_work(task, target, record.max_shortfall):
            yield task


def _delays(record: RaceRecord) -> schedule_rules.Delays:
    return schedule_rules.Delays(
        record.driver,
        lacked_shares(record),
        possible_lacked_shares(record),
        signs_of_saturation(record),
        _accompanied(record.tasks),
    )


def _suspect_findings(record: RaceRecord) -> Iterator[Finding]:
    missed, schedules = missed_targets(record), schedule_findings(record)
    yield from schedules.missed
    if record.options.test_mode:
        yield _test_mode(record.corpora)
    yield from _profiled(record)
    yield from schedule_rules.other_work(_with_other_work(record, missed), record.targets)
    yield from schedules.unsent
    yield from schedule_rules.uncounted_backlogs(record.tasks)
    reported = (task for task in record.tasks if task.task not in record.unreported)
    yield from task_rules.caught_failures(reported, record.max_error_rate)
    yield from overhead_findings(record.tasks)
    measured = tuple(task for task in reported_tasks(record) if not runs_once(task))
    late = tuple(late_join_findings(measured, record.driver))
    yield from late
    named = {name for finding in late for name in finding.tasks}
    yield from absence_findings((task for task in measured if task.task not in named), record.driver)
    # A task that cannot keep its rate never catches up, however long its warm-up is.
    yield from warmup_backlogs(task for task in reported_tasks(record) if task not in missed)
    yield from disturbances(record.tasks, record.driver)
    yield from driver_health.host_findings(record.driver)
    yield from observed_findings(record)
    yield from _changed_machine(record.snapshot)
    judged = [
        check
        for check in record.documents
        if not check.difference_expected and check.acknowledged is not None
    ]
    yield from _unchecked(check for check in record.documents if check.is_unchecked)
    yield from _uncounted(check for check in judged if check.counted is None)
    yield from _additional_documents(check for check in judged if check.has_additional_documents)


def _accompanied(tasks: Sequence[TaskResult]) -> frozenset[str]:
    """Returns the names of the tasks during which another one sent requests."""
    accompanied, latest = set[str](), None
    sending = (task for task in tasks if task.accounting.requests)
    for task in sorted(sending, key=lambda each: each.started_s):
        if latest is not None and task.started_s < latest.started_s + latest.duration_s:
            accompanied |= {latest.task, task.task}
        if latest is None or task.started_s + task.duration_s > latest.started_s + latest.duration_s:
            latest = task
    return frozenset(accompanied)


def _changed_machine(snapshot: RecordedSnapshot | None) -> Iterator[Finding]:
    changed = [text for text in (snapshot.changed if snapshot else ()) if is_of_machine(text)]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield Finding(
            f"the machine was reconfigured while the race ran: {changed[0]}{more}",
            "machine",
            "repeat the race without changing the machine",
        )


def _profiled(record: RaceRecord) -> Iterator[Finding]:
    if devices := recorded_profilers(record.options):
        yield Finding(
            f"a profiling race ({', '.join(devices)}): its figures include the cost of observing the engine",
            "user",
            "repeat it without profiling to measure",
        )


def _test_mode(corpora: Iterable[RecordedCorpus]) -> Finding:
    used = [_used_documents(corpus) for corpus in corpora]
    data = f", with {', '.join(used)}" if used else ""
    text = f"test mode: not a measurement{data}"
    return Finding(text, "user", "omit --test-mode to measure", doubtful_from=EVERYTHING)


def _used_documents(corpus: RecordedCorpus) -> str:
    first = "the first " if corpus.origin == "excerpt" else ""
    noun = "generated document" if corpus.origin == "generated" else "document"
    return f"{first}{format_count(corpus.documents, noun)} of '{corpus.name}'"


def _missing_documents(checks: Iterable[DocumentCheck]) -> Iterator[Finding]:
    if differing := list(checks):
        yield Finding(
            f"acknowledged documents are missing: {_differences(differing)}",
            "engine",
            "look for failures in the log of the engine",
        )


def _additional_documents(checks: Iterable[DocumentCheck]) -> Iterator[Finding]:
    if differing := list(checks):
        yield Finding(
            f"there are more documents than were acknowledged: {_differences(differing)}",
            "engine",
            "delete the indices before the race, and let nothing else write to them",
        )


def _differences(checks: Sequence[DocumentCheck]) -> str:
    shown = [
        f"'{check.label}' has {check.counted:,} of {check.acknowledged:,}{_unknown_text(check)}"
        for check in checks[:_SHOWN_INDICES]
    ]
    more = len(checks) - _SHOWN_INDICES
    return ", ".join([*shown, format_count(more, "more index", "more indices")] if more > 0 else shown)


def _unknown_text(check: DocumentCheck) -> str:
    return f", besides {check.unknown:,} that were sent without a reply" if check.unknown else ""


def _unchecked(checks: Iterable[DocumentCheck]) -> Iterator[Finding]:
    for check in checks:
        yield Finding(f"the documents were not checked: {check.count_problem}", check.problem_cause)


def _uncounted(checks: Iterable[DocumentCheck]) -> Iterator[Finding]:
    """Yields one finding for each cause, however many indices it concerns."""
    by_cause: dict[Cause, list[DocumentCheck]] = {}
    for check in checks:
        by_cause.setdefault(check.problem_cause, []).append(check)
    for cause, uncounted in by_cause.items():
        indices = (
            f"index '{uncounted[0].label}'"
            if len(uncounted) == 1
            else format_count(len(uncounted), "index", "indices")
        )
        problems = [check.count_problem or "the reason was not recorded" for check in uncounted]
        shown = list(dict.fromkeys(problems[:_SHOWN_INDICES]))
        if (more := len(problems) - _SHOWN_INDICES) > 0:
            shown.append(format_count(more, "more index", "more indices"))
        is_limit = cause == "pacenote"
        what = (
            f"Pacenote did not count the documents of {indices}"
            if is_limit
            else f"documents of {indices} could not be counted"
        )
        advice = "count them yourself (GET /INDEX/_count)" if is_limit else ""
        yield Finding(f"{what}: {', '.join(shown)}", cause, advice)
