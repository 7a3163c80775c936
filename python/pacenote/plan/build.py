"""Builds the plan of a race: compiles, paces, bounds and allocates all tasks, or reports all problems."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import TrackError, UsageError
from pacenote.model.engine import EngineInfo
from pacenote.model.messages import quoted
from pacenote.model.pacing_options import DriverOptions, PacingOptions
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.problems import Problem, Problems
from pacenote.model.track import ANY_TASK, Challenge, Parallel, Task, Track
from pacenote.model.work import Headers
from pacenote.operations.base import (
    CompileContext,
    CompiledOperation,
    DataFileLookup,
    declared_data_file,
)
from pacenote.operations.compile import InvalidOperation, compile_operation
from pacenote.plan.allocate import allocate
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    Deterministic,
    DriverScheduling,
    DriverSettings,
    Iterations,
    OnError,
    Plan,
    PlannedTask,
    Poisson,
    SampleRetention,
    Target,
    TargetHost,
    TaskBound,
    TimePeriod,
    Uniform,
)
from pacenote.plan.pacing import adapt_to_rate, documents_per_operation, is_open_loop, plan_pacing
from pacenote.plan.preparation import prepares
from pacenote.plan.resolve import UnknownOperation, resolve_operation
from pacenote.units import format_count

_MAX_SEED = 2**64 - 1


class PlanSettings(Struct, frozen=True, kw_only=True):
    """The settings of a race apart from its track."""

    race_id: str
    """The id of the race."""

    seed: int
    """Seed of all random numbers of the driver, from 0 to 2**64 - 1."""

    hosts: tuple[TargetHost, ...]
    """Addresses of the cluster under test."""

    headers: Headers = ()
    """Headers of every request; they may be secret."""

    timeout_ms: int = 60_000
    """Timeout of requests that do not set their own, in milliseconds."""

    threads: int = 0
    """Worker threads; 0 means one per core."""

    on_error: OnError | None = None
    """What a failed request does to the race; with None, only a failed preparation ends it."""

    samples: SampleRetention = SampleRetention.ALL
    """Which individual samples are stored."""

    scheduling: DriverScheduling = DriverScheduling.AUTO
    """How the kernel schedules the threads that send requests."""

    pacing: PacingOptions = field(default_factory=PacingOptions)
    """Pacing options; `max_connections` and `arrivals` are not used, because they are already applied
    to the track.
    """


class PlanContext(Struct, frozen=True):
    """Facts from the preparation of a race; by default, those that the track declares."""

    data_file: DataFileLookup = declared_data_file
    """Finds the prepared data file of a corpus."""

    engine: EngineInfo = field(default_factory=EngineInfo)
    """The engine under test."""

    plugins: PluginNames = NO_PLUGINS
    """Names that the plug-ins of the track registered."""

    assertions: bool = False
    """Whether assertions of the track are checked."""

    index_settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of all indices that the track creates, by their full names."""


def build_plan(
    track: Track, challenge_name: str | None, settings: PlanSettings, context: PlanContext
) -> Plan:
    """Returns the plan of a challenge; None means the default challenge of the track.

    Raises `TrackError` with the problems of all tasks, and `UsageError` if the seed is out of range.
    """
    if not 0 <= settings.seed <= _MAX_SEED:
        raise UsageError(f"the seed is {settings.seed}, but must be a number from 0 to {_MAX_SEED}")
    challenge = track.challenge(challenge_name)
    builder = _Builder(track, context, settings)
    tasks = builder.tasks(challenge)
    builder.raise_problems(challenge)
    return Plan(
        race_id=settings.race_id,
        seed=settings.seed,
        target=Target(hosts=settings.hosts, headers=settings.headers, timeout_ms=settings.timeout_ms),
        driver=DriverSettings(
            threads=settings.threads,
            on_error=settings.on_error or OnError.CONTINUE,
            samples=settings.samples,
            scheduling=settings.scheduling,
            **{name: getattr(settings.pacing, name) for name in DriverOptions.__struct_fields__},
        ),
        tasks=tasks,
        steps=allocate(challenge.schedule),
    )


class _Builder:
    """Compiles the tasks of a challenge and collects their problems."""

    def __init__(self, track: Track, context: PlanContext, settings: PlanSettings) -> None:
        self._context = CompileContext(
            track=track,
            data_file=context.data_file,
            engine=context.engine,
            assertions=context.assertions,
            index_settings=context.index_settings,
        )
        self._plugins = context.plugins
        self._open_loop = settings.pacing.open_loop
        self._preparation_must_succeed = settings.on_error is None
        self._compiled: dict[tuple[int, int], CompiledOperation] = {}
        self._problems: list[Problem] = []
        self._hints: list[str] = []

    def tasks(self, challenge: Challenge) -> tuple[PlannedTask, ...]:
        """Plans every task of the challenge in schedule order; tasks with problems are omitted."""
        planned: list[PlannedTask] = []
        for element in challenge.schedule:
            planned.extend(self._plan_element(element))
        return tuple(planned)

    def raise_problems(self, challenge: Challenge) -> None:
        """Raises `TrackError` if there are problems."""
        if not self._problems:
            return
        # Tasks that share an operation also share its problems, which are reported once.
        problems = self._context.track.describe(dict.fromkeys(self._problems))
        hint = "; ".join(dict.fromkeys(self._hints))
        count = format_count(len(problems), "problem")
        where = f'challenge "{challenge.name}" of track "{self._context.track.name}"'
        if len(problems) == 1:
            raise TrackError(f"{where}: {problems[0]}", problems=problems, hint=hint)
        raise TrackError(f"{where} has {count}", problems=problems, hint=hint)

    def _plan_element(self, element: Task | Parallel) -> list[PlannedTask]:
        planned, endless = [], []
        for task in element.tasks if isinstance(element, Parallel) else (element,):
            compiled = self._compile(task)
            if compiled is None:
                continue
            planned_task = self._plan_task(task, compiled)
            if self._preparation_must_succeed and prepares(task, element):
                planned_task = replace(planned_task, must_succeed=not task.tolerates_errors)
            planned.append(planned_task)
            if not ends_on_its_own(planned_task.bound, compiled):
                endless.append(task)
        problems = Problems()
        check_completion(element, tuple(endless), problems)
        self._problems.extend(problems)
        return planned

    def _compile(self, task: Task) -> CompiledOperation | None:
        operation = task.operation
        cached = self._compiled.get((id(operation), task.clients))
        if cached is not None:
            return cached
        try:
            resolved = resolve_operation(operation, self._plugins, self._context.track)
        except UnknownOperation as cause:
            path = operation.key_path or task.key_path
            text = cause.message if cause.key_path else f"of task {quoted(task.name)}: {cause.message}"
            self._problems.append(Problem((*path, *cause.key_path), text))
            self._hints.append(cause.hint)
            return None
        if isinstance(resolved, CompiledOperation):
            return adapt_to_rate(task, resolved)
        try:
            context = replace(self._context, clients=task.clients)
            compiled = compile_operation(resolved, operation, context)
        except InvalidOperation as cause:
            self._problems.extend(cause.found_problems)
            return None
        self._compiled[id(operation), task.clients] = compiled
        return compiled

    def _plan_task(self, task: Task, compiled: CompiledOperation) -> PlannedTask:
        problems = Problems()
        pacing = plan_pacing(task, compiled, self._plugins.schedulers, problems)
        open_loop = self._open_loop and is_open_loop(pacing, task, problems)
        own_schedules = isinstance(pacing, Deterministic | Poisson | Uniform) and not open_loop
        planned = PlannedTask(
            name=task.name,
            operation=task.operation.name,
            operation_type=task.operation.type,
            clients=task.clients,
            pacing=pacing,
            bound=plan_bound(task, compiled),
            ramp_up_s=task.ramp_up_time_period or 0.0,
            unit=compiled.unit,
            tolerates_errors=task.tolerates_errors,
            work=compiled.work,
            open_loop=open_loop,
            documents_per_operation=documents_per_operation(task, compiled) if own_schedules else None,
        )
        self._problems.extend(problems)
        return planned


def plan_bound(task: Task, compiled: CompiledOperation) -> TaskBound:
    """Returns the bound of a task: its periods, otherwise its iterations, otherwise its source, otherwise one
    operation.

    A task with warm-up iterations and without `iterations` then continues like a task without either. The
    warm-up period precedes `time-period` and is not part of it. Without `time-period`, a task lasts until its
    source is exhausted or another task completes the step.
    """
    if task.is_time_based:
        return TimePeriod(warmup_s=task.warmup_time_period or 0.0, measured_s=task.time_period)
    if task.is_iteration_based:
        measured = task.iterations
        if measured is None:
            measured = UNTIL_EXHAUSTED if compiled.until_exhausted else 1
        return Iterations(warmup=task.warmup_iterations or 0, measured=measured)
    if compiled.until_exhausted:
        return TimePeriod(warmup_s=0.0, measured_s=None)
    return Iterations(warmup=0, measured=1)


def ends_on_its_own(bound: TaskBound, compiled: CompiledOperation) -> bool:
    """Returns whether a task ends even if no other task completes its step."""
    return compiled.until_exhausted or isinstance(bound, Iterations) or bound.measured_s is not None


def check_completion(element: Task | Parallel, endless: tuple[Task, ...], problems: Problems) -> None:
    """Records a problem for each task in `endless`, unless another task of the element completes the step.

    `endless` are the tasks of the element that only end when another task completes the step.
    """
    tasks = element.tasks if isinstance(element, Parallel) else (element,)
    completed_by = element.completed_by if isinstance(element, Parallel) else None
    if any(completed_by in (ANY_TASK, task.name) and task not in endless for task in tasks):
        return
    for task in endless:
        text = "never ends: it has a warmup-time-period, no time-period, and an endless source; "
        problems.add(task.key_path, text + "add a time-period, or let a parallel task complete it")
