"""The distributions that Pacenote can start, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from pacenote.errors import EngineError, UsageError
from pacenote.model.engine import engine_of_version
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.elasticsearch import Elasticsearch
from pacenote.provision.distributions.opensearch import OpenSearch

DISTRIBUTIONS: Mapping[str, Distribution] = {each.name: each for each in (OpenSearch(), Elasticsearch())}
"""All distributions by name; a new distribution is added here."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def find_distribution(name: str, version: str) -> Distribution:
    """Returns the distribution with this name.

    `version` is the one to start; it is empty for the default one. Raises UsageError for an unknown name and
    an incomplete version, EngineError for a version that cannot be assembled.
    """
    if name not in DISTRIBUTIONS:
        close = get_close_matches(name, DISTRIBUTIONS, n=1)
        raise UsageError(
            f"unknown distribution '{name}'; Pacenote can start {_supported(DISTRIBUTIONS)}",
            hint=f"did you mean '{close[0]}'?"
            if close
            else "name a known one, or use --pipeline=benchmark-only",
        )
    found = DISTRIBUTIONS[name]
    if version and not _VERSION.match(version):
        raise UsageError(
            f"'{version}' is not a complete version of {name}",
            hint=f"give all three numbers, for example {found.default_version}",
        )
    if version and not found.supports(version):
        raise EngineError(
            f"{name} {version} cannot be started by Pacenote; it can start {_supported(DISTRIBUTIONS)}",
            hint="choose one of these, or start the engine yourself and use --pipeline=benchmark-only "
            "--target-hosts=HOST:PORT",
        )
    return found


def default_version(name: str) -> str:
    """Returns the version of a distribution that is started if none is specified.

    Raises UsageError if it is unknown.
    """
    return find_distribution(name, "").default_version


def implied_distribution(version: str) -> str:
    """Returns the name of the distribution that a version without a name belongs to.

    It is the one that Pacenote can start in this version, otherwise the engine with this major version.
    """
    startable = (each.name for each in DISTRIBUTIONS.values() if version and each.supports(version))
    return next(startable, engine_of_version(version))


def _supported(distributions: Mapping[str, Distribution]) -> str:
    return "; ".join(f"{each.name} {each.supported_versions()}" for each in distributions.values())
