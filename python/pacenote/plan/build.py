"""Building the plan of a race: every task compiled, paced, bounded and allocated, or every problem
reported.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from pacenote.errors import TrackError, UsageError
from pacenote.model.messages import quoted
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.problems import Problem, Problems
from pacenote.model.track import Challenge, Parallel, Task, Track
from pacenote.model.work import Headers
from pacenote.operations.base import (
    CompileContext,
    CompiledOperation,
    DataFileLookup,
    EngineInfo,
    declared_data_file,
)
from pacenote.operations.compile import InvalidOperation, compile_operation
from pacenote.plan.allocate import allocate
from pacenote.plan.bounds import check_completion, ends_by_itself, plan_bound
from pacenote.plan.document import (
    DriverSettings,
    OnError,
    Plan,
    PlannedTask,
    SampleRetention,
    Target,
    TargetHost,
)
from pacenote.plan.pacing import is_open_loop, paced, plan_pace
from pacenote.plan.resolve import UnknownOperation, resolve_operation
from pacenote.units import format_count

_MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """What the user decides about a race beside its track.

    `headers` go with every request and may be secret. `timeout_ms` applies to requests without their own.
    `threads` 0 means one per core. The seed is a 64-bit number. Of `pacing` only what is not in the track yet
    counts: open loop, and spinning.
    """

    race_id: str
    seed: int
    hosts: tuple[TargetHost, ...]
    headers: Headers = ()
    timeout_ms: int = 60_000
    threads: int = 0
    on_error: OnError = OnError.CONTINUE
    samples: SampleRetention = SampleRetention.ALL
    pacing: PacingOptions = field(default_factory=PacingOptions)


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What preparation found out: where data files are, which engine runs, and what plug-ins registered; and
    whether assertions of the track are looked at. The default is what is declared.
    """

    data_file: DataFileLookup = declared_data_file
    engine: EngineInfo = field(default_factory=EngineInfo)
    plugins: PluginNames = NO_PLUGINS
    assertions: bool = False


def build_plan(
    track: Track, challenge_name: str | None, settings: PlanSettings, context: PlanContext
) -> Plan:
    """The plan of a challenge; None is the track's default one.

    Raises `TrackError` with all problems of all its tasks together, `UsageError` for a seed out of range.
    """
    if not 0 <= settings.seed <= _MAX_SEED:
        raise UsageError(f"the seed is {settings.seed}, must be a number from 0 to {_MAX_SEED}")
    challenge = track.challenge(challenge_name)
    builder = _Builder(track, context, open_loop=settings.pacing.open_loop)
    tasks = builder.tasks(challenge)
    builder.raise_problems(challenge)
    return Plan(
        race_id=settings.race_id,
        seed=settings.seed,
        target=Target(hosts=settings.hosts, headers=settings.headers, timeout_ms=settings.timeout_ms),
        driver=DriverSettings(
            threads=settings.threads,
            on_error=settings.on_error,
            spin_us=settings.pacing.spin_us,
            samples=settings.samples,
        ),
        tasks=tasks,
        steps=allocate(challenge.schedule),
    )


class _Builder:
    """Compiles tasks, collecting what is wrong with them."""

    def __init__(self, track: Track, context: PlanContext, *, open_loop: bool) -> None:
        self._context = CompileContext(
            track=track,
            data_file=context.data_file,
            engine=context.engine,
            assertions=context.assertions,
        )
        self._plugins = context.plugins
        self._open_loop = open_loop
        self._compiled: dict[tuple[int, int], CompiledOperation] = {}
        self._problems: list[Problem] = []
        self._hints: list[str] = []

    def tasks(self, challenge: Challenge) -> tuple[PlannedTask, ...]:
        """Every task of the challenge in schedule order; those with problems are left out."""
        planned: list[PlannedTask] = []
        for element in challenge.schedule:
            planned.extend(self._element(element))
        return tuple(planned)

    def raise_problems(self, challenge: Challenge) -> None:
        """Raises `TrackError` if there was any problem."""
        if not self._problems:
            return
        # Several tasks that share an operation share its problems too; saying them once is enough.
        problems = self._context.track.describe(dict.fromkeys(self._problems))
        hint = "; ".join(dict.fromkeys(self._hints))
        count = format_count(len(problems), "problem")
        where = f'challenge "{challenge.name}" of track "{self._context.track.name}"'
        if len(problems) == 1:
            raise TrackError(f"{where}: {problems[0]}", problems=problems, hint=hint)
        raise TrackError(f"{where} has {count}", problems=problems, hint=hint)

    def _element(self, element: Task | Parallel) -> list[PlannedTask]:
        planned, endless = [], []
        for task in element.tasks if isinstance(element, Parallel) else (element,):
            compiled = self._compile(task)
            if compiled is None:
                continue
            one = self._plan(task, compiled)
            planned.append(one)
            if not ends_by_itself(one.bound, compiled):
                endless.append(task)
        problems = Problems()
        check_completion(element, tuple(endless), problems)
        self._problems.extend(problems)
        return planned

    def _compile(self, task: Task) -> CompiledOperation | None:
        operation = task.operation
        known = self._compiled.get((id(operation), task.clients))
        if known is not None:
            return known
        try:
            chosen = resolve_operation(operation, self._plugins, self._context.track)
        except UnknownOperation as cause:
            where = operation.key_path or task.key_path
            text = cause.message if cause.key else f"of task {quoted(task.name)}: {cause.message}"
            self._problems.append(Problem((*where, *cause.key), text))
            self._hints.append(cause.hint)
            return None
        if isinstance(chosen, CompiledOperation):
            return paced(task, chosen)
        try:
            context = dataclasses.replace(self._context, clients=task.clients)
            compiled = compile_operation(chosen, operation, context)
        except InvalidOperation as cause:
            self._problems.extend(cause.found)
            return None
        self._compiled[id(operation), task.clients] = compiled
        return compiled

    def _plan(self, task: Task, compiled: CompiledOperation) -> PlannedTask:
        problems = Problems()
        pace = plan_pace(task, compiled, self._plugins.schedulers, problems)
        planned = PlannedTask(
            name=task.name,
            operation=task.operation.name,
            operation_type=task.operation.type,
            clients=task.clients,
            pace=pace,
            bound=plan_bound(task, compiled),
            ramp_up_s=task.ramp_up_time_period or 0.0,
            unit=compiled.unit,
            tolerates_errors=task.tolerates_errors,
            work=compiled.work,
            open_loop=self._open_loop and is_open_loop(pace, task, problems),
        )
        self._problems.extend(problems)
        return planned
