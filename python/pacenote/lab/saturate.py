"""The highest rate an engine keeps up with: a challenge up to the task, then the task again and again.

    prepare     everything of the challenge before the task, once
    probe       the task at one rate after another, open loop, until the answer is known (`search`)
    sweep       the task in a closed loop with 1, 2, 4, … clients, to explain it (`stats.usl`)

A saturation is kept as a race: its record holds the tasks of the preparation, `saturation.json` beside it the
probes, each with a folder of its own below `probes/`.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from pacenote.errors import StoreError, UsageError
from pacenote.lab.probe import judged, lowest_rate, window_s, work_per_operation
from pacenote.lab.rate_search import Range, Try, next_rate, so_far
from pacenote.model.driver_health import busiest_share, void_reasons
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.result import TaskResult
from pacenote.model.saturation import ConcurrencyLevel, LimitedBy, Objective, Probe, SaturationResult
from pacenote.model.secrets import secret_values
from pacenote.model.track import Challenge, Parallel, Task
from pacenote.model.verdict import determine_verdict
from pacenote.plan.document import ClientAllocation, Plan, Step, TaskAllocation
from pacenote.race.drive import DriveResult
from pacenote.race.run import RaceContext, run_stages
from pacenote.stats.usl import MIN_LEVELS, fit_usl, powers_of_two
from pacenote.store.files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.race_folder import RaceFolder
from pacenote.units import OPS, Rate

FILE = "saturation.json"
"""Its name in the race folder."""

VOID_TRIES = 3
"""How often a rate is tried at most while the driver, not the engine, is what falls short: on a busy machine
a moment of it says nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationRequest:
    """What to look for. `task` None is the last task of the challenge. `connections` are the most that may be
    open. `window_s` seconds of a probe are measured after `warmup_s`; more where a percentile needs it.
    `clients` is the most of the closed loop's sweep, 0 for none; each level is measured `repeats` times for
    `level_s` seconds.
    """

    race: RaceRequest
    task: str | None
    objective: Objective
    within: Range
    connections: int
    window_s: float
    warmup_s: float
    clients: int
    level_s: float
    repeats: int = 3


def saturate(request: SaturationRequest, listener: RaceListener) -> tuple[RaceRecord, SaturationResult]:
    """Searches; returns the record of the preparation and the answer, also of a search that was interrupted.

    Raises PacenoteError when it could not begin or the preparation failed, KeyboardInterrupt when it was
    stopped before.
    """
    found: list[SaturationResult] = []
    within = _supported(request)

    def check(challenge: Challenge, plan: Plan) -> None:
        _check_native(plan, _find(challenge, request.task)[1])

    def course(context: RaceContext) -> RaceRecord:
        search = _Search(request, context, within)
        try:
            return search.run()
        finally:
            found.append(search.state)

    record = run_stages(request.race, listener, course, check)
    return record, found[0]


class _Stopped(Exception):
    """The user or an error has ended the search; what was found stays."""


class _Search:
    """One search on an engine that runs. `state` is what was found so far."""

    def __init__(self, request: SaturationRequest, context: RaceContext, within: Range) -> None:
        self._request = request
        self._context = context
        self._challenge = context.prepared.challenge
        self._place, task = _find(self._challenge, request.task)
        # A task that has no target rate in the track has kept its schedule.
        arrivals = request.race.pacing.arrivals
        self._task = task if arrivals is None else dataclasses.replace(task, schedule=arrivals)
        self._within = within
        self._runs = 0
        self.state = SaturationResult(
            race_id=request.race.race_id,
            task=self._task.name,
            operation=self._task.operation.name,
            unit="",
            work_per_operation=1.0,
            connections=request.connections,
            objective=request.objective,
            precision=request.within.precision,
            window_s=request.window_s,
            warmup_s=request.warmup_s,
            notes=tuple(self._notes()),
        )

    def run(self) -> RaceRecord:
        """The whole search; the record is stored when this returns."""
        record, prepared = self._context.record, self._prepare()
        if prepared is not None:
            record = dataclasses.replace(
                record,
                tasks=prepared.tasks,
                driver=prepared.summary,
                interrupted=prepared.interrupted,
                aborted=prepared.aborted,
            )
        if not (record.interrupted or record.aborted):
            try:
                self._search()
                self._sweep()
                self._store(complete=True)
            except _Stopped as reason:
                aborted = str(reason)
                record = dataclasses.replace(record, interrupted=not aborted, aborted=aborted)
            except KeyboardInterrupt:
                # Between two probes, where the driver does not heed it.
                record = dataclasses.replace(record, interrupted=True)
        record = dataclasses.replace(record, complete=not (record.interrupted or record.aborted))
        record = dataclasses.replace(record, verdict=determine_verdict(record))
        self._context.folder.finish(record)
        return record

    def _notes(self) -> list[str]:
        element = self._challenge.schedule[self._place]
        found = []
        if isinstance(element, Parallel) and len(element.tasks) > 1:
            found.append(f"task {quoted(self._task.name)} runs alone, not beside the others of its element")
        if self._within.lowest > self._request.within.lowest:
            found.append(
                f"no rate below {self._within.lowest:,.4g} {OPS}/s is tried: it has too few samples for its "
                "percentiles"
            )
        if self._task.operation.type == "bulk":
            found.append("its data is sent again and again, so that the index grows from probe to probe")
        return found

    def _prepare(self) -> DriveResult | None:
        """Everything before the task, as the track has it; None where there is nothing."""
        plan = self._context.plan
        steps = plan.steps[: self._place]
        if not steps:
            return None
        return self._context.drive(dataclasses.replace(plan, steps=steps), self._context.folder)

    def _search(self) -> None:
        tries: list[Try] = []
        while (rate := next_rate(tries, self._within)) is not None:
            for _ in range(VOID_TRIES):
                outcome = self._probe(rate).outcome
                if outcome != "void":
                    break
            tries.append(Try(rate, outcome == "passed"))
            self._answer(tries)

    def _probe(self, rate: float) -> Probe:
        objective = self._request.objective
        seconds = window_s(objective, rate, self._request.window_s)
        task = _paced(self._task, rate, self._request.connections, (self._request.warmup_s, seconds))
        result, busiest = self._drive(task, open_loop=True)
        probe = judged(self._runs, rate, result, objective, busiest)
        self.state = dataclasses.replace(
            self.state,
            probes=(*self.state.probes, probe),
            unit=result.unit,
            work_per_operation=work_per_operation(result),
        )
        self._store(complete=False)
        why = f" ({'; '.join(probe.reasons)})" if probe.reasons else ""
        self._context.listener.info(f"probe {probe.number}: {rate:,.5g} {OPS}/s {probe.outcome}{why}")
        return probe

    def _answer(self, tries: list[Try]) -> None:
        """Takes down what the tries say by now."""
        found = so_far(tries)
        limited: LimitedBy = "search"
        if found.unstable is not None:
            outcomes = {probe.outcome for probe in self.state.probes if probe.rate == found.unstable}
            limited = "engine" if "failed" in outcomes else "driver"
        elif any(one.rate >= self._within.highest for one in tries):
            limited = "range"
        if found.stable is None and limited == "engine":
            limited = "nothing"
        self.state = dataclasses.replace(
            self.state, stable=found.stable, unstable=found.unstable, limited_by=limited
        )
        self._store(complete=False)

    def _sweep(self) -> None:
        request, levels = self._request, powers_of_two(max(1, self._request.clients))
        if not request.clients:
            return
        for _ in range(request.repeats):
            # Level after level, then all again: what drifts with time is not taken for one of them.
            for clients in levels:
                task = _unpaced(self._task, clients, (request.warmup_s, request.level_s))
                result, _ = self._drive(task, open_loop=False)
                work = result.throughput.mean if result.throughput else 0.0
                level = ConcurrencyLevel(self._runs, clients, work, result.error_rate)
                self.state = dataclasses.replace(self.state, levels=(*self.state.levels, level))
                self._store(complete=False)
        fit = (
            fit_usl(_by_clients(self.state.levels), request.race.seed) if len(levels) >= MIN_LEVELS else None
        )
        self.state = dataclasses.replace(self.state, fit=fit)

    def _drive(self, task: Task, *, open_loop: bool) -> tuple[TaskResult, float]:
        """One run of the task alone: its result, and how busy the busiest thread of the driver was.

        Raises _Stopped when it did not come to its end.
        """
        self._runs += 1
        folder = RaceFolder(self._context.folder.path / "probes" / f"{self._runs:03}")
        try:
            folder.path.mkdir(mode=PRIVATE_FOLDER, parents=True)
        except OSError as error:
            raise store_error("create", folder.path, error) from error
        plan = _alone(
            self._context.replan(_with(self._challenge, self._place, task)), task, open_loop=open_loop
        )
        folder.write_plan(plan.to_public_json(secret_values(self._context.request.track_params)))
        driven = self._context.drive(plan, folder)
        if not driven.completed:
            raise _Stopped(driven.aborted)
        # The clock or the driver's own counts are wrong: what comes after would be as little worth.
        if wrong := tuple(void_reasons(driven.summary)):
            raise _Stopped("; ".join(wrong))
        result = next((one for one in driven.tasks if one.task == task.name), None)
        if result is None:
            raise StoreError(f"task {quoted(task.name)} has no result")
        return result, busiest_share(driven.summary)

    def _store(self, *, complete: bool) -> None:
        self.state = dataclasses.replace(self.state, complete=complete)
        text = json.dumps(self.state.to_document(), ensure_ascii=False, allow_nan=False, indent=1)
        write_atomically(self._context.folder.path / FILE, text.encode())


def _find(challenge: Challenge, name: str | None) -> tuple[int, Task]:
    """The element of the schedule that a task is in, and the task. Raises UsageError."""
    known: dict[str, tuple[int, Task]] = {}
    for place, element in enumerate(challenge.schedule):
        for task in element.tasks if isinstance(element, Parallel) else (element,):
            known[task.name] = (place, task)
    if name is None:
        return list(known.values())[-1]
    if name not in known:
        raise UsageError(
            f"challenge {quoted(challenge.name)} has no task {quoted(name)}{did_you_mean(name, known)}",
            hint="`pacenote info` lists its tasks",
        )
    return known[name]


def _supported(request: SaturationRequest) -> Range:
    """The rates that a probe can tell something of: slower ones lack samples. Raises UsageError."""
    within = request.within
    lowest = max(within.lowest, lowest_rate(request.objective, request.window_s))
    if lowest > within.highest:
        raise UsageError(
            f"rates up to {within.highest:g} {OPS}/s have too few samples for the objective",
            hint="limit a lower percentile, or let probes be longer with --probe-time",
        )
    return dataclasses.replace(within, lowest=lowest, start=max(within.start, lowest))


def _check_native(plan: Plan, task: Task) -> None:
    """What Python hands over or carries out has a limit of its own. Raises UsageError."""
    if any(planned.needs_python for planned in plan.tasks if planned.name == task.name):
        raise UsageError(
            f"task {quoted(task.name)} is fed, carried out or scheduled by Python code of the track",
            hint="saturate looks for the engine's limit and takes tasks that the driver runs by itself",
        )


def _paced(task: Task, rate: float, connections: int, seconds: tuple[float, float]) -> Task:
    return dataclasses.replace(
        _unpaced(task, connections, seconds), target_throughput=Rate(rate, OPS), target_interval=None
    )


def _unpaced(task: Task, clients: int, seconds: tuple[float, float]) -> Task:
    warmup_s, measured_s = seconds
    operation = task.operation
    if operation.type == "bulk":
        operation = dataclasses.replace(operation, params={**operation.params, "looped": True})
    return dataclasses.replace(
        task,
        operation=operation,
        clients=clients,
        warmup_iterations=None,
        iterations=None,
        warmup_time_period=warmup_s,
        time_period=measured_s,
        ramp_up_time_period=None,
        target_throughput=None,
        target_interval=None,
    )


def _with(challenge: Challenge, place: int, task: Task) -> Challenge:
    """The challenge with a task in place of the one of its name."""
    element = challenge.schedule[place]
    if isinstance(element, Parallel):
        tasks = tuple(task if one.name == task.name else one for one in element.tasks)
        changed: Task | Parallel = dataclasses.replace(element, tasks=tasks, clients=None, completed_by=None)
    else:
        changed = task
    return dataclasses.replace(
        challenge, schedule=(*challenge.schedule[:place], changed, *challenge.schedule[place + 1 :])
    )


def _alone(plan: Plan, task: Task, *, open_loop: bool) -> Plan:
    """The plan with one step: the task by all its clients."""
    index = next(index for index, planned in enumerate(plan.tasks) if planned.name == task.name)
    planned = dataclasses.replace(plan.tasks[index], open_loop=open_loop)
    rows = tuple(ClientAllocation(client, (TaskAllocation(index, client),)) for client in range(task.clients))
    return dataclasses.replace(
        plan,
        tasks=(*plan.tasks[:index], planned, *plan.tasks[index + 1 :]),
        steps=(Step(task.name, rows, None),),
    )


def _by_clients(levels: tuple[ConcurrencyLevel, ...]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for level in levels:
        found.setdefault(level.clients, []).append(level.work)
    return found
