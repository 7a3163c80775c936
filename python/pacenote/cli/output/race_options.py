"""The options that repeat a stored race, from its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pacenote.errors import UsageError
from pacenote.lab.experiment.options import RESERVED
from pacenote.model.node_options import NodeOptions
from pacenote.model.race_record import RaceRecord

NOT_REPEATED = frozenset({
    *RESERVED,
    *("html", "metrics-store", "trust"),
    *("kill-running-processes", "skip-rest-api-check"),
})
"""Options that do not affect what a race does, and those that a repeated race has its own values of."""


def race_options(record: RaceRecord) -> dict[str, object]:
    """Returns the options that repeat a race, except its seed and what only changes its output. Raises
    UsageError for a race whose options are not known.
    """
    if record.imported is not None:
        raise UsageError(f"race {record.race_id} was imported: the options to repeat it are not known")
    if record.given_options is not None:
        return {name: value for name, value in record.given_options.items() if name not in NOT_REPEATED}
    # Races of earlier versions have no such options.
    options = {
        **dict(_track_options(record)),
        **dict(_engine_options(record)),
        **dict(_other_options(record)),
    }
    return {name: value for name, value in options.items() if value not in (None, "", (), [], {})}


def _track_options(record: RaceRecord) -> Iterator[tuple[str, object]]:
    options = record.options
    yield ("track", record.track.name) if options.track_path is None else ("track-path", options.track_path)
    yield "track-repository", options.track_repository
    yield "track-revision", options.track_revision
    yield "challenge", record.challenge
    yield "track-params", dict(record.track.params)
    yield "include-tasks", list(options.include_tasks)
    yield "exclude-tasks", list(options.exclude_tasks)
    yield "corpus", options.corpus
    yield "corpus-documents", options.corpus_documents
    yield "dataset-cache", options.dataset_cache


def _engine_options(record: RaceRecord) -> Iterator[tuple[str, object]]:
    options = record.options
    yield "pipeline", record.pipeline
    if not record.cluster.started_nodes:
        yield "target-hosts", list(record.client.hosts)
        yield "set", _pairs(options.settings)
        return
    yield "distribution", options.distribution
    yield "distribution-version", options.distribution_version
    yield "distribution-repository", options.distribution_repository
    yield "distribution-archive", options.distribution_archive
    yield "runtime-jdk", options.runtime_jdk
    yield "revision", options.revision
    yield "source-path", options.source_path
    yield "team-path", options.team_path
    yield "team-repository", options.team_repository
    yield "team-revision", options.team_revision
    yield "car", list(record.car)
    yield "car-params", dict(record.car_params)
    yield "elasticsearch-plugins", list(options.plugins)
    yield "plugin-params", dict(options.plugin_params)
    yield "set", _pairs(options.settings)
    yield "jvm", list(options.jvm_options)
    yield "env", _pairs(options.engine_variables)
    yield "data", options.data
    yield "caches", options.caches
    if options.nodes is not None:
        yield from _node_options(options.nodes)


def _node_options(nodes: NodeOptions) -> Iterator[tuple[str, object]]:
    """Yields the options of the nodes. Raises UsageError for nodes with roles."""
    if any(group.roles is not None for group in nodes.groups):
        raise UsageError(
            "an experiment for nodes with roles is not written",
            hint="`pacenote experiment init` writes a file to fill in",
        )
    if nodes.count > 1:
        yield "nodes", str(nodes.count)
    yield "node-memory", str(nodes.limits.memory) if nodes.limits.memory else None
    yield "node-cpu-limit", nodes.limits.cpus


def _other_options(record: RaceRecord) -> Iterator[tuple[str, object]]:
    options = record.options
    yield "on-error", options.on_error
    yield "driver-cpus", options.driver_cpus
    yield "driver-threads", options.driver_threads or None
    yield "driver-scheduling", options.driver_scheduling if options.driver_scheduling != "auto" else None
    pacing = record.pacing
    yield "open-loop", pacing.open_loop or None
    yield "max-connections", pacing.max_connections
    yield "arrivals", pacing.arrivals
    yield "warmup-drain", pacing.warmup_drain or None


def _pairs(table: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in table.items()]
