"""Reads of `race.json` what lists show, several times as fast as the whole record.

The whole document is checked, but only what lists show becomes Python objects of the record.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pacenote.errors import PacenoteError
from pacenote.model.codec import field_types
from pacenote.model.race_record import (
    FORMAT_VERSION,
    STORED_FIELDS,
    Environment,
    RaceRecord,
    RecordedCluster,
    RecordedTrack,
    Verdict,
)
from pacenote.model.race_time import parse_timestamp
from pacenote.model.result import check_result
from pacenote.model.strict_types import strict_fields, strict_type
from pacenote.model.system_metrics import SystemMetrics

if TYPE_CHECKING:
    from msgspec.json import Decoder

_FOR_RALLY = ("@timestamp", "rally-version", "rally-revision", "multi-cluster", "plugin-params")
"""Keys of `race.json` that are not read."""

_SHOWN = ("challenge", "car", "user_tags", "unreported", "aborted", "interrupted", "complete")
"""Fields of the record that are shown as they are stored, or decide about what is shown."""

_HEADLINE = ("tasks", "saturation", "imported")
"""Fields of the record with objects from which the headline is made."""


def listed_record(data: bytes) -> RaceRecord | None:
    """Returns a race with the fields that lists show, and that `headline` and `race_state` read; the others
    have their defaults.

    Returns None if `RaceRecord.from_document` has to decide whether `data` are a race: if they are damaged,
    or have a form that only older versions wrote.
    """
    import msgspec

    try:
        stored = _all_decoder().decode(data)
        headline = _headline_decoder().decode(data)
        timestamp = parse_timestamp(stored.race_timestamp)
        for task in headline.tasks or ():
            check_result(task, "race.tasks")
    except (msgspec.MsgspecError, PacenoteError, ValueError, RecursionError):
        return None
    if not 1 <= stored.format <= FORMAT_VERSION:
        return None
    given = {name: value for name in _SHOWN if (value := getattr(stored, name)) is not None}
    given |= {name: value for name in _HEADLINE if (value := getattr(headline, name)) is not None}
    cluster = stored.cluster
    return RaceRecord(
        **given,
        race_id=stored.race_id,
        timestamp=timestamp,
        track=RecordedTrack(stored.track, stored.track_revision),
        cluster=RecordedCluster(cluster.distribution, cluster.version, build_hash=cluster.build_hash)
        if cluster
        else RecordedCluster(),
        verdict=Verdict(stored.verdict.state),
    )


@functools.cache
def _all_decoder() -> Decoder[Any]:
    """Returns what reads the whole document strictly."""
    types = field_types(RaceRecord)
    stored = {name: (key, strict_type(types[name])) for key, name in STORED_FIELDS}
    required: Mapping[str, tuple[str, Any]] = {
        "race_id": stored.pop("race_id"),
        "format": ("format", int),
        "race_timestamp": ("race-timestamp", str),
        "track": ("track", str),
        "verdict": (
            "verdict",
            _struct("Verdict", [*strict_fields(Verdict), ("reasons", tuple[str, ...], ())]),
        ),
    }
    keys = {
        **stored,
        **{key.replace("-", "_").lstrip("@"): (key, Any) for key in _FOR_RALLY},
        "track_revision": ("track-revision", str | None),
        "track_params": ("track-params", dict[str, Any]),
        "cluster": ("cluster", _cluster_type()),
        "environment": ("environment", str),
        "system": ("system", _struct("System", [f for f in strict_fields(Environment) if f[0] != "name"])),
        "results": ("results", _results_type()),
    }
    fields = [(name, kind) for name, (_, kind) in required.items()]
    optional = [(name, kind, None) for name, (_, kind) in keys.items()]
    renamed = {name: key for name, (key, _) in (*required.items(), *keys.items())}
    return _decoder(_struct("Race", [*fields, *optional], renamed))


@functools.cache
def _headline_decoder() -> Decoder[Any]:
    """Returns what reads the objects from which the headline is made, without a check."""
    types = field_types(RaceRecord)
    from msgspec import defstruct

    return _decoder(defstruct("Headline", [(name, types[name], None) for name in _HEADLINE]))


def _cluster_type() -> type:
    renamed = {"version": "distribution-version", "flavor": "distribution-flavor", "build_hash": "revision"}
    fields = [*strict_fields(RecordedCluster), ("team_revision", Any, None)]
    return _struct("Cluster", fields, renamed | {"team_revision": "team-revision"})


def _results_type() -> type:
    return _struct("Results", [*strict_fields(SystemMetrics), ("op_metrics", Any, None)])


def _struct(name: str, fields: list[Any], renamed: Mapping[str, str] | None = None) -> type:
    from msgspec import defstruct

    return defstruct(name, fields, kw_only=True, forbid_unknown_fields=True, rename=renamed)


def _decoder(kind: type) -> Decoder[Any]:
    import msgspec

    return msgspec.json.Decoder(kind)
