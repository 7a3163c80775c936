"""Pipelines, and the options that select the engine to install, shared by several commands."""

from __future__ import annotations

from typing import Any, Literal

from pacenote.errors import UsageError

PIPELINES = {
    "from-distribution": "assemble and start an engine on this host, race, stop it",
    "benchmark-only": "race against an existing cluster",
}
"""Pipelines and their descriptions."""

UNAVAILABLE_PIPELINES = {
    "from-sources": "Pacenote does not build engines; from-distribution starts a released one",
    "docker": "start the container yourself, and use benchmark-only with --target-hosts",
}
"""Pipelines of Rally that Pacenote does not have, with what to do instead."""


def selected_engine(distribution: str | None, version: str | None) -> dict[str, Any]:
    """Returns the engine by field of the request.

    An option that is missing follows from the other one; the result is empty if both are. Raises UsageError
    for an unknown distribution.
    """
    if not distribution and not version:
        return {}
    from pacenote.provision.distributions.registry import default_version, implied_distribution

    distribution = distribution or implied_distribution(version or "")
    version = version or default_version(distribution)
    return {"distribution": distribution, "distribution_version": version}


def jdk(text: str) -> int | Literal["bundled"]:
    """Returns `--runtime-jdk`: a major version or `bundled`. Raises UsageError."""
    if text == "bundled":
        return "bundled"
    if not text.isdigit():
        raise UsageError(f"--runtime-jdk must be a major version such as 21, or 'bundled', not '{text}'")
    return int(text)
