"""Cars: named configurations of a node (`--car=4gheap,parallelgc`) that `--car-params` adjusts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.provision.car_rules import check_jvm_option, check_settings
from pacenote.provision.jvm_options import (
    G1_OPTIONS,
    GC_LOG_DECORATIONS,
    GC_LOG_ROTATION,
    LOGS,
    selects_collector,
)
from pacenote.provision.resources import parse_heap
from pacenote.provision.security.engine_user import USER_VARIABLES

DEFAULT_HEAP = "1g"


class NodeTemplate(Protocol):
    """What configures each node of a car anew, since it depends on the folders and ports of the node."""

    def for_java(self, major: int, /) -> Car:
        """Returns the car for a version of Java."""


class Car(Struct, frozen=True):
    """The configuration of a node, or a part of it."""

    name: str = "defaults"
    """The name in `--car`; names separated by commas if the car is composed of several."""
    description: str = ""
    """One line for `pacenote list cars`."""
    kind: str = "car"
    """`car`, or `mixin` if it is meant to be combined with a car."""
    heap_size: str = ""
    """Heap size such as `4g`; empty if the car does not set it."""
    jvm_options: tuple[str, ...] = ()
    """JVM options that the car adds."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the engine, by their full names."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the engine."""
    has_files: bool = False
    """Whether its templates write files other than settings, JVM options and log levels."""
    index_settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of all indices that the track creates, by their full names."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """Variables of a car of a team repository, such as `build.jdk`."""
    plugins: tuple[str, ...] = ()
    """Names of the plugins of the engine that have to be installed."""
    template: NodeTemplate | None = None
    """What configures each node, for a car of a team repository; otherwise None."""
    notes: tuple[str, ...] = ()
    """Notes for the user about what is not used of it."""


_HEAPS = ("512m", *(f"{size}g" for size in (1, 2, 4, 6, 8, 12, 16, 24, 30, 31, 32, 48, 64)))

_LICENSE = "xpack.license.self_generated.type"
_WATERMARK = "cluster.routing.allocation.disk.watermark"


def _heap(size: str) -> Car:
    return Car(f"{size}heap", f"{size[:-1]} {'MB' if size.endswith('m') else 'GB'} of heap", heap_size=size)


def _mixin(name: str, description: str, *jvm_options: str, **settings: str) -> Car:
    """Returns a mixin; `__` in the names of settings stands for a dot."""
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return Car(name, description, "mixin", jvm_options=jvm_options, settings=named)


CARS: Mapping[str, Car] = {
    car.name: car
    for car in (
        Car("defaults", "the engine's defaults, 1 GB of heap"),
        *map(_heap, _HEAPS),
        _mixin("g1gc", "the G1 garbage collector (the default)", *G1_OPTIONS),
        _mixin("parallelgc", "the parallel garbage collector", "-XX:+UseParallelGC"),
        _mixin("zgc", "the Z garbage collector", "-XX:+UseZGC"),
        _mixin("shenandoahgc", "the Shenandoah garbage collector, if Java has it", "-XX:+UseShenandoahGC"),
        _mixin(
            "fixed-tenuring",
            "objects become old after two collections, whatever their number",
            *("-XX:InitialTenuringThreshold=2", "-XX:MaxTenuringThreshold=2", "-XX:TargetSurvivorRatio=100"),
        ),
        _mixin(
            "verbose-gc",
            "the log of the garbage collector with all details",
            # It replaces the log that every engine has.
            f"-Xlog:gc*=debug,gc+age*=trace,safepoint*=debug:file={LOGS}/gc.log:"
            f"{GC_LOG_DECORATIONS}:{GC_LOG_ROTATION}",
        ),
        _mixin("ea", "assertions enabled", "-ea"),
        _mixin("fp", "frame pointers kept, for native profilers", "-XX:+PreserveFramePointer"),
        _mixin(
            "debug-non-safepoints",
            "more accurate positions for profilers",
            *("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"),
        ),
        _mixin("unpooled", "network buffers are not pooled", "-Dio.netty.allocator.type=unpooled"),
        _mixin(
            "index-buffer-25",
            "25 % of the heap buffer new documents, in place of 10 %",
            indices__memory__index_buffer_size="25%",
        ),
        replace(
            _mixin("best-compression", "indices that the track creates are compressed more"),
            index_settings={"index.codec": "best_compression"},
        ),
        _mixin(
            "http-compression", "responses are compressed if the client accepts it", http__compression="true"
        ),
        _mixin("no-http-compression", "responses are never compressed", http__compression="false"),
        replace(
            _mixin("lean-watermarks", "disks are full at 100 MB of free space, for small disks"),
            settings={
                "cluster.routing.allocation.disk.threshold_enabled": "true",
                f"{_WATERMARK}.low": "500mb",
                f"{_WATERMARK}.high": "300mb",
                f"{_WATERMARK}.flood_stage": "100mb",
            },
        ),
        replace(_mixin("basic-license", "the basic licence of Elasticsearch"), settings={_LICENSE: "basic"}),
        replace(_mixin("trial-license", "the trial licence of Elasticsearch"), settings={_LICENSE: "trial"}),
        replace(
            _mixin("x-pack-security", "security of the official Elasticsearch: TLS, and the user rally"),
            settings={"xpack.security.enabled": "true"},
        ),
    )
}
"""Every car and mixin by name."""

_OWN_ENGINE_HINT = "--team-repository=default has the cars of Rally"

_VARIABLES = ("docker_image", "docker_mem_limit", "docker_cpu_count", *USER_VARIABLES)
_PARAMS = ("heap_size", "additional_cluster_settings", "additional_java_settings", *_VARIABLES)


def compose_car(names: Iterable[str], params: Mapping[str, object] | None = None) -> Car:
    """Composes several cars from left to right, and then `params` (`--car-params`).

    Later heap sizes and settings override earlier ones; JVM options are appended. Raises UsageError for an
    unknown car or parameter, with close matches, for a value of the wrong type, and for two garbage
    collectors.
    """
    cars = [_find(name.strip()) for name in names if name.strip()] or [CARS["defaults"]]
    heap = DEFAULT_HEAP
    options: list[str] = []
    settings: dict[str, object] = {}
    index_settings: dict[str, object] = {}
    for car in (*cars, _from_params(params or {})):
        heap = car.heap_size or heap
        options.extend(car.jvm_options)
        settings.update(car.settings)
        index_settings.update(car.index_settings)
    collectors = dict.fromkeys(option for option in options if selects_collector(option))
    if len(collectors) > 1:
        raise UsageError(
            f"the cars select several garbage collectors: {', '.join(collectors)}",
            hint="name only one of them",
        )
    return Car(
        name=",".join(car.name for car in cars),
        description=" + ".join(car.description for car in cars),
        heap_size=heap,
        jvm_options=tuple(dict.fromkeys(options)),
        settings=settings,
        index_settings=index_settings,
        variables={name: value for name, value in (params or {}).items() if name in _VARIABLES},
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
    flat = flatten_settings(settings)
    check_settings(flat, "additional_cluster_settings")
    return Car("params", heap_size=heap, jvm_options=_java_settings(params), settings=flat)


def flatten_settings(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Returns settings by their full names: `{"http": {"port": 1}}` and `http.port` are equivalent."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat.update(flatten_settings(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _java_settings(params: Mapping[str, object]) -> tuple[str, ...]:
    java_settings = params.get("additional_java_settings", [])
    options = java_settings.split() if isinstance(java_settings, str) else java_settings
    if not isinstance(options, list | tuple) or not all(isinstance(option, str) for option in options):
        raise UsageError(
            "additional_java_settings in --car-params must be a list of JVM options",
            hint='for example {"additional_java_settings": ["-XX:+UseZGC"]}',
        )
    for option in options:
        check_jvm_option(option, "additional_java_settings")
    return tuple(options)
