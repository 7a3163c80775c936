"""The distributions that Pacenote can start, by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pacenote.errors import EngineError, UsageError
from pacenote.provision.distribution import Distribution
from pacenote.provision.elasticsearch import Elasticsearch
from pacenote.provision.opensearch import OpenSearch


def find_distribution(name: str, version: str) -> Distribution:
    """The distribution of that name that can assemble that version (empty: its default one).

    Raises UsageError for an unknown name, EngineError for a version that cannot be assembled, both with a way
    out.
    """
    known: dict[str, Distribution] = {each.name: each for each in (OpenSearch(), Elasticsearch())}
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise UsageError(
            f"unknown distribution '{name}'; Pacenote can start {_possible(known)}",
            hint=f"did you mean '{close[0]}'?"
            if close
            else "name a known one, or use --pipeline=benchmark-only",
        )
    found = known[name]
    if version and not found.supports(version):
        raise EngineError(
            f"{name} {version} cannot be started by Pacenote; it can start {_possible(known)}",
            hint="choose such a version, or start it yourself and use --pipeline=benchmark-only "
            "--target-hosts=HOST:PORT",
        )
    return found


_LAST_OPENSEARCH = 3


def implied_distribution(version: str) -> str:
    """The distribution that a version alone means: OpenSearch counts from 1 to 3, Elasticsearch is at 5 and
    above.
    """
    major = version.partition(".")[0]
    return "elasticsearch" if major.isdigit() and int(major) > _LAST_OPENSEARCH else "opensearch"


def _possible(known: Mapping[str, Distribution]) -> str:
    return "; ".join(f"{each.name} {each.supported_words()}" for each in known.values())
