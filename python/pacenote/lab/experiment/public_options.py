"""The options of races as they are shown: without secrets."""

from __future__ import annotations

import json

from pacenote.errors import UsageError
from pacenote.lab.experiment.options import arguments
from pacenote.model.experiment import Options
from pacenote.model.redaction import redact_given_options
from pacenote.model.secrets import REDACTED, redact, redact_urls
from pacenote.track.params import parse_dict

_TABLES = (
    *("track-params", "car-params", "plugin-params", "user-tags"),
    *("telemetry-params", "index-settings", "client-options"),
)
"""Options whose text is a table: `name:value,…`, JSON, or the name of a file."""


def public_arguments(options: Options) -> list[str]:
    """Returns the options as arguments of `pacenote race`, without secrets: those that their names show, what
    authenticates clients, and users and passwords of addresses. A table with a secret that is given as text
    becomes JSON.
    """
    public = redact_given_options({name: _readable(name, value) for name, value in options.items()})
    return [redact_urls(redact(argument, ())) for argument in arguments(public)]


def public_text(options: Options) -> str:
    """Returns the arguments of `public_arguments` in one line, as they are and not as a shell reads them."""
    return " ".join(public_arguments(options))


def _readable(name: str, value: object) -> object:
    """Returns the value of an option as a table if it is the text of one that has a secret; a text that is
    not a table is hidden. Files are not read.
    """
    if name not in _TABLES or not isinstance(value, str):
        return value
    try:
        table = parse_dict(value, "", read=lambda _: json.dumps({}))
    except UsageError:
        return REDACTED
    return value if redact_given_options({name: table}) == {name: table} else table
