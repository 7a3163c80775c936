"""The evidence of a race: its figures by task and node, and why others are missing.

A figure of one node during a task belongs to the window with both names; what is the same for all tasks or
nodes, such as the configuration, belongs to a window without the name. A look-up goes from the narrowest
window to the widest: task and node, task, node, race.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct, field

from pacenote.diagnose.catalogue import FIGURES, SOURCES
from pacenote.diagnose.expression import Scalar, Unknown, Value
from pacenote.diagnose.figure_units import KINDS
from pacenote.model.race_record import Verdict
from pacenote.model.task_kinds import WorkKind
from pacenote.units import format_count

NOT_RECORDED = "it was not recorded"
"""Why a figure is missing for which no other reason is known."""

MOST_BESIDE = 20
"""Largest number of tasks of the same step that are named with a task."""

MOST_WINDOWS = 6_000
"""Largest number of windows of a task and a node, such as of 20 tasks on 300 nodes: each rule is evaluated
for each of them.
"""

_VALID = Verdict("valid")


class Window(Struct, frozen=True):
    """The part of a race, and of its cluster, that a figure describes."""

    task: str = ""
    """Name of the task; empty for the whole race."""

    node: str = ""
    """Name of the node; empty for all nodes."""

    def widened(self) -> tuple[Window, ...]:
        """Returns this window and those that contain it, the narrowest first."""
        return _widened(self)


@lru_cache(1024)
def _widened(window: Window) -> tuple[Window, ...]:
    """Makes them once: hundreds of figures are looked up in a window one after the other."""
    return tuple(dict.fromkeys((window, Window(window.task), Window(node=window.node), Window())))


class TaskFacts(Struct, frozen=True):
    """A task of a race, as far as rules select tasks."""

    name: str
    """Name of the task."""

    kind: WorkKind
    """What it does."""

    beside: tuple[str, ...] = ()
    """Measured tasks that ran in the same step, at most `MOST_BESIDE`."""

    warmup_share: float = 0.0
    """Part of its time before the measured window."""


class Evidence(Struct, frozen=True, kw_only=True):
    """What was observed of one race, or of races that are compared."""

    race_id: str
    """Id of the race."""

    verdict: Verdict = _VALID
    """Whether its results may be used."""

    tasks: tuple[TaskFacts, ...] = ()
    """The measured tasks in their order."""

    nodes: tuple[str, ...] = ()
    """Names of the nodes of which figures are known; of very many, only the first."""

    all_nodes: tuple[str, ...] = ()
    """Names of all of these nodes, those that are not diagnosed included."""

    hosts: Mapping[str, str] = field(default_factory=dict)
    """The hosts of nodes, by their names, as far as they are known."""

    values: Mapping[Window, Mapping[str, Scalar]] = field(default_factory=dict)
    """Figures by window and name."""

    missing: Mapping[Window, Mapping[str, str]] = field(default_factory=dict)
    """Why figures are missing, by window and by the name of the figure, of its group with a star (`gc.*`), or
    of its source in the catalogue.
    """

    unread: tuple[str, ...] = ()
    """What could not be read of the files of the race, one sentence each."""

    sources: Mapping[Window, Mapping[str, str]] = field(default_factory=dict)
    """Sources of figures that are not those of the catalogue, by window and name."""

    def value(self, window: Window, name: str) -> Value:
        """Returns a figure, or why it is missing."""
        for wider in window.widened():
            value = self.values.get(wider, {}).get(name)
            if value is not None:
                return value
        return Unknown(((name, self._reason(window, name)),))

    def source(self, window: Window, name: str) -> str:
        """Returns where a figure that is known comes from, a key of `SOURCES`."""
        for wider in window.widened():
            if name in self.values.get(wider, {}):
                return self.sources.get(wider, {}).get(name) or FIGURES[name].source
        return FIGURES[name].source

    def is_of_node(self, window: Window, name: str) -> bool:
        """Returns whether a figure that is known is that of the node of a window, and not of all nodes."""
        windows = (wider for wider in window.widened() if name in self.values.get(wider, {}))
        return bool(next(windows, Window()).node)

    def number(self, window: Window, name: str) -> float | None:
        """Returns a figure that is a number, or None if it is missing."""
        value = self.value(window, name)
        return value if isinstance(value, float) else None

    def _reason(self, window: Window, name: str) -> str:
        figure = FIGURES.get(name)
        keys = (name, f"{name.partition('.')[0]}.*", figure.source if figure else "")
        for wider in window.widened():
            reasons = self.missing.get(wider, {})
            for key in keys:
                if key in reasons:
                    return reasons[key]
        return NOT_RECORDED


class EvidenceBuilder:
    """Collects the evidence of a race."""

    def __init__(self, race_id: str, tasks: Iterable[TaskFacts] = (), verdict: Verdict = _VALID) -> None:
        self._race_id = race_id
        self._verdict = verdict
        self._tasks = tuple(tasks)
        self._values: dict[Window, dict[str, Scalar]] = {}
        self._missing: dict[Window, dict[str, str]] = {}
        self._sources: dict[Window, dict[str, str]] = {}
        self._unread: dict[str, None] = {}
        self._hosts: dict[str, str] = {}

    def set_host(self, node: str, host: str) -> None:
        """Adds on which host a node runs: its address or its name."""
        self._hosts[node] = host

    def set(self, window: Window, name: str, value: float | str | None, source: str = "") -> None:
        """Adds a figure of the catalogue; None leaves it missing, and so does a number that is not finite.
        `source` is where it comes from, if that is not the source in the catalogue.

        Raises KeyError for an unknown name and ValueError for a value of another kind, which are mistakes of
        the caller.
        """
        if value is None:
            return
        kind = {"number": float, "text": str, "truth": bool}[KINDS[FIGURES[name].unit]]
        if kind is float and not isinstance(value, bool | str):
            value = float(value)
        if not isinstance(value, kind):
            raise ValueError(f"the figure {name} cannot be {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            self.miss(name, "its value is not a finite number", window)
            return
        self._values.setdefault(window, {})[name] = value
        if source:
            self._sources.setdefault(window, {})[name] = source

    def miss(self, name: str, reason: str, window: Window = Window()) -> None:
        """Adds why a figure, a group (`gc.*`) or a source (`GC log`) is missing. Raises ValueError."""
        if name not in FIGURES and name not in SOURCES and not name.endswith(".*"):
            raise ValueError(f"there is no figure, group or source {name}")
        self._missing.setdefault(window, {})[name] = reason

    def damaged(self, *texts: str) -> None:
        """Adds what could not be read of files that exist, one sentence each."""
        self._unread.update(dict.fromkeys(texts))

    def build(self) -> Evidence:
        """Returns the evidence that was collected."""
        known = tuple(dict.fromkeys(window.node for window in self._values if window.node))
        nodes = known[: max(1, MOST_WINDOWS // max(1, len(self._tasks)))]
        unread = tuple(self._unread)
        if len(nodes) < len(known):
            of = f"{format_count(len(self._tasks), 'task')} and {format_count(len(known), 'node')}"
            unread += (f"the race has {of}: only {format_count(len(nodes), 'node')} are diagnosed",)
        return Evidence(
            race_id=self._race_id,
            verdict=self._verdict,
            tasks=self._tasks,
            nodes=nodes,
            all_nodes=known,
            hosts=dict(self._hosts),
            values={window: dict(figures) for window, figures in self._values.items()},
            missing={window: dict(reasons) for window, reasons in self._missing.items()},
            unread=unread,
            sources={window: dict(sources) for window, sources in self._sources.items()},
        )
