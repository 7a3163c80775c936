"""The options of a race as its record stores them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOptions:
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

    runtime_jdk: int | str | None = None
    """The major version of the JDK or `bundled`; None if it was not selected."""

    on_error: str | None = None
    """What a failed request did to the race; None if it was not selected."""

    samples: str = "auto"
    """Which individual samples were stored."""

    driver_threads: int = 0
    """Worker threads; 0 means one per core."""

    corpus: str | None = None
    """The selected source of data; None if it was not selected."""

    corpus_documents: int | None = None
    """The maximum number of generated documents of a corpus; None if it was not limited."""

    dataset_cache: str | None = None
    """The folder of data files, whose disk may be slow; None for the one in Pacenote's home."""
