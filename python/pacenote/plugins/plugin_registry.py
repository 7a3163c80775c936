"""Registry of a track's plug-ins: runners, parameter sources, schedulers, track processors, validators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.plugin_names import PluginNames

RALLY_VERSION = "2.13.0"
"""The version of Rally whose plug-in API this implements."""

_RALLY_SCHEDULES = ("deterministic", "poisson")
"""Names of Rally's own schedulers. A plug-in may have one named `uniform`, which it replaces."""


class PluginRegistry:
    """The argument of a plug-in's `register(registry)`.

    Rejects invalid arguments with `TrackError` when it is called, so that the message names the line of the
    plug-in.
    """

    def __init__(self) -> None:
        self.runners: dict[str, Any] = {}
        self.param_sources: dict[str, Any] = {}
        self.schedulers: dict[str, Any] = {}
        self.track_processors: list[Any] = []
        self.validators: dict[str, list[Callable[[dict[str, Any]], object]]] = {}

    @property
    def meta_data(self) -> Mapping[str, Any]:
        """Metadata by which plug-ins detect the version and features of Rally."""
        return {"rally_version": RALLY_VERSION, "async_runner": True}

    def register_param_source(self, name: str, param_source: Any) -> None:
        """Registers a function or a class that returns parameters for operations with this `param-source`."""
        if not (inspect.isfunction(param_source) or inspect.isclass(param_source)):
            raise _refused("parameter source", name, "is neither a function nor a class", param_source)
        self.param_sources[_name("parameter source", name)] = param_source

    def register_runner(self, operation_type: Any, runner: Any, **options: Any) -> None:
        """Registers an async function, or an object with an async `__call__`, for operations of this type."""
        name = _name("runner", getattr(operation_type, "value", operation_type))
        if not options.get("async_runner", False):
            raise _refused("runner", name, "must be async and registered with async_runner=True", runner)
        if inspect.isclass(runner) or not callable(runner):
            raise _refused("runner", name, "is neither a function nor an object that can be called", runner)
        self.runners[name] = runner

    def register_scheduler(self, name: str, scheduler: Any) -> None:
        """Registers a class or a function that decides when the next operation is due."""
        name = _name("scheduler", name)
        if name in _RALLY_SCHEDULES or name in self.schedulers:
            raise _refused("scheduler", name, "is registered under a name that is already in use", scheduler)
        if not callable(scheduler):
            raise _refused("scheduler", name, "is neither a class nor a function", scheduler)
        self.schedulers[name] = scheduler

    def register_track_processor(self, processor: Any) -> None:
        """Registers an object that changes the track or prepares its data."""
        methods = ("on_after_load_track", "on_prepare_track")
        if inspect.isclass(processor) or not any(
            callable(getattr(processor, method, None)) for method in methods
        ):
            raise _refused("track processor", "", f"must be an object with {' or '.join(methods)}", processor)
        self.track_processors.append(processor)

    def register_validator(self, challenge_name: str, validator: Callable[[dict[str, Any]], object]) -> None:
        """Registers a function that raises if the challenge cannot run with the track parameters."""
        name = _name("validator", challenge_name)
        if not callable(validator):
            raise _refused("validator", name, "cannot be called", validator)
        known = self.validators.setdefault(name, [])
        if validator not in known:
            known.append(validator)

    def names(self) -> PluginNames:
        """Returns the registered names, for the planner."""
        completing = frozenset(name for name, runner in self.runners.items() if completes_task(runner))
        return PluginNames(
            runners=frozenset(self.runners),
            task_completing_runners=completing,
            param_sources=frozenset(self.param_sources),
            schedulers=frozenset(self.schedulers),
        )


def completes_task(runner: Any) -> bool:
    """Returns whether a runner, or the one that it wraps, reports when its task is complete."""
    inner = innermost(runner)
    return _declares(inner, "completed") and _declares(inner, "percent_completed")


def innermost(runner: Any) -> Any:
    """Returns the runner inside all wrappers."""
    while (inner := getattr(runner, "delegate", None)) is not None:
        runner = inner
    return runner


def _declares(runner: Any, name: str) -> bool:
    # The attribute is not read: that could run code of the plug-in before the task has started.
    return hasattr(type(runner), name) or name in getattr(runner, "__dict__", ())


def _name(what: str, name: object) -> str:
    if isinstance(name, str) and name:
        return name
    raise _refused(what, "", f"needs a name, not {name!r}", None)


def _refused(what: str, name: str, reason: str, thing: object) -> TrackError:
    shown = "" if thing is None else f": {_shown(thing)}"
    return TrackError(f"the {what}{' ' + quoted(name) if name else ''} {reason}{shown}")


def _shown(thing: object) -> str:
    named = getattr(thing, "__qualname__", None)
    return named if isinstance(named, str) else f"an object of {type(thing).__name__}"


_current: list[PluginRegistry] = [PluginRegistry()]


def current_registry() -> PluginRegistry:
    """Returns what the plug-ins of the current track registered."""
    return _current[-1]


def set_current_registry(registry: PluginRegistry) -> None:
    """Makes a registry the current one."""
    _current[:] = [registry]
