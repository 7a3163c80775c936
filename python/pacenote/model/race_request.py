"""The options of one race, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Literal

from pacenote.model.client_options import AdditionalCluster, ClientOptions
from pacenote.model.data_options import StartConditions
from pacenote.model.engine_options import EngineOptions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.target_rate import MAX_SHORTFALL
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.model.track_request import BuildFlavor, TrackRequest

Pipeline = Literal["from-distribution", "from-sources", "docker", "benchmark-only"]
OnErrorChoice = Literal["continue", "continue-on-network", "abort"]
SamplesChoice = Literal["all", "none", "auto"]
CorpusChoice = Literal["declared", "as-is", "generated"]
SchedulingChoice = Literal["auto", "realtime", "normal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRequest:
    """One race, as requested on the command line; fields have the names of Rally's options."""

    race_id: str
    """The id of the race."""

    home: Path
    """Pacenote's home folder."""

    track: str | None = None
    """The name of the track, or None with `track_path`."""

    track_path: Path | None = None
    """The path of the track, or None with `track`."""

    track_repository: str | None = None
    """The repository of the track, or `bundled`; None means the one that `locate_track` selects."""

    track_revision: str | None = None
    """The revision of the repository; None selects the branch for the engine."""

    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of repositories by name; they may contain credentials."""

    rally_tracks: Path | None = None
    """The folder of Rally's clones of repositories, or None if there is none."""

    track_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the track; they may contain secrets."""

    allow_outside_paths: bool = False
    """Whether files of the track and its data may be outside of their folders."""

    ignore_unused_track_params: bool = False
    """Whether parameters that the track does not read are accepted."""

    owns_process: bool = False
    """Whether the process runs nothing but this race, so that the race may fork it."""

    challenge: str | None = None
    """The name of the challenge; None means the track's default."""

    include_tasks: tuple[str, ...] = ()
    """Filters of the tasks to run; empty with `exclude_tasks`."""

    exclude_tasks: tuple[str, ...] = ()
    """Filters of the tasks to exclude; empty with `include_tasks`."""

    test_mode: bool = False
    """Whether tasks run briefly and with little data."""

    enable_assertions: bool = False
    """Whether assertions of the track are checked."""

    build_flavor: BuildFlavor = "default"
    """The build flavor of the engine."""

    serverless_operator: bool | None = None
    """Whether the user operates the serverless cluster; None means that the cluster is asked."""

    pipeline: Pipeline = "from-distribution"
    """Whether Pacenote starts an engine or uses an existing cluster."""

    engine: EngineOptions = field(default_factory=EngineOptions)
    """The engine to start; it has no effect with an existing cluster."""

    index_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of all indices that the track creates, by their full names; they override those of the
    track.
    """

    target_hosts: tuple[str, ...] = field(default=(), repr=False)
    """Hosts of the cluster under test, empty unless specified; they may contain credentials."""

    client: ClientOptions = ClientOptions()
    """The options for connecting to the cluster."""

    additional_clusters: tuple[AdditionalCluster, ...] = ()
    """Further clusters that runners can use."""

    on_error: OnErrorChoice | None = None
    """What a failed request does to the race; None means that only a failed preparation ends it."""

    user_tags: Mapping[str, object] = field(default_factory=dict)
    """Tags of the race."""

    environment_name: str = "local"
    """The name of the environment of the race (Rally's `env.name`)."""

    max_error_rate: float = 0.01
    """The error rate above which the race is void, as a fraction from 0 to 1."""

    max_shortfall: float = MAX_SHORTFALL
    """By how much a task may miss its target rate before the race is suspect, as a fraction from 0 to 1."""

    seed: int = 42
    """Seed of data and schedules."""

    driver_threads: int = 0
    """Worker threads; 0 means one per core."""

    driver_cpus: tuple[int, ...] = ()
    """The CPUs that the driver may use; empty for all."""

    driver_scheduling: SchedulingChoice = "auto"
    """How the kernel schedules the threads that send requests."""

    samples: SamplesChoice = "auto"
    """Which individual samples are stored."""

    pacing: PacingOptions = field(default_factory=PacingOptions)
    """The pacing of tasks with a target rate."""

    corpus: CorpusChoice | None = None
    """Where data comes from; None means the declared corpus if it is available, otherwise another source that
    the track allows.
    """

    corpus_documents: int | None = None
    """The maximum number of generated documents of a corpus; None means the number in the track."""

    corpus_mirrors: tuple[str, ...] = field(default=(), repr=False)
    """Base URLs of data files that are tried before those of the track; they may contain credentials."""

    dataset_cache: Path | None = None
    """The folder of data files; None means the one in `home`."""

    effective_start: datetime | None = None
    """The recorded start time of the race; None means the actual one."""

    conditions: StartConditions = field(default_factory=StartConditions)
    """What happens between the start of the engine and the first task."""

    telemetry: TelemetryOptions = field(default_factory=TelemetryOptions)
    """The optional telemetry devices."""

    given_options: Mapping[str, object] = field(default_factory=dict, repr=False)
    """The options that the user has given, by name, as experiments have them; they may contain secrets."""

    dry_run: bool = False
    """Whether the plan is only described, not run."""

    offline: bool = False
    """Whether downloads are forbidden."""

    @property
    def data_root(self) -> Path:
        """The folder of data files."""
        return self.dataset_cache or self.own_data_root

    @property
    def own_data_root(self) -> Path:
        """The folder of data files in `home`."""
        return self.home / "corpora"

    def track_request(self, engine_version: str = "") -> TrackRequest:
        """Returns the request for the track; the version of the engine selects the branch of a repository."""
        shared = {
            option.name: getattr(self, option.name)
            for option in fields(TrackRequest)
            if hasattr(self, option.name)
        }
        return TrackRequest(**shared, engine_version=engine_version)
