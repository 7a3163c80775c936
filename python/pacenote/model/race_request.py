"""What the user asked for, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Literal

from pacenote.model.client_options import AdditionalCluster, ClientOptions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track_request import BuildFlavor, TrackRequest

Pipeline = Literal["from-distribution", "benchmark-only"]
OnErrorChoice = Literal["continue", "continue-on-network", "abort"]
SamplesChoice = Literal["all", "none", "auto"]
CorpusChoice = Literal["declared", "as-is", "generated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRequest:
    """One race, as asked for on the command line; fields are Rally's options of the same name.

    `track` is a name, or else `track_path` is set. `track_repository` None looks among the tracks that come
    along first, then in the repository `default`; `repository_urls` says where repositories are, by name.
    `challenge` None means the track's default. At most one of `include_tasks` and `exclude_tasks` is set.
    `target_hosts` is empty unless given; they may hold credentials, so they are never printed or stored.
    `client` says how they are talked to; `others` are clusters beside them. `runtime_jdk` None leaves the
    choice to the provisioner. `corpus` None means: the declared corpus if it is there, otherwise what the
    race decides; `corpus_documents` is how many documents of a corpus are generated at most;
    `corpus_mirrors` are tried before the track's own addresses.
    `max_error_rate` is a share (0 to 1). `driver_threads` 0 is one per core. `samples` says which samples are
    kept one by one. `home` is Pacenote's home
    folder, `dataset_cache` the folder of data files if it is not in there. `offline` downloads nothing.
    `maven_mirror` is where artifacts are downloaded from in place of Maven Central; the address may hold
    credentials.
    `effective_start` is the time the race is said to have begun at, None for when it did.
    """

    race_id: str
    home: Path
    track: str | None = None
    track_path: Path | None = None
    track_repository: str | None = None
    track_revision: str | None = None
    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    track_params: Mapping[str, object] = field(default_factory=dict)
    ignore_unused_track_params: bool = False
    challenge: str | None = None
    include_tasks: tuple[str, ...] = ()
    exclude_tasks: tuple[str, ...] = ()
    test_mode: bool = False
    enable_assertions: bool = False
    build_flavor: BuildFlavor = "default"
    serverless_operator: bool = False
    pipeline: Pipeline = "from-distribution"
    distribution: str = "opensearch"
    distribution_version: str = "3.3.0"
    car: tuple[str, ...] = ("defaults",)
    car_params: Mapping[str, object] = field(default_factory=dict)
    runtime_jdk: int | Literal["bundled"] | None = None
    target_hosts: tuple[str, ...] = field(default=(), repr=False)
    client: ClientOptions = ClientOptions()
    additional_clusters: tuple[AdditionalCluster, ...] = ()
    on_error: OnErrorChoice = "continue"
    user_tags: Mapping[str, str] = field(default_factory=dict)
    max_error_rate: float = 0.01
    seed: int = 42
    driver_threads: int = 0
    samples: SamplesChoice = "auto"
    pacing: PacingOptions = field(default_factory=PacingOptions)
    corpus: CorpusChoice | None = None
    corpus_documents: int | None = None
    corpus_mirrors: tuple[str, ...] = field(default=(), repr=False)
    dataset_cache: Path | None = None
    effective_start: datetime | None = None
    dry_run: bool = False
    preserve_install: bool = False
    offline: bool = False
    maven_mirror: str | None = field(default=None, repr=False)

    def track_request(self, engine_version: str = "") -> TrackRequest:
        """What of it is about the track; the version of the engine chooses the branch of a repository."""
        shared = {
            one.name: getattr(self, one.name) for one in fields(TrackRequest) if hasattr(self, one.name)
        }
        return TrackRequest(**shared, engine_version=engine_version)
