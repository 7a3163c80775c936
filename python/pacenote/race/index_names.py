"""The indices behind the names in bulks: aliases, data streams, and names that contain a date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.model.engine import GetJson
from pacenote.net.reply import FailedStatus
from pacenote.race.document_counts import CheckStopped
from pacenote.units import format_count

_PIPELINE_SETTINGS = ("index.default_pipeline", "index.final_pipeline")

_MAX_INDICES = 1_000
"""Indices of a name, at most: each is counted with requests of its own."""

_MAX_NAME_BYTES = 255
"""Bytes of the name of an index, at most, as in the engines."""

NO_PIPELINE = "_none"
"""The name in requests and settings that stands for no pipeline."""


class ResolvedName(Struct, frozen=True):
    """What the engine writes documents to that are sent under one name."""

    indices: frozenset[str]
    """The name itself, or the indices of an alias or a data stream."""

    pipelines: frozenset[str] = frozenset()
    """The ingest pipelines in the settings of the indices, which templates may have set."""

    is_known: bool = False
    """Whether the engine has named the indices, or that there are none."""

    problem: str = ""
    """Which limit of Pacenote prevents that the indices are counted; empty if none does."""

    def is_index(self, name: str) -> bool:
        """Returns whether the name is that of an index itself, not of an alias or a data stream."""
        return self.is_known and self.indices == {name}


def resolve_names(get: GetJson, names: Iterable[str]) -> dict[str, ResolvedName]:
    """Returns what each name refers to now.

    A name whose settings cannot be read, for example without the privilege, refers to itself.
    Raises CheckStopped.
    """
    return {name: _resolve(get, name) for name in names}


def depends_on_date(name: str) -> bool:
    """Returns whether the engine computes the index of a name from the date, as for `<logs-{now/d}>`: a later
    request may then refer to another index.
    """
    return name.startswith("<") and name.endswith(">")


def _resolve(get: GetJson, name: str) -> ResolvedName:
    try:
        settings = _settings(get(f"/{quote(name, safe='')}/_settings?flat_settings=true"))
    except CheckStopped:
        raise
    except PacenoteError as error:
        is_missing = isinstance(error, FailedStatus) and error.is_not_found
        return ResolvedName(frozenset((name,)), is_known=is_missing)
    values = (setting.get(key) for setting in settings.values() for key in _PIPELINE_SETTINGS)
    pipelines = {value for value in values if isinstance(value, str)} - {"", NO_PIPELINE}
    if problem := _limit_problem(settings):
        return ResolvedName(frozenset((name,)), frozenset(pipelines), problem=problem)
    return ResolvedName(frozenset(settings) or frozenset((name,)), frozenset(pipelines), bool(settings))


def _limit_problem(indices: Mapping[str, object]) -> str:
    """Returns why indices are not counted; empty if they are."""
    if len(indices) > _MAX_INDICES:
        number = format_count(len(indices), "index", "indices")
        return f"it refers to {number}, and Pacenote counts at most {_MAX_INDICES:,}"
    if any(_is_too_long(index) for index in indices):
        return f"the engine names an index of more than {_MAX_NAME_BYTES} bytes"
    return ""


def _is_too_long(name: str) -> bool:
    # Each character has at least one byte.
    return len(name[: _MAX_NAME_BYTES + 1].encode("utf-8", "surrogatepass")) > _MAX_NAME_BYTES


def _settings(reply: object) -> dict[str, Mapping[str, Any]]:
    """Returns the settings in a reply by index."""
    settings_by_index = {}
    for index, entry in reply.items() if isinstance(reply, Mapping) else ():
        settings = entry.get("settings") if isinstance(entry, Mapping) else None
        if isinstance(settings, Mapping):
            settings_by_index[index] = settings
    return settings_by_index
