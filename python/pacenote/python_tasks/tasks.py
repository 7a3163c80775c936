"""What Python has to do in a race: the tasks of the plan in which it has a hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pacenote.model import track as model
from pacenote.operations.base import CompileContext
from pacenote.plugins.rally_api import track as rally
from pacenote.plugins.registry import Registry


@dataclass(frozen=True, slots=True)
class PythonTask:
    """One task of the plan.

    `supplied`: the driver carries out what a parameter source supplies. `runs`: a runner carries it out.
    `scheduled`: a scheduler says when. `most` is how many operations a client does, None if that is not
    decided beforehand; with `once`, a source without end supplies one operation after those that warm up.
    """

    index: int
    task: model.Task
    rally: rally.Task
    supplied: bool = False
    runs: bool = False
    scheduled: bool = False
    warmup: int = 0
    most: int | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """All of it.

    `tasks` by position in the plan, `steps` the positions of the tasks of each step. `clusters` are the names
    of all clusters, the one under test first. `root` is the folder of the track, for messages.
    """

    track: rally.Track
    registry: Registry
    context: CompileContext
    tasks: Mapping[int, PythonTask]
    steps: tuple[tuple[int, ...], ...]
    root: Path
    clusters: tuple[str, ...] = ("default",)
    warn: Callable[[str], None] = field(default=lambda _: None)
