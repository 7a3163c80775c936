"""What differs between the configurations of the races of one side of a comparison: they are then several
variants, whose differences would be taken for noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pacenote.compare.pairing import HALF_TAG
from pacenote.model.codec import encode
from pacenote.model.comparison import ComparedRace
from pacenote.model.driving_options import driving_options, target_text
from pacenote.model.pacing_options import WARMUP_DRAIN
from pacenote.model.race_record import RaceRecord
from pacenote.model.user_tags import tag_texts

_SHOWN_VALUES = 3

_SAID_OTHERWISE = frozenset({
    # The record of the track has its actual revision, and that of the cluster the version of the engine.
    *("track_path", "track_repository", "track_revision"),
    *("distribution", "distribution_version", "distribution_repository", "build_flavor"),
    # The same sources, cars or data files may be in several folders.
    *("source_path", "team_path", "team_repository", "dataset_cache"),
    # Findings say that these differ.
    *("test_mode", "driver_scheduling", "car_profilers"),
})
"""Recorded options that do not belong to the configuration, or that are compared separately."""

_NAMES = {
    "settings": "setting",
    "jvm_options": "JVM options",
    "runtime_jdk": "runtime JDK",
    "driver_cpus": "driver CPUs",
    "cooldown_s": "cooldown in seconds",
    "revision": "source revision",
    "team_revision": "revision of the cars",
    "engine_variables": "engine variable",
    "plugin_params": "plugin parameter",
    "telemetry_params": "telemetry parameter",
}
"""Names of recorded options in messages, if they are not those of their fields; of mappings, what precedes
the name of an entry.
"""

_OF_HALVES = ("driver_cpus", "nodes cpus")
"""What each half of a machine has of its own."""


def mixed_configuration(races: Sequence[ComparedRace]) -> str:
    """Returns in what the races of a side differ, with the number of races of each value, or empty text.

    Only what the user chooses counts: engine, car, the options of the race, its pacing, connections and
    target rates, and the revision and parameters of the track. Races that took turns at the halves of a
    machine may have other CPUs.
    """
    every = [dict(_facts(race.record)) for race in races]
    names = dict.fromkeys(name for facts in every for name in facts)
    texts = []
    for name in names:
        values = Counter(facts.get(name, "not set") for facts in every)
        if len(values) > 1:
            shown = [f"{value} ({count})" for value, count in values.most_common(_SHOWN_VALUES)]
            more = [f"{len(values) - _SHOWN_VALUES} more"] if len(values) > _SHOWN_VALUES else []
            texts.append(f"{name}: {', '.join([*shown, *more])}")
    return "; ".join(texts)


def _facts(record: RaceRecord) -> Iterator[tuple[str, str]]:
    """Yields the facts of a race that are known."""
    cluster = record.cluster
    facts: Mapping[str, object] = {
        "engine": " ".join(part for part in (cluster.distribution, cluster.version) if part),
        "build flavor": cluster.flavor,
        "build hash": cluster.build_hash,
        "car": "+".join(record.car),
        "pipeline": record.pipeline,
        "track revision": record.track.revision,
    }
    yield from ((name, str(value)) for name, value in facts.items() if value)
    yield from ((f"car parameter {name}", str(value)) for name, value in record.car_params.items())
    yield from ((f"track parameter {name}", str(value)) for name, value in record.track.params.items())
    yield from _options(record)
    yield from ((name, text) for name, text in driving_options(record).items() if name != WARMUP_DRAIN)
    # Arrivals that an option chooses are named as such.
    of_track = record.pacing.arrivals is None
    for name, target in record.targets.items():
        yield f"target rate of {name}", target_text(target, with_arrivals=of_track)


def _options(record: RaceRecord) -> Iterator[tuple[str, str]]:
    """Yields the recorded options that are set."""
    is_half = HALF_TAG in tag_texts(record.user_tags)
    for key, value in encode(record.options).items():
        name = _NAMES.get(key, key.replace("_", " "))
        if key in _SAID_OTHERWISE:
            continue
        if not isinstance(value, Mapping):
            if value not in (None, (), [], "") and not (is_half and key in _OF_HALVES):
                yield name, " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            continue
        for part, own in value.items():
            if own not in (None, (), [], "") and not (is_half and f"{key} {part}" in _OF_HALVES):
                yield f"{name} {part.replace('_', ' ') if key == 'nodes' else part}", str(own)
