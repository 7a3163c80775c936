"""Parameters whose value is a word that a template takes for true, although it says the opposite.

Rally reads only `true` and `false` as booleans. `no`, `off` and `'false'` are texts, and a text that is not
empty is true in a template, so that `{% if refresh %}` is met by `refresh:no`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from pacenote.cli.console import Console

_OPTIONS = ("track_params", "car_params", "plugin_params")
"""Options whose values templates read."""

_DENIALS = frozenset({"no", "off", "false"})


def warn_of_words(options: argparse.Namespace, console: Console) -> None:
    """Warns of the parameters with such a word. The words are not secret."""
    for option in _OPTIONS:
        params = getattr(options, option, None)
        for key, value in _denials(params) if isinstance(params, Mapping) else ():
            console.warning(
                f"--{option.replace('_', '-')}: {key} is the text '{value}', which templates take for "
                f"true, as in Rally; write {key}:false for the opposite"
            )


def _denials(params: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yields the keys and values of texts that deny something."""
    for key, value in params.items():
        if isinstance(value, str) and value.strip().lower() in _DENIALS:
            yield f"{prefix}{key}", value
        elif isinstance(value, Mapping):
            yield from _denials(value, f"{prefix}{key}.")
