"""The options of a race as its record stores them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from pacenote.model.codec import Integer, Number, Stored
from pacenote.model.node_options import NodeOptions
from pacenote.model.telemetry_options import profilers


class RecordedOptions(Stored, frozen=True, kw_only=True):
    """Options that may affect the results of a race and have no key of their own in its record."""

    track_path: str | None = None
    """The path of the track, or None if it was selected by name."""

    track_repository: str | None = None
    """The repository of the track, without user information; None if none was selected."""

    track_revision: str | None = None
    """The selected revision of the repository; the record of the track contains the actual one."""

    include_tasks: tuple[str, ...] = ()
    """Filters of the tasks to run; empty for all."""

    exclude_tasks: tuple[str, ...] = ()
    """Filters of the tasks that were excluded."""

    test_mode: bool = False
    """Whether tasks ran briefly and with little data."""

    enable_assertions: bool = False
    """Whether assertions of the track were checked."""

    build_flavor: str = "default"
    """The build flavor that the track was rendered for."""

    serverless_operator: bool = False
    """Whether operations for the operator of a serverless cluster ran."""

    distribution: str | None = None
    """The distribution to start; None for an existing cluster."""

    distribution_version: str | None = None
    """The version to start; None for the default version or an existing cluster."""

    distribution_repository: str | None = None
    """The repository of the official archive; None if none was selected."""

    distribution_archive: str | None = None
    """The path of the official archive, or its URL without credentials; None if none was given."""

    revision: str | None = None
    """The revision of the sources to build; None for an engine that is not built."""

    source_path: str | None = None
    """The folder or the URL of the sources, without credentials; None for an engine that is not built, and
    for the repository of the engine.
    """

    source_build_release: bool | None = None
    """Whether a release was built in place of a snapshot; None for an engine that is not built."""

    runtime_jdk: Integer | str | None = None
    """The major version or the folder of the JDK, or `bundled`; None if it was not selected."""

    team_path: str | None = None
    """The folder of the cars, or None if they are built-in or from a git repository."""

    team_repository: str | None = None
    """The repository of the cars, without user information; None if none was selected."""

    team_revision: str | None = None
    """The revision of that repository, in full; None without one."""

    plugins: tuple[str, ...] = ()
    """Plugins of the engine, with their configurations."""

    plugin_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the plugins, without secrets."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that were set one by one, by names as in `--set`, without secrets."""

    jvm_options: tuple[str, ...] = ()
    """Options of the JVM that were set one by one."""

    car_profilers: tuple[str, ...] = ()
    """What options of the JVM start that observes the engine, those of the car and of its archive included:
    `jfr`, and names of agents, as the JVM reports them once it runs.
    """

    engine_variables: Mapping[str, object] = field(default_factory=dict)
    """Environment variables that were set for the engine, without secrets."""

    data: str | None = None
    """The data with which the engine starts (`--data`); None for an existing cluster."""

    caches: str | None = None
    """`cold` if the data was dropped from the page cache, `warm` if it was read into it, otherwise None."""

    cooldown_s: Number = 0.0
    """Seconds between the start of the engine and the first task."""

    on_error: str | None = None
    """What a failed request did to the race; None if it was not selected."""

    samples: str = "auto"
    """Which individual samples were stored."""

    driver_threads: Integer = 0
    """Worker threads; 0 means one per core."""

    driver_cpus: str | None = None
    """The CPUs of the driver, such as `0-3,6`; None if they were not selected."""

    driver_scheduling: str | None = None
    """How the kernel was asked to schedule the threads that sent requests; None in races of earlier versions,
    which left it to the system.
    """

    default_telemetry: bool = True
    """Whether the devices that are always on ran, and the host was sampled."""

    telemetry: tuple[str, ...] = ()
    """The optional telemetry devices."""

    telemetry_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of telemetry devices, without secrets."""

    nodes: NodeOptions | None = None
    """The nodes to start; None for an existing cluster."""

    corpus: str | None = None
    """The selected source of data; None if it was not selected."""

    corpus_documents: Integer | None = None
    """The maximum number of generated documents of a corpus; None if it was not limited."""

    dataset_cache: str | None = None
    """The folder of data files, whose disk may be slow; None for the one in Pacenote's home."""


def recorded_profilers(options: RecordedOptions) -> tuple[str, ...]:
    """Returns what makes a race a profiling race, as `profilers` does; empty if it is not one."""
    profiler_names = profilers(options.telemetry, options.jvm_options, options.engine_variables)
    return tuple(dict.fromkeys((*profiler_names, *options.car_profilers)))
