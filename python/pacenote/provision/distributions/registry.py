"""The distributions that Pacenote can start, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from pacenote.errors import EngineError, UsageError
from pacenote.model.engine import engine_of_version
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.elasticsearch import Elasticsearch
from pacenote.provision.distributions.elasticsearch_core import ElasticsearchCore
from pacenote.provision.distributions.opensearch import OpenSearch
from pacenote.provision.distributions.opensearch_2 import OpenSearch2
from pacenote.provision.engine_lock import packaged_versions

DESCRIPTIONS: tuple[Distribution, ...] = (OpenSearch(), OpenSearch2(), Elasticsearch(), ElasticsearchCore())
"""All descriptions; each supports other versions. A new one is added here."""

DISTRIBUTIONS: Mapping[str, Distribution] = {
    description.name: description for description in reversed(DESCRIPTIONS)
}
"""The first description of each engine, which has its default version, by the name of the engine."""

_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?!\d)")


def find_distribution(name: str, version: str) -> Distribution:
    """Returns the distribution with this name.

    `version` is the one to start; it is empty for the default one. Raises UsageError for an unknown name and
    an incomplete version, EngineError for a version that cannot be assembled.
    """
    if name not in DISTRIBUTIONS:
        close = get_close_matches(name, DISTRIBUTIONS, n=1)
        raise UsageError(
            f"unknown distribution '{name}'; Pacenote can start {_supported()}",
            hint=f"did you mean '{close[0]}'?"
            if close
            else "name a known one, or use --pipeline=benchmark-only",
        )
    if not version:
        return DISTRIBUTIONS[name]
    if not _VERSION.match(version):
        raise UsageError(
            f"'{version}' is not a complete version of {name}",
            hint=f"give all three numbers, for example {_complete(name, version)}",
        )
    distribution = next(
        (
            description
            for description in DESCRIPTIONS
            if description.name == name and description.supports(version)
        ),
        None,
    )
    if distribution is None:
        raise EngineError(
            f"{name} {version} cannot be started by Pacenote; it can start {_supported()}",
            hint="choose one of these or, as an official archive, another version from Elasticsearch 7 or "
            "OpenSearch 1 on; or start the engine yourself and use --pipeline=benchmark-only",
        )
    return distribution


def default_version(name: str) -> str:
    """Returns the version of a distribution that is started if none is specified.

    Raises UsageError if it is unknown.
    """
    return find_distribution(name, "").default_version


def implied_distribution(version: str) -> str:
    """Returns the name of the distribution that a version without a name belongs to.

    It is the one that Pacenote can start in this version, otherwise the engine with this major version.
    """
    startable = (
        description.name for description in DESCRIPTIONS if version and description.supports(version)
    )
    return next(startable, engine_of_version(version))


def _complete(name: str, begin: str) -> str:
    """Returns a known version of a distribution that begins like an incomplete one, or the default."""
    default = DISTRIBUTIONS[name].default_version
    known = (default, *packaged_versions(name))
    return next((version for version in known if version.startswith(f"{begin.rstrip('.')}.")), default)


def _supported() -> str:
    return "; ".join(f"{description.name} {description.supported_versions()}" for description in DESCRIPTIONS)
