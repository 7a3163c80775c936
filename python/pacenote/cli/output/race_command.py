"""The command line that runs a stored race again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from pacenote.cli.options.race_trust import unchecked_options, unchecked_text
from pacenote.cli.output.race_options import race_options
from pacenote.errors import UsageError
from pacenote.lab.experiment.options import arguments
from pacenote.model.race_record import RaceRecord
from pacenote.model.secrets import REDACTED
from pacenote.model.shell_command import shell_words
from pacenote.model.target_rate import MAX_SHORTFALL
from pacenote.track.params import parse_dict

_SIMPLE = re.compile(r"[\w.:,/=+-]{1,1000}")
_MAX_ERROR_RATE = 0.01
_WIDTH = 80
"""Length of a command from which on each option has a line of its own."""

CHECK_FIRST = "Check first:"
"""How the note begins on options that name code, programs, addresses or paths, of a race of someone else."""

_DEFAULTS: Mapping[str, Collection[object]] = {
    "pipeline": ("from-distribution",),
    "car": ("defaults", ["defaults"]),
    "data": ("fresh",),
}
"""What a race does without these options."""


def race_command(record: RaceRecord, program: str) -> tuple[str, tuple[str, ...]]:
    """Returns the command, and notes on what it does not repeat; without a command, the note says why."""
    if record.saturation is not None:
        return "", ("Not known: it is a search for the highest rate, by `saturate`.",)
    try:
        options = {**race_options(record), **dict(_further(record))}
    except UsageError as error:
        return "", (f"Not known: {error.message}.",)
    given = {
        name: _short(name, value) for name, value in options.items() if value not in _DEFAULTS.get(name, ())
    }
    words = [f"{program} race", *shell_words(arguments(given))]
    command = " ".join(words)
    unchecked = unchecked_text(f"race {record.race_id}", unchecked_options(options))
    if len(command) > _WIDTH:
        command = " \\\n  ".join(words)
    return command, (*([f"{CHECK_FIRST} {unchecked}."] if unchecked else []), *_notes(record, command))


def _short(name: str, value: object) -> object:
    """Returns the value of an option, a simple table as `k:v,k2:v2`."""
    if not isinstance(value, Mapping):
        return value
    text = ",".join(f"{key}:{item}" for key, item in value.items())
    # It would be read as the name of a file, which may be a pipe.
    if text.endswith(".json") or not _SIMPLE.fullmatch(text):
        return value
    try:
        return text if parse_dict(text, f"--{name}") == value else value
    except UsageError:
        return value


def _further(record: RaceRecord) -> Iterator[tuple[str, object]]:
    """Yields the options that a race has in any case, and, of a race of an earlier version, those that
    experiments set themselves.
    """
    options = record.options
    archive = options.distribution_archive or record.pipeline == "from-sources"
    if options.distribution is not None and record.cluster.version and not archive:
        yield "distribution-version", record.cluster.version
    yield "seed", record.seed
    if record.given_options is not None:
        return
    tags = {name: value for name, value in record.user_tags.items() if value is not None}
    for name, value in (
        ("test-mode", options.test_mode),
        ("enable-assertions", options.enable_assertions),
        ("telemetry", list(options.telemetry)),
        ("telemetry-params", dict(options.telemetry_params)),
        ("user-tags", ",".join(f"{key}:{value}" for key, value in tags.items())),
        ("max-error-rate", "" if record.max_error_rate == _MAX_ERROR_RATE else record.max_error_rate * 100),
        ("max-shortfall", "" if record.max_shortfall == MAX_SHORTFALL else record.max_shortfall * 100),
        ("samples", "" if options.samples == "auto" else options.samples),
    ):
        if value not in (False, "", [], {}, None):
            yield name, value


def _notes(record: RaceRecord, command: str) -> Iterator[str]:
    if REDACTED in command:
        yield f"Secrets were not stored: replace {REDACTED}."
    is_given = "client-options" in (record.given_options or {})
    if not is_given and (record.client.authentication != "none" or record.client.tls):
        yield "Add --client-options: how the driver authenticated itself is not stored."
    if record.track.revision:
        yield f"The track was at revision {record.track.revision[:12]}."
    if record.options.track_path is not None:
        yield f"The track is in the folder {record.options.track_path}."
