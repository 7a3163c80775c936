"""Checks that all indices have the settings that the user or a car has set for them.

The settings are written into the requests that create indices and templates (`operations/index_settings.py`).
An index that is created in another way, such as by its first document, does not have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pacenote.errors import EngineError
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import shortened
from pacenote.net.reply import expected_form

_PATH = "/_all/_settings?flat_settings=true&expand_wildcards=open"
_MAX_NAMED = 3

_MAX_SHOWN = 300
"""Characters of the name of an index that are shown; engines accept names of 255 bytes."""


def check_index_settings(wanted: Mapping[str, object], get: Callable[[str], Any]) -> tuple[str, ...]:
    """Returns a warning for each setting that an index lacks. `get` reads a path of the engine."""
    if not wanted:
        return ()
    try:
        indices = get(_PATH)
        with expected_form("the settings of its indices"):
            by_index = {name: dict(body["settings"]) for name, body in indices.items() if name[0] != "."}
    except EngineError as error:
        return (f"whether all indices have {', '.join(wanted)} is not known: {error.message}",)
    warnings = []
    for setting, value in wanted.items():
        lacking = [name for name, settings in by_index.items() if settings.get(setting) != value]
        if lacking:
            # A server may report names of any length.
            named = list_with_rest([shortened(name, _MAX_SHOWN) for name in lacking], _MAX_NAMED)
            warnings.append(f"{setting} is not {value} in {named}: no operation of the track created it")
    return tuple(warnings)
