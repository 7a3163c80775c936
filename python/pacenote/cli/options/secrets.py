"""The secrets among the options of a command, which its messages must not contain."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from pacenote.cli.console import Console

_PARAMS = ("track_params", "car_params", "plugin_params", "settings", "env", "user_tags")

_URLS = (
    *("target_hosts", "corpus_mirror", "maven_mirror", "archive_mirror", "distribution_archive"),
    "distributions",
    *("track_repository", "repository_urls", "team_repository", "team_urls"),
    *("source_path", "source_repository"),
)


def hide_option_secrets(options: argparse.Namespace, console: Console) -> None:
    """Makes the console hide the secrets of the options and of the environment."""
    given = vars(options)
    if given.get("reporting"):
        from pacenote.cli.options.metrics_store import hide_store_secrets

        hide_store_secrets(options, console)
    if not any(given.get(name) for name in (*_PARAMS, *_URLS, "jvm", "client_options")):
        return
    # Other commands need none of this.
    from pacenote.model.car_options import system_properties
    from pacenote.race.race_secrets import given_secrets

    params = [given.get(name) or {} for name in _PARAMS]
    params.append(system_properties(given.get("jvm") or ()))
    urls = (url for name in _URLS for url in _texts(given.get(name)))
    clients = given["client_options"].clusters.values() if given.get("client_options") else ()
    console.hide(given_secrets(params, urls, clients))


def _texts(value: object) -> Iterator[str]:
    """Yields the strings of an option's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
