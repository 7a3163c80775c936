"""Configured defaults of options: `pacenote.toml` in the current folder or the home, Rally's `rally.ini`.

A flag overrides the file in the current folder, which overrides the file in the home, which overrides
`rally.ini`, which overrides the built-in defaults.

    offline = true                      # applies to every command with this option; no dashes

    [race]                              # options of one command
    distribution-version = "2.19.4"
    track-params = {bulk_size = 5000}

    [tracks]                            # URLs of track repositories; [teams] has those of team repositories
    mine.url = "https://example.org/tracks.git"

    [distributions]                     # addresses of official archives, with Rally's keys
    mine.url = "https://example.org/elasticsearch-{{VERSION}}-{{OSNAME}}-{{ARCH}}.tar.gz"

    [reporting]                         # the metrics store, with Rally's keys
    datastore.type = "elasticsearch"
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacenote.cli.configured_option import ConfiguredOption, read_configuration_file
from pacenote.cli.parser import Parser, similar
from pacenote.cli.rally_ini import RallySettings, read_rally_settings
from pacenote.errors import UsageError
from pacenote.model.decoding import parse_toml

FILE = "pacenote.toml"

_HERE = Path()

_TRACKS = "tracks"
_TEAMS = "teams"
_DISTRIBUTIONS = "distributions"
_REPORTING = "reporting"

EXCLUDES = {
    "track": ("track-path",),
    "track-repository": ("track-path",),
    "track-revision": ("track-path",),
    "track-path": ("track", "track-repository", "track-revision"),
    "team-repository": ("team-path",),
    "team-revision": ("team-path",),
    "team-path": ("team-repository", "team-revision"),
    "include-tasks": ("exclude-tasks",),
    "exclude-tasks": ("include-tasks",),
}
"""For each option, the options that it excludes. A flag removes excluded options of all files, the file in
the current folder those of the file in the home.
"""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configured options of one command."""

    options: Mapping[str, ConfiguredOption] = field(default_factory=dict)
    """Options by name without dashes."""

    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of track repositories by name; a URL may contain credentials."""

    team_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of team repositories by name; a URL may contain credentials."""

    distributions: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The section `[distributions]`, with the addresses of archives and plugins, which may contain
    credentials.
    """

    reporting: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The section `[reporting]`, with the metrics store and its credentials, by Rally's keys."""

    rally: RallySettings = field(default_factory=RallySettings)
    """What Rally's own configuration contributes to them."""


def read_configuration(
    command: str,
    commands: Collection[str],
    home: Path,
    rally_name: str | None = None,
    *,
    folder: Path = _HERE,
) -> Configuration:
    """Reads the configuration of a command that runs in a folder; `rally_name` selects `rally-NAME.ini`.

    Raises UsageError for a file that cannot be read, and for unknown or invalid keys.
    """
    rally = read_rally_settings(rally_name)
    options = dict(rally.options)
    urls, team_urls = dict(rally.repository_urls), dict(rally.team_urls)
    distributions, reporting = dict(rally.distributions), dict(rally.reporting)
    for file in dict.fromkeys(((home / FILE).absolute(), (folder / FILE).absolute())):
        document = _toml(file)
        urls |= _urls(document.pop(_TRACKS, {}), file, _TRACKS)
        team_urls |= _urls(document.pop(_TEAMS, {}), file, _TEAMS)
        distributions |= _flat(document.pop(_DISTRIBUTIONS, {}), file, _DISTRIBUTIONS)
        reporting |= _flat(document.pop(_REPORTING, {}), file, _REPORTING)
        overriding = dict(_options(document, command, commands, file))
        for name in overriding:
            for excluded in EXCLUDES.get(name, ()):
                options.pop(excluded, None)
        options |= overriding
    return Configuration(options, urls, team_urls, distributions, reporting, rally)


def apply_configuration(configuration: Configuration, parser: Parser, arguments: Sequence[str]) -> None:
    """Makes configured values the defaults of the parser. Raises UsageError for invalid values."""
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    given = {flag.removeprefix("--") for flag in flags}
    excluded = {name for flag in given for name in EXCLUDES.get(flag, ())}
    from_rally = []
    for name, setting in configuration.options.items():
        if name in excluded:
            continue
        if parser.has_option(f"--{name}"):
            changed = parser.configure(f"--{name}", setting.value, setting.origin)
            overridden = not given.isdisjoint((name, f"no-{name}"))
            if changed and not overridden and configuration.rally.options.get(name) is setting:
                from_rally.append(_as_typed(name, setting.value))
        elif setting.strict:
            hint = similar(name, parser.option_names()) or f"see `{parser.prog} --help`"
            raise UsageError(f"{setting.origin}: `{parser.prog}` has no option {name}", hint=hint)
    parser.set_defaults(
        repository_urls=configuration.repository_urls,
        distributions=configuration.distributions,
        reporting=configuration.reporting,
        configured_environment=_environment(configuration.options),
        rally=configuration.rally,
        rally_options=tuple(sorted(from_rally)),
        rally_tracks=configuration.rally.tracks,
        team_urls=configuration.team_urls,
        rally_teams=configuration.rally.teams,
    )


def _environment(options: Mapping[str, ConfiguredOption]) -> str:
    """Returns the name of the environment that is configured, as for `--environment-name`."""
    configured = options.get("environment-name")
    return str(configured.value) if configured else "local"


def _as_typed(name: str, value: object) -> str:
    """Returns an option as it would be written on the command line."""
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={value}"


def _options(
    document: Mapping[str, Any], command: str, commands: Collection[str], file: Path
) -> Iterator[tuple[str, ConfiguredOption]]:
    own = document.get(command, {})
    for name, value in document.items():
        if name in commands:
            if not isinstance(value, dict):
                raise UsageError(f"{file}: {name} is a command; put its options below [{name}]")
        elif isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values()) and value:
            known = (*commands, _TRACKS, _TEAMS, _DISTRIBUTIONS, _REPORTING)
            raise UsageError(f"{file}: [{name}] is not a command", hint=similar(name, known))
        elif name not in own:
            yield name, ConfiguredOption(value, f"{file}: {name}")
    for name, value in own.items():
        yield name, ConfiguredOption(value, f"{file}: {command}.{name}", strict=True)


def _urls(repositories: object, file: Path, section: str) -> dict[str, str]:
    found = {}
    for name, value in repositories.items() if isinstance(repositories, dict) else [(section, None)]:
        url = value.get("url") if isinstance(value, dict) else None
        if not isinstance(url, str):
            raise UsageError(
                f"{file}: [{section}] must contain URLs of {section.removesuffix('s')} repositories",
                hint='for example mine.url = "https://…"',
            )
        found[str(name)] = url
    return found


_FLAT_EXAMPLES = {_DISTRIBUTIONS: 'mine.url = "https://…"', _REPORTING: 'datastore.type = "elasticsearch"'}


def _flat(section: object, file: Path, name: str, prefix: str = "") -> dict[str, str]:
    """Returns a section with Rally's keys, such as `release.url`, and its values as text."""
    found: dict[str, str] = {}
    for inner, value in section.items() if isinstance(section, dict) else [(name, None)]:
        key = f"{prefix}{inner}"
        if isinstance(value, dict):
            found |= _flat(value, file, name, f"{key}.")
        elif isinstance(value, str | int):
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            raise UsageError(
                f"{file}: [{name}] {key} is not a text, a number, true or false",
                hint=f"for example {_FLAT_EXAMPLES[name]}",
            )
    return found


def _toml(file: Path) -> dict[str, Any]:
    text = read_configuration_file(file)
    if text is None:
        return {}
    try:
        return parse_toml(text.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error
