"""The Python code of a track in a race: plug-ins that change the track, prepare data and run tasks.

For a track without Python code, the modules that run such code are not imported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pacenote import _core
from pacenote.errors import TrackError
from pacenote.fetch.download import Download, download_file
from pacenote.fetch.remote_file import resolve
from pacenote.model.messages import quoted
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Task, Track
from pacenote.model.work import PythonRunner, PythonSource
from pacenote.operations.base import CompileContext
from pacenote.plan.corpora import SourceFiles, no_source_files
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    CompletedBy,
    CompletedByTask,
    Iterations,
    Plan,
    PlannedTask,
    PythonScheduler,
    TaskBound,
    TimePeriod,
)
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.data_folder import call_core
from pacenote.track.dependencies import install_dependencies
from pacenote.track.prepare import PreparedTrack

if TYPE_CHECKING:
    from pacenote.plugins.rally_api.track import Task as RallyTask
    from pacenote.plugins.tools import DataTools
    from pacenote.plugins.track_plugins import TrackPlugins
    from pacenote.python_tasks.tasks import PythonTask, PythonTasks


@contextlib.contextmanager
def track_plugins(
    track: Track, home: Path, *, offline: bool, warn: Callable[[str], None], in_copy: bool = False
) -> Generator[TrackPlugins | None, None, None]:
    """Yields the plug-ins of a track, which are unloaded at the end of the block, or None if it has none.

    Installs the packages that they depend on. Calls `warn` before their code runs, and for packages that
    cannot be installed. Processes that their code leaves running are ended with the block. With `in_copy`,
    the block and the rest of the program run in a copy of this process (`supervisor.supervised`). Raises
    TrackError.
    """
    if track.plugin is None:
        yield None
        return
    from pacenote.plugins.track_plugins import open_plugins
    from pacenote.race.supervisor import supervised

    warn(f"running the Python code of track {quoted(track.name)} with your permissions: {track.plugin}")
    libraries = _install_packages(track.dependencies, home, offline, warn)
    with contextlib.ExitStack() as stack:
        if in_copy:
            stack.enter_context(supervised(track.name, track.plugin, warn))
        stack.enter_context(_ended_with_block(warn))
        yield stack.enter_context(open_plugins(track.plugin, libraries, warn))


@contextlib.contextmanager
def _ended_with_block(warn: Callable[[str], None]) -> Generator[None, None, None]:
    """Ends all processes that the block started, directly or indirectly, at the end of the block.

    Calls `warn` for each that was still running, and at once if this system cannot find them.
    """
    from pacenote.system.descendants import become_subreaper, descendants, end_descendants

    if not become_subreaper():
        warn("this system cannot find processes that the track's Python code starts: end them yourself")
        yield
        return
    before = frozenset(descendants())
    try:
        yield
    finally:
        for text in end_descendants(before):
            warn(f"the track's Python code left a process running: {text}")
        become_subreaper(enabled=False)


def _install_packages(
    requirements: tuple[str, ...], home: Path, offline: bool, warn: Callable[[str], None]
) -> tuple[Path, ...]:
    """Returns the folders of the installed packages.

    A package that cannot be installed is skipped so that tasks that do not need it can run. Code that imports
    it fails with the name of the module.
    """
    if not requirements:
        return ()
    try:
        return (install_dependencies(requirements, home, offline),)
    except TrackError as error:
        if len(requirements) == 1:
            warn(f"{error.message}; code that imports it will fail")
            return ()
    return tuple(
        folder
        for requirement in requirements
        for folder in _install_packages((requirement,), home, offline, warn)
    )


def plugin_names(plugins: TrackPlugins | None) -> PluginNames:
    """Returns the names that plug-ins have registered, for the planner."""
    return NO_PLUGINS if plugins is None else plugins.names


def run_track_processors(
    prepared: PreparedTrack, plugins: TrackPlugins | None, request: RaceRequest
) -> PreparedTrack:
    """Returns the track as changed by its track processors and checked by its validators.

    Raises TrackError.
    """
    if plugins is None:
        return prepared
    name = prepared.challenge.name
    track = plugins.after_load(prepared.track, name)
    plugins.validate(name, request.track_params)
    return replace(prepared, track=track, challenge=track.challenge(name))


def source_files(plugins: TrackPlugins | None, track: Track) -> SourceFiles:
    """Returns a function that returns the data files that the parameter source of a task reads."""
    return no_source_files if plugins is None else lambda task: plugins.source_files(task, track)


def prepare_plugin_data(
    plugins: TrackPlugins | None, request: RaceRequest, progress: ProgressCallback
) -> None:
    """Lets plug-ins download or generate their own data. Raises TrackError and CorpusError."""
    if plugins is not None:
        tools = _tools(request, progress, plugins.root)
        plugins.prepare(request.data_root, tools, progress)


def set_data_files(plugins: TrackPlugins | None, corpora: PreparedCorpora, request: RaceRequest) -> None:
    """Gives parameter sources the paths of the data files."""
    if plugins is None:
        return
    files = {key: (file.path, file.documents) for key, file in corpora.files.items()}
    folders = (plugins.root, request.data_root) if request.track_path else (request.data_root,)
    plugins.set_data_files(folders, files)


def python_tasks_of(
    plan: Plan,
    prepared: PreparedTrack,
    plugins: TrackPlugins | None,
    context: CompileContext,
    warn: Callable[[str], None],
) -> PythonTasks | None:
    """Returns the tasks of a plan that need Python while they run, or None if there are none."""
    if not plan.needs_python:
        return None
    from pacenote.plugins.plugin_registry import PluginRegistry
    from pacenote.plugins.rally_api.convert import to_rally
    from pacenote.python_tasks.tasks import PythonTasks

    track = to_rally(prepared.track, prepared.challenge.name) if plugins is None else plugins.track
    challenge = track.find_challenge(prepared.challenge.name)
    rally_tasks = (task for element in challenge.schedule for task in element)
    steps = tuple(
        tuple(dict.fromkeys(share.task for row in step.client_allocations for share in row.allocations))
        for step in plan.steps
    )
    triples = zip(plan.tasks, prepared.challenge.tasks(), rally_tasks, strict=True)
    completed_by = {
        index: step.completed_by for step, indexes in zip(plan.steps, steps, strict=True) for index in indexes
    }
    tasks = {
        index: _python_task(index, planned, task, rally_task, completed_by[index])
        for index, (planned, task, rally_task) in enumerate(triples)
        if planned.needs_python
    }
    return PythonTasks(
        track=track,
        registry=PluginRegistry() if plugins is None else plugins.registry,
        context=context,
        tasks=tasks,
        steps=steps,
        root=prepared.track.root if plugins is None else plugins.root,
        seed=plan.seed,
        clusters=("default", *(other.name for other in plan.others)),
        warn=warn,
    )


def _python_task(
    index: int, planned: PlannedTask, task: Task, rally_task: RallyTask, completed_by: CompletedBy | None
) -> PythonTask:
    from pacenote.python_tasks.tasks import PythonTask

    bound = planned.bound
    return PythonTask(
        index=index,
        task=task,
        rally_task=rally_task,
        queued=isinstance(planned.work, PythonSource),
        has_runner=isinstance(planned.work, PythonRunner),
        scheduled=isinstance(planned.pacing, PythonScheduler),
        warmup=bound.warmup if isinstance(bound, Iterations) else 0,
        max_operations=_most_operations(planned),
        single_operation=not task.is_time_based,
        has_bound=_has_bound(bound),
        only_ends_itself=_only_ends_itself(index, bound, completed_by),
    )


def _only_ends_itself(index: int, bound: TaskBound, completed_by: CompletedBy | None) -> bool:
    """Returns whether neither a time period nor a different task ends a task."""
    is_timed = isinstance(bound, TimePeriod) and bound.measured_s is not None
    return not is_timed and completed_by in (None, CompletedByTask(index))


def _most_operations(planned: PlannedTask) -> int | None:
    """Returns the most operations that one client of a task may execute, or None if its bound does not
    determine it. In an open loop, the clients share their iterations: while one waits for a reply, the others
    take its share.
    """
    bound = planned.bound
    if not isinstance(bound, Iterations) or bound.measured == UNTIL_EXHAUSTED:
        return None
    return (bound.warmup + bound.measured) * (planned.clients if planned.open_loop else 1)


def _has_bound(bound: TaskBound) -> bool:
    """Returns whether iterations or a time period end a task."""
    if isinstance(bound, Iterations):
        return bound.measured != UNTIL_EXHAUSTED
    return bound.measured_s is not None


def _tools(request: RaceRequest, progress: ProgressCallback, track_folder: Path) -> DataTools:
    def fetch(url: str, path: str, size: int | None) -> None:
        if request.offline:
            raise OSError(f"{path} does not exist, and --offline forbids downloading it")
        download_file(Download(Path(path), (resolve(url),), size), progress)

    def unpack(archive: Path, path: Path) -> None:
        label = f"unpacking {archive.name}"
        call_core(
            lambda: _core.unpack(archive, path.parent, None, lambda done, total: progress(label, done, total))
        )

    from pacenote.plugins.tools import DataTools

    return DataTools(
        fetch,
        unpack,
        lambda path: call_core(lambda: _core.count_lines(path)),
        track_folder if request.track_path else None,
        request.data_root,
    )
