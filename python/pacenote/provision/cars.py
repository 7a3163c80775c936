"""Cars: named configurations of a node (`--car=4gheap,parallelgc`) that `--car-params` adjusts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from pacenote.errors import UsageError
from pacenote.provision.resources import parse_heap

DEFAULT_HEAP = "1g"


@dataclass(frozen=True, slots=True)
class Car:
    """The configuration of a node, or a part of it."""

    name: str = "defaults"
    """The name in `--car`; names separated by commas if the car is composed of several."""
    description: str = ""
    """One line for `pacenote list cars`."""
    heap_size: str = ""
    """Heap size such as `4g`; empty if the car does not set it."""
    jvm_options: tuple[str, ...] = ()
    """JVM options that the car adds."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the engine, by their full names."""


def _heap(size: int) -> Car:
    return Car(f"{size}gheap", f"{size} GB of heap", heap_size=f"{size}g")


_G1 = ("-XX:+UseG1GC", "-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30")

CARS: Mapping[str, Car] = {
    car.name: car
    for car in (
        Car("defaults", "the engine's defaults, 1 GB of heap"),
        *(_heap(size) for size in (1, 2, 4, 8, 16, 24)),
        Car("g1gc", "mixin: the G1 garbage collector (the default)", jvm_options=_G1),
        Car("parallelgc", "mixin: the parallel garbage collector", jvm_options=("-XX:+UseParallelGC",)),
        Car("ea", "mixin: assertions enabled", jvm_options=("-ea",)),
        Car(
            "fp",
            "mixin: frame pointers kept, for native profilers",
            jvm_options=("-XX:+PreserveFramePointer",),
        ),
    )
}
"""Every car and mixin by name."""

# Settings that isolate a node: a race must never open a port to other hosts, and never join a different
# cluster.
_PROTECTED_SETTINGS = re.compile(
    r"path\.|discovery\.|cluster\.initial|transport\.profiles\.|(network|http|transport)\.(\w+_)?host$"
)
# Settings are written as lines of a file, so a name must not contain line breaks or quotes.
_SETTING_NAME = re.compile(r"\w[\w.*-]*", re.ASCII)

_OWN_ENGINE_HINT = "for others, start the engine yourself and use --pipeline=benchmark-only"

_PARAMS = ("heap_size", "additional_cluster_settings", "additional_java_settings")


def compose_car(names: Iterable[str], params: Mapping[str, object] | None = None) -> Car:
    """Composes several cars from left to right, and then `params` (`--car-params`).

    Later heap sizes and settings override earlier ones; JVM options are appended. If none of them selects a
    garbage collector, G1 is used with the options of the official archives. Raises UsageError for an unknown
    car or parameter, with close matches, and for a value of the wrong type.
    """
    cars = [_find(name.strip()) for name in names if name.strip()] or [CARS["defaults"]]
    heap = DEFAULT_HEAP
    options: list[str] = []
    settings: dict[str, object] = {}
    for car in (*cars, _from_params(params or {})):
        heap = car.heap_size or heap
        options.extend(car.jvm_options)
        settings.update(car.settings)
    if not any(re.fullmatch(r"-XX:\+Use\w+GC", option) for option in options):
        options[:0] = _G1
    return Car(
        name=",".join(car.name for car in cars),
        description=" + ".join(car.description for car in cars),
        heap_size=heap,
        jvm_options=tuple(dict.fromkeys(options)),
        settings=settings,
    )


def _find(name: str) -> Car:
    if name in CARS:
        return CARS[name]
    close = get_close_matches(name, CARS, n=2)
    hint = (
        f"did you mean {' or '.join(close)}?"
        if close
        else f"known cars: {', '.join(CARS)}; {_OWN_ENGINE_HINT}"
    )
    raise UsageError(f"unknown car '{name}' in --car", hint=hint)


def _from_params(params: Mapping[str, object]) -> Car:
    for key in params:
        if key not in _PARAMS:
            close = get_close_matches(key, _PARAMS, n=1)
            known = f"known parameters: {', '.join(_PARAMS)}; {_OWN_ENGINE_HINT}"
            hint = f"did you mean {close[0]}?" if close else known
            raise UsageError(f"unknown parameter '{key}' in --car-params", hint=hint)
    heap = params.get("heap_size", "")
    if not isinstance(heap, str):
        raise UsageError("heap_size in --car-params must be a string", hint="for example heap_size:2g")
    if heap:
        parse_heap(heap)
    settings = params.get("additional_cluster_settings", {})
    if not isinstance(settings, Mapping):
        raise UsageError(
            "additional_cluster_settings in --car-params must be an object that maps settings to values",
            hint='for example {"additional_cluster_settings": {"indices.queries.cache.size": "5%"}}',
        )
    flat = _flatten(settings)
    for key in flat:
        if not _SETTING_NAME.fullmatch(key):
            raise UsageError(
                f"{key!r} in additional_cluster_settings is not the name of a setting",
                hint="use only letters, digits and . _ - *",
            )
        if _PROTECTED_SETTINGS.match(key):
            raise UsageError(
                f"{key} in additional_cluster_settings cannot be changed: a node only listens on loopback",
                hint="remove it, or start the cluster yourself and use --pipeline=benchmark-only",
            )
    return Car("params", heap_size=heap, jvm_options=_java_settings(params), settings=flat)


def _flatten(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Returns settings by their full names: `{"http": {"port": 1}}` and `http.port` are equivalent."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _java_settings(params: Mapping[str, object]) -> tuple[str, ...]:
    given = params.get("additional_java_settings", [])
    options = given.split() if isinstance(given, str) else given
    if not isinstance(options, list | tuple) or not all(isinstance(each, str) for each in options):
        raise UsageError(
            "additional_java_settings in --car-params must be a list of JVM options",
            hint='for example {"additional_java_settings": ["-XX:+UseZGC"]}',
        )
    for option in options:
        if option.startswith(("-Xmx", "-Xms")):
            raise UsageError(
                f"{option} in additional_java_settings sets the heap", hint="use heap_size instead"
            )
    return tuple(options)
