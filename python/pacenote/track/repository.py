"""Track repositories: the default one, and those that the user has configured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from pacenote.errors import TrackError
from pacenote.repository import git_repository
from pacenote.repository.git_repository import Checkout, GitRepository, RepositoryKind
from pacenote.track.source import FolderRepository

DEFAULT_URL = "https://github.com/elastic/rally-tracks"

PUBLIC_TRACKS = (
    *("big5", "cohere_vector", "dense_vector", "elastic/apm", "elastic/endpoint", "elastic/logs"),
    *("elastic/security", "elser-ingest-speedtest", "eql", "esql", "geonames", "geopoint", "geopointshape"),
    *("geoshape", "github_archive", "has_privileges", "has_privileges_bystander", "http_logs", "joins"),
    *("k8s_metrics", "metricbeat", "msmarco-jina-10m-vector", "msmarco-passage-ranking"),
    *("msmarco-v2-vector", "nested", "noaa", "nyc_taxis", "openai_vector", "percolator", "pmc"),
    *("random_vector", "search/mteb/dbpedia", "so", "so_vector", "sql", "tsdb", "tsdb_k8s_queries"),
    *("wiki_en_cohere_vector_int8", "wikipedia"),
)
"""Known tracks at that URL, with which a name is compared before it is cloned. It may have more."""


def open_repository(
    name_or_url: str,
    urls: Mapping[str, str],
    home: Path,
    *,
    offline: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> GitRepository:
    """Returns the repository with this name or URL; `urls` is the configuration. Raises `UsageError` for
    other text.
    """
    kind = RepositoryKind("track", DEFAULT_URL, TrackError)
    repository = git_repository.open_repository(kind, name_or_url, urls, home)
    return dataclasses.replace(repository, offline=offline, progress=progress)


def tracks_of(checkout: Checkout) -> FolderRepository:
    """Returns the tracks of a revision."""
    return FolderRepository(checkout.root)
