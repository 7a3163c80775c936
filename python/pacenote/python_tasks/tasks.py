"""The tasks of a plan that need Python while the race runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from pacenote.model import track as model
from pacenote.operations.base import CompileContext
from pacenote.plugins.plugin_registry import PluginRegistry
from pacenote.plugins.rally_api import track as rally


class PythonTask(Struct, frozen=True):
    """One task of the plan that needs Python."""

    index: int
    """Position in the plan."""

    task: model.Task
    """The task of the track."""

    rally_task: rally.Task
    """The task as the mutable object of plug-ins."""

    queued: bool = False
    """Whether a parameter source queues operations that the driver executes."""

    has_runner: bool = False
    """Whether a runner executes the operations."""

    scheduled: bool = False
    """Whether a scheduler decides when operations are due."""

    warmup: int = 0
    """Number of warm-up operations of each client."""

    max_operations: int | None = None
    """Most operations of each client, or None if the task is not bound by iterations. If the clients share
    them, the driver ends the task before each client has as many.
    """

    single_operation: bool = False
    """Whether an endless source supplies only one operation after the warm-up."""

    has_bound: bool = False
    """Whether iterations or a time period end the task."""

    only_ends_itself: bool = False
    """Whether neither a time period nor a different task ends it."""


class PythonTasks(Struct, frozen=True):
    """All tasks of a plan that need Python, and their context."""

    track: rally.Track
    """The track as the mutable object of plug-ins."""

    registry: PluginRegistry
    """Registry of the plug-ins of the track."""

    context: CompileContext
    """Context in which operations are compiled."""

    tasks: Mapping[int, PythonTask]
    """The tasks by position in the plan."""

    steps: tuple[tuple[int, ...], ...]
    """For each step of the plan, the positions of its tasks, including those without Python."""

    root: Path
    """Folder of the track, for messages."""

    seed: int
    """Seed of the race."""

    clusters: tuple[str, ...] = ("default",)
    """Names of all clusters, the one under test first."""

    warn: Callable[[str], None] = field(default=lambda _: None)
    """Shows a warning to the user."""

    def alone(self) -> frozenset[int]:
        """Returns the positions of the tasks that have one client, and no other client of their step needs
        Python.
        """
        needing = (tuple(filter(self.tasks.__contains__, step)) for step in self.steps)
        return frozenset(
            step[0] for step in needing if len(step) == 1 and self.tasks[step[0]].task.clients == 1
        )
