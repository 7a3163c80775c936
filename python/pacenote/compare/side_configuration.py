"""What differs between the configurations of the races of one side of a comparison: they are then several
variants, whose differences would be taken for noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pacenote.model.comparison import ComparedRace
from pacenote.model.race_record import RaceRecord

_SHOWN_VALUES = 3


def mixed_configuration(races: Sequence[ComparedRace]) -> str:
    """Returns in what the races of a side differ, with the number of races of each value, or empty text.

    Only what the user chooses counts: engine, car, JVM options, and the revision and parameters of the track.
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
    cluster, options = record.cluster, record.options
    facts: Mapping[str, object] = {
        "engine": " ".join(part for part in (cluster.distribution, cluster.version) if part),
        "build flavor": cluster.flavor,
        "car": "+".join(record.car),
        "JVM options": " ".join(options.jvm_options),
        "track revision": record.track.revision,
    }
    yield from ((name, str(value)) for name, value in facts.items() if value)
    yield from ((f"car parameter {name}", str(value)) for name, value in record.car_params.items())
    yield from ((f"track parameter {name}", str(value)) for name, value in record.track.params.items())
