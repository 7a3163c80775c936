"""Finds the highest rate that an engine sustains: a challenge up to the task, then the task at many rates.

    prepare     the tasks of the challenge before the task that may change the engine, once
    probe       the task at one rate after another, open loop, until the answer is known (`rate_search`)
    sweep       the task in a closed loop with 1, 2, 4, … clients, to explain the answer (`stats.usl`)

A saturation is stored as a race: its record holds the tasks of the preparation, `saturation.json` in its
folder holds the probes, and each probe has a folder below `probes/`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.errors import DriverError, PacenoteError, StoreError, UsageError
from pacenote.lab.limiting import limit_at
from pacenote.lab.probe import (
    MAX_VOID_TRIALS,
    MAX_WINDOW_S,
    RunEvidence,
    evaluate_probe,
    includes_warmup,
    level_left_out,
    lower_service_ms,
    lowest_decided_rate,
    lowest_rate,
    window_s,
)
from pacenote.lab.probe_host import ProbeHost
from pacenote.lab.progress import ActivityListener, level_name, probe_name
from pacenote.lab.rate_search import (
    MAX_IDLE_TRIALS,
    RateBracket,
    RateRange,
    RateSearch,
    RateTrial,
    has_slowed_down,
    varies,
)
from pacenote.lab.saturation_request import PrepareChoice, SaturationRequest
from pacenote.lab.search_duration import LongerProbes, announcement, probe_s
from pacenote.lab.task_alone import (
    ScheduledTask,
    Timing,
    find_task,
    looped,
    paced,
    task_alone,
    unpaced,
    with_task,
)
from pacenote.model.messages import quoted, quoted_list
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.redaction import redact_error
from pacenote.model.result import TaskResult
from pacenote.model.saturation import (
    ConcurrencyLevel,
    LimitedBy,
    Probe,
    SaturationResult,
    SearchedRange,
    VaryingLimit,
)
from pacenote.model.saturation_answer import outcome_text, outcome_word, recorded_saturation
from pacenote.model.track import Challenge, Parallel, Task
from pacenote.model.warmup_backlog import BACKLOG_REASON
from pacenote.model.work import BulkWork
from pacenote.plan.client_documents import changed_bulk_size
from pacenote.plan.document import Plan, Step
from pacenote.plan.duration import expected_duration
from pacenote.plan.preparation import needed_steps
from pacenote.race.context import RaceContext
from pacenote.race.drive import DriveResult
from pacenote.race.measured_seconds import MeasuredSeconds, read_measured_seconds
from pacenote.race.run import run_stages
from pacenote.stats.dependence import mean_effect
from pacenote.stats.usl import MIN_LEVELS, fit_usl, sweep_order
from pacenote.stats.varying_limit import limit_interval
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error
from pacenote.store.race_folder import RaceFolder
from pacenote.units import OPS, format_number, format_rate
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.driver_health import clock_findings, void_findings

MAX_VOID_RATES = 3
"""Number of rates in a row, or of tries of one, of which all probes were void after which the search ends."""

MAX_FAILED_PROBES = 3
"""Number of probes in a row without any success after which the search ends: such failures do not depend on
the rate.
"""

STALLED = (
    f"the search ended because its last {MAX_IDLE_TRIALS} probes did not make the interval narrower: the "
    "engine becomes slower or faster, or its probes vary too much"
)
"""Note on a search that made no progress."""

SLOWED_DOWN = (
    "the engine probably became slower during the search: rates that passed first failed later, and so did "
    "lower ones"
)
"""Note on a search whose probes show that the engine changed."""


class Saturation(Struct, frozen=True):
    """The result of a search."""

    record: RaceRecord
    """The record of the race, with the tasks of the preparation."""

    result: SaturationResult
    """The probes and the answer."""

    error: PacenoteError | None = None
    """The error that ended the search, to be reported after the result. None if there was none, or if the
    engine or the disk failed after the first result: the record states this, as that of a race does.
    """


class _SoloRun(Struct, frozen=True):
    """One run of the task alone."""

    result: TaskResult
    evidence: RunEvidence
    """What else is known about it."""


def saturate(request: SaturationRequest, listener: RaceListener) -> Saturation:
    """Searches for the highest rate and returns the answer, even if an interruption or an error has ended the
    search.

    Raises PacenoteError if it could not begin or the preparation failed, KeyboardInterrupt if it was stopped
    before it began.
    """
    searches: list[_Search] = []
    within = _supported_range(request)
    if 0 < request.clients < MIN_LEVELS:
        raise UsageError(
            f"a sweep of up to {request.clients} clients has too few levels for the scalability law",
            hint=f"--sweep-clients must be 0, for no sweep, or at least {MIN_LEVELS}",
        )

    def check(challenge: Challenge, plan: Plan) -> None:
        scheduled = _find(challenge, request)
        _check_native(plan, scheduled.task)
        before = expected_duration(plan, _preparation(plan, scheduled.position, request.prepare))
        listener.info(announcement(request, within, before))

    def drive(context: RaceContext) -> RaceRecord:
        searches.append(_Search(request, context, within))
        return searches[0].run()

    record = run_stages(request.race, listener, drive, check)
    (search,) = searches
    return Saturation(record, search.result, search.error)


class _StoppedSearch(Exception):
    """The user or an error (with this message) has ended the search; the results so far are kept."""


class _Search:
    """One search on a running engine. `result` is its result so far, `error` what has ended it."""

    def __init__(self, request: SaturationRequest, context: RaceContext, within: RateRange) -> None:
        self._request = request
        self._context = context
        self._challenge = context.prepared.challenge
        scheduled = _find(self._challenge, request)
        self._position, task = scheduled.position, scheduled.task
        # `--arrivals` does not change tasks that have no target rate in the track.
        arrivals = request.race.pacing.arrivals
        task = task if arrivals is None else dataclasses.replace(task, schedule=arrivals)
        self._bulks = _bulks(context.plan, task)
        self._track_clients = task.clients
        self._task = looped(task) if self._bulks is not None else task
        self._within = within
        self._runs = 0
        self._wrong_clocks = 0
        self._failed_probes = 0
        self._void_rates = 0
        self._effects: list[float] = []
        self._longer = LongerProbes(request)
        self.error: PacenoteError | None = None
        self.result = SaturationResult(
            race_id=request.race.race_id,
            task=self._task.name,
            operation=self._task.operation.name,
            unit="",
            work_per_operation=1.0,
            connections=request.connections,
            objective=request.objective,
            precision=request.within.precision,
            range=SearchedRange(self._within.start, self._within.lowest, self._within.highest),
            arrivals=self._task.schedule,
            window_s=request.window_s,
            warmup_s=request.warmup_s,
            notes=tuple(self._notes()),
        )

    def run(self) -> RaceRecord:
        """Runs the whole search; the record is stored when this returns."""
        self._context.folder.reserve_saturation()
        record, prepared = self._context.record, self._prepare()
        if prepared is not None:
            record = structs.replace(
                record,
                tasks=prepared.tasks,
                driver=prepared.summary,
                interrupted=prepared.interrupted,
                aborted=prepared.aborted,
            )
            # As for a race: without a result, or after a defect, it could not run.
            if prepared.defect or (prepared.error and not prepared.tasks):
                self.error = DriverError(prepared.error)
        if not (record.interrupted or record.aborted):
            try:
                self._search()
                self._sweep()
            except _StoppedSearch as stopped:
                aborted = str(stopped)
                record = structs.replace(record, interrupted=not aborted, aborted=aborted)
            except KeyboardInterrupt:
                # Raised between two probes, when the driver does not handle signals.
                record = structs.replace(record, interrupted=True)
            except StoreError as error:
                record = structs.replace(record, aborted=error.message)
            except PacenoteError as error:
                redact_error(error, self._context.folder.secrets)
                self.error = error
                record = structs.replace(record, aborted=error.message)
        record = structs.replace(record, complete=not (record.interrupted or record.aborted))
        if record.complete:
            record = self._context.compare_snapshots(record)
        verdict, saturation = determine_verdict(record), recorded_saturation(self.result)
        record = structs.replace(record, verdict=verdict, saturation=saturation)
        record = self._context.finish(record)
        early = "" if record.complete else record.aborted or "interrupted"
        self.result = structs.replace(self.result, ended_early=early, complete=record.complete)
        try:
            self._context.folder.finish_saturation(self.result)
        except StoreError as error:
            self._context.listener.warning(f"the result of the search is not stored: {error.message}")
        return record

    def _notes(self) -> list[str]:
        element = self._challenge.schedule[self._position]
        notes = []
        if isinstance(element, Parallel) and len(element.tasks) > 1:
            notes.append(
                f"task {quoted(self._task.name)} runs alone, without the others of its parallel element"
            )
        if self._within.lowest > self._request.within.lowest:
            notes.append(
                f"rates below {self._within.lowest:,.4g} {OPS}/s are not tried: they have too few samples "
                "for the objective"
            )
        objective, window_s = self._request.objective, self._request.window_s
        decided = lowest_decided_rate(objective, window_s)
        if decided > self._within.lowest:
            longest_s = max(MAX_WINDOW_S, window_s)
            notes.append(
                f"probes below {decided:,.4g} {OPS}/s often do not decide: even {longest_s:g} s have too few "
                "samples"
            )
        if left_out := self._left_out():
            names = quoted_list([step.name for step in left_out])
            notes.append(f"tasks that only read were not run before the search (--prepare=needed): {names}")
        if self._bulks is not None:
            notes.append("the data is sent repeatedly, so the index grows from probe to probe")
            if change := self._changed_bulks(self._request.connections):
                notes.append(
                    f"the probes send {change}, because each connection has its own range of every file: the "
                    f"limit is that of such bulks; --max-connections={self._track_clients} keeps their size"
                )
        return notes

    def _changed_bulks(self, clients: int) -> str:
        """Returns how many documents bulks have with so many clients; empty if as many as in the track."""
        return "" if self._bulks is None else changed_bulk_size(self._bulks, clients, self._track_clients)

    def _left_out(self) -> list[Step]:
        """Returns the steps before the task that are not part of the preparation."""
        plan = self._context.plan
        kept = _preparation(plan, self._position, self._request.prepare)
        return [step for step in plan.steps[: self._position] if step not in kept]

    def _prepare(self) -> DriveResult | None:
        """Drives the preparation as the track declares it. Returns None if there is none."""
        plan = self._context.plan
        steps = _preparation(plan, self._position, self._request.prepare)
        if not steps:
            return None
        return self._context.drive(replace(plan, steps=steps), self._context.folder)

    def _search(self) -> None:
        search = RateSearch(self._within)
        while (rate := search.next_rate()) is not None:
            for passed in self._try(rate):
                search.add(RateTrial(rate, passed))
            if self._failed_probes == 0:
                # Otherwise it is not known yet whether the probes fail because of their rate.
                self._update_answer(search)
        self._update_answer(search)

    def _try(self, rate: float) -> tuple[bool, ...]:
        """Probes a rate until a probe is not void, and returns whether it passed; both outcomes if all before
        the last one were void, since they did not meet the objective either. An undecided probe is repeated
        if slow operations come in bursts and a longer one can have more of them, or if they waited for the
        warm-up.
        """
        voids = 0
        for number in range(MAX_VOID_TRIALS):
            length_s = self._window_s(rate)
            probe = self._probe(rate)
            is_last = number == MAX_VOID_TRIALS - 1
            voids += probe.outcome == "void"
            may_decide = BACKLOG_REASON in probe.reasons or self._window_s(rate) > length_s
            if probe.outcome == "undecided" and not is_last and may_decide:
                continue
            if probe.outcome != "void":
                self._void_rates = 0
                passed = probe.outcome == "passed"
                return (True, False) if passed and is_last and voids == number else (passed,)
        self._check_disturbed(voids)
        return (False,)

    def _check_disturbed(self, voids: int) -> None:
        """Raises _StoppedSearch if all probes of several tries of rates in a row were void."""
        self._void_rates = self._void_rates + 1 if voids == MAX_VOID_TRIALS else 0
        if self._void_rates == MAX_VOID_RATES:
            disturbed = self.result.probes[-MAX_VOID_RATES * MAX_VOID_TRIALS :]
            # A rate at an end of the answer, or of the range, is tried several times.
            rates = dict.fromkeys(format_number(probe.rate) for probe in disturbed)
            raise _StoppedSearch(
                f"the last {len(disturbed)} probes, at {' / '.join(rates)} {OPS}/s, were all disturbed "
                f"(the last one: {'; '.join(disturbed[-1].reasons)}); repeat the search on a quiet machine"
            )

    def _probe(self, rate: float) -> Probe:
        objective = self._request.objective
        timing = Timing(self._request.warmup_s, self._window_s(rate))
        task = paced(self._task, rate, self._request.connections, timing)
        name = probe_name(self._runs + 1, probe_s(self._request, rate, mean_effect(self._effects)))
        run = self._drive(task, name, open_loop=True)
        evidence = replace(run.evidence, lower_service_ms=lower_service_ms(self.result.probes, rate))
        probe = evaluate_probe(self._runs, rate, run.result, objective, evidence)
        self.result = structs.replace(
            self.result,
            probes=(*self.result.probes, probe),
            unit=run.result.unit,
            work_per_operation=probe.work_per_operation or self.result.work_per_operation,
        )
        self._store()
        self._context.listener.info(
            f"probe {probe.number}: {format_number(rate)} {OPS}/s {outcome_text(probe)}"
        )
        self._check_success(run.result)
        # Other bursts are those of the disturbance or of the warm-up.
        is_own = not includes_warmup(run.result, objective)
        if outcome_word(probe) in ("passed", "undecided") and is_own:
            self._effects.append(run.evidence.own_effect(self._request.objective))
        if text := self._longer.announce(rate, mean_effect(self._effects), self._runs):
            self._context.listener.info(text)
        return probe

    def _window_s(self, rate: float) -> float:
        return window_s(self._request.objective, rate, self._request.window_s, mean_effect(self._effects))

    def _check_success(self, result: TaskResult) -> None:
        """Raises _StoppedSearch if no operation of several probes in a row has succeeded. Of a rate that is
        much too high, only operations that were due in the warm-up are sent.
        """
        self._failed_probes = 0 if result.accounting.succeeded else self._failed_probes + 1
        if self._failed_probes == MAX_FAILED_PROBES:
            first = f" ({result.errors[0].reason})" if result.errors else ""
            raise _StoppedSearch(
                f"no operation of {MAX_FAILED_PROBES} probes in a row succeeded{first}; check with "
                "`pacenote race` that the task works"
            )

    def _update_answer(self, search: RateSearch) -> None:
        bracket = search.bracket()
        limited: LimitedBy = "search"
        if bracket.unstable is not None:
            limited = limit_at(bracket.unstable, self.result)
        elif bracket.disputed:
            limited = "disagreement"
        elif any(trial.rate >= self._within.highest for trial in search.trials):
            limited = "range"
        if bracket.stable is None and limited in ("engine", "connections"):
            limited = "disagreement" if bracket.disputed or bracket.passed_above else "nothing"
        notes = [*self._notes()]
        if search.has_stalled:
            limited = limited if limited in ("samples", "driver") else "disagreement"
            notes.append(STALLED)
        decided = _decided(self.result.probes)
        if has_slowed_down(decided):
            notes.append(SLOWED_DOWN)
        mixed = varies(decided)
        self.result = structs.replace(
            self.result,
            varying=_varying(bracket, decided) if mixed and limited == "engine" else None,
            stable=bracket.stable,
            unstable=bracket.unstable,
            disputed=bracket.disputed,
            passed_above=bracket.passed_above,
            limited_by=limited,
            notes=tuple(notes),
        )
        self._store()

    def _sweep(self) -> None:
        request = self._request
        if not request.clients:
            return
        timing = Timing(request.warmup_s, request.level_s)
        order = sweep_order(request.clients, request.repeats)
        for number, clients in enumerate(order):
            name = level_name(clients, order[: number + 1].count(clients), request.repeats)
            run = self._drive(unpaced(self._task, clients, timing), name, open_loop=False)
            level = self._level(run, clients, name)
            self.result = structs.replace(self.result, levels=(*self.result.levels, level))
            self._store()
        self.result = structs.replace(self.result, fit=fit_usl(_work_by_clients(self.result.levels)))

    def _level(self, run: _SoloRun, clients: int, name: str) -> ConcurrencyLevel:
        work = run.result.throughput.mean if run.result.throughput else 0.0
        left_out = level_left_out(run.result, self._request.objective, run.evidence)
        if change := self._changed_bulks(clients):
            left_out = (f"it sends {change}", *left_out)
        why = f"; not used for the scalability law: {'; '.join(left_out)}" if left_out else ""
        self._context.listener.info(f"{name}: {format_rate(work)} {run.result.unit}/s{why}")
        return ConcurrencyLevel(self._runs, clients, work, run.result.error_rate, left_out)

    def _drive(self, task: Task, name: str, *, open_loop: bool) -> _SoloRun:
        """Runs the task alone, with this name in progress. Raises _StoppedSearch if it was stopped."""
        self._runs += 1
        self._context.cool_down()
        secrets = self._context.folder.secrets
        folder = RaceFolder(self._context.folder.probes / f"{self._runs:03}", secrets)
        try:
            # Without the parents of both: a race folder that was removed is not created again.
            folder.path.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            folder.path.mkdir(mode=PRIVATE_FOLDER)
        except OSError as error:
            raise store_error("create", folder.path, error) from error
        challenge = with_task(self._challenge, ScheduledTask(self._position, task))
        plan = task_alone(self._context.replan(challenge), task, open_loop=open_loop)
        folder.write_plan(plan.to_public_json(secrets))
        host, driven = ProbeHost(self._context, folder), None
        try:
            driven = self._context.drive(plan, folder, ActivityListener(self._context.listener, name))
        finally:
            machine = host.end(driven, task.name)
        if not driven.completed:
            raise _StoppedSearch(driven.aborted)
        # With a wrong clock or wrong counts of the driver, later probes would be void as well.
        if reasons := tuple(map(str, void_findings(driven.summary))):
            raise _StoppedSearch("; ".join(reasons))
        # A clock that changes affects one run, but a slow one affects all.
        clock = tuple(map(str, clock_findings(driven.summary)))
        self._wrong_clocks = self._wrong_clocks + 1 if clock else 0
        if self._wrong_clocks == MAX_VOID_TRIALS:
            raise _StoppedSearch("; ".join(clock))
        result = next((result for result in driven.tasks if result.task == task.name), None)
        if result is None:
            raise StoreError(f"task {quoted(task.name)} has no result")
        seconds = MeasuredSeconds()
        if open_loop:
            samples = folder.path / "samples.parquet"
            seconds = read_measured_seconds(samples, task.name, result.accounting)
        return _SoloRun(result, RunEvidence(driven.summary, machine, seconds, tuple(self._effects)))

    def _store(self) -> None:
        self._context.folder.write_saturation(self.result)


def _find(challenge: Challenge, request: SaturationRequest) -> ScheduledTask:
    return find_task(challenge, request.task, request.race.track_request().info_command())


def _preparation(plan: Plan, position: int, prepare: PrepareChoice) -> tuple[Step, ...]:
    """Returns the steps before the one at `position` that run before the search."""
    return plan.steps[:position] if prepare == "all" else needed_steps(plan, position)


def _varying(bracket: RateBracket, trials: Sequence[RateTrial]) -> VaryingLimit | None:
    """Returns the interval of a limit that varies from probe to probe, which includes the bracket."""
    if bracket.stable is None or bracket.unstable is None:
        return None
    low, high = limit_interval((trial.rate, trial.passed) for trial in trials)
    return VaryingLimit(min(low, bracket.stable), max(high, bracket.unstable))


def _decided(probes: tuple[Probe, ...]) -> list[RateTrial]:
    """Returns the trials that the engine passed or failed."""
    return [
        RateTrial(probe.rate, probe.outcome == "passed")
        for probe in probes
        if probe.outcome in ("passed", "failed")
    ]


def _supported_range(request: SaturationRequest) -> RateRange:
    """Returns the range without rates that are too slow for the objective.

    Raises UsageError.
    """
    within = request.within
    lowest = max(within.lowest, lowest_rate(request.objective, request.window_s))
    if lowest > within.highest:
        raise UsageError(
            f"rates up to {within.highest:g} {OPS}/s have too few samples for the objective",
            hint="limit a lower percentile or a higher error rate, or make probes longer with --probe-time",
        )
    # The search begins with a rate that a probe can decide, if there is one.
    decided = min(within.highest, lowest_decided_rate(request.objective, request.window_s))
    return replace(within, lowest=lowest, start=max(within.start, lowest, decided))


def _check_native(plan: Plan, task: Task) -> None:
    """Raises UsageError for a task that needs Python while it runs, whose speed would limit the rate."""
    if any(planned.needs_python for planned in plan.tasks if planned.name == task.name):
        raise UsageError(
            f"task {quoted(task.name)} uses a parameter source, runner or scheduler written in Python",
            hint="saturate measures the limit of the engine and supports only tasks without Python code",
        )


def _bulks(plan: Plan, task: Task) -> BulkWork | None:
    """Returns the bulks of a task that sends data files, which end before a search has ended."""
    works = (planned.work for planned in plan.tasks if planned.name == task.name)
    return next((work for work in works if isinstance(work, BulkWork)), None)


def _work_by_clients(levels: tuple[ConcurrencyLevel, ...]) -> dict[int, list[float]]:
    """Returns the work per second, by number of clients, of the levels to which the law is fitted."""
    work: dict[int, list[float]] = {}
    for level in (level for level in levels if not level.left_out):
        work.setdefault(level.clients, []).append(level.work)
    return work
