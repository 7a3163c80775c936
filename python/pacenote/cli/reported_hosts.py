"""What the nodes of a stored race report about their hosts: hosts that are not sampled, and the cluster."""

from __future__ import annotations

from pathlib import Path

from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.engine_host_facts import add_engine_host_figures
from pacenote.diagnose.facts import EvidenceBuilder
from pacenote.errors import PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.model.reported_cpu import nodes_beside
from pacenote.model.sampler_facts import SamplerFacts, sampler_facts
from pacenote.model.snapshot import RaceSnapshot


def add_reported_hosts(
    builder: EvidenceBuilder, record: RaceRecord, snapshot: RaceSnapshot | None, folder: Path
) -> None:
    """Adds these figures; the configuration has been added. A file that cannot be read adds nothing."""
    from pacenote.race.telemetry_values import telemetry_cuts  # Slow to import.

    try:
        cuts = telemetry_cuts(folder / "telemetry.parquet")
    except PacenoteError:
        return  # That is the reason why the node counters are missing.
    sampled = (sampler_facts(record.telemetry) or SamplerFacts()).nodes
    add_engine_host_figures(builder, cuts, sampled, nodes_beside(record.cluster.nodes))
    parts = (snapshot.before, snapshot.after) if snapshot is not None else ()
    facts = {key: value for part in parts if part is not None for key, value in part.facts.items()}
    add_cluster_states(builder, cuts, facts)
