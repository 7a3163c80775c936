"""Configured defaults of options: `pacenote.toml` in the current folder or the home, Rally's `rally.ini`.

A flag overrides the file in the current folder, which overrides the file in the home, which overrides
`rally.ini`, which overrides the built-in defaults. Of the file in the current folder, most keys are only used
if the user trusts it (`folder_trust.py`), and credentials are not sent to the address of another file
(`credential_sources.py`).

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

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pacenote.cli.options.command_trust import FILE
from pacenote.cli.options.configured import ConfiguredOption, read_configuration_file
from pacenote.cli.options.credentials import (
    WithheldCredentials,
    separated_clients,
    separated_flags,
    separated_store,
)
from pacenote.cli.options.folder_trust import FolderConfiguration, needs_no_trust, read_folder_file
from pacenote.cli.options.rally_ini import RallySettings, read_rally_settings
from pacenote.cli.parser import Parser, similar
from pacenote.errors import UsageError
from pacenote.model.decoding import parse_toml
from pacenote.model.messages import list_with_rest

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


_SECTIONS = {
    _TRACKS: "track-repository",
    _TEAMS: "team-repository",
    _DISTRIBUTIONS: "distribution-repository",
    _REPORTING: "metrics-store",
}
"""The sections that are not commands, each with an option of the commands that use it."""

_NAMED = 3
"""The number of ignored keys that a message names."""


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

    folder: FolderConfiguration | None = None
    """The file of the working folder, or None if there is none, or if that is the home."""

    folder_file: Path = Path()
    """Its path, as in the origins of its options."""

    folder_sections: frozenset[str] = frozenset()
    """The sections of that file that are used."""

    ignored: Mapping[str, ConfiguredOption] = field(default_factory=dict)
    """Options of that file that are not used, because it is not trusted."""

    ignored_sections: frozenset[str] = frozenset()
    """Sections of that file that are not used, because it is not trusted."""

    withheld: tuple[WithheldCredentials, ...] = ()
    """Credentials that are not used, because they belong to another address."""


class ConfigurationNotes(Struct, frozen=True):
    """What the user has to know about the configuration of a command."""

    warnings: tuple[str, ...] = ()
    """What is not used of it, and why."""

    changed_by: str = ""
    """The file of the working folder if it changes anything for the command, otherwise empty."""


class _FileSettings(Struct, frozen=True):
    """What one file sets."""

    file: Path
    """Its path."""

    options: Mapping[str, ConfiguredOption] = msgspec.field(default_factory=dict)
    """Options by name without dashes."""

    sections: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """The sections that are not commands."""


def read_configuration(
    command: str,
    commands: Collection[str],
    home: Path,
    rally_name: str | None = None,
    *,
    folder: Path = _HERE,
) -> Configuration:
    """Reads the configuration of a command that runs in a folder; `rally_name` selects `rally-NAME.ini`.

    Raises UsageError for a file that cannot be read, for unknown or invalid keys, and if another user could
    write to the file in the home; StoreError if it is not known whether the file of the folder is trusted.
    """
    rally = read_rally_settings(rally_name)
    merged = _Merged(rally)
    home_file, folder_file = (home / FILE).absolute(), (folder / FILE).absolute()
    if (content := read_configuration_file(home_file)) is not None:
        _check_home_file(home_file)
        merged.add(_file_settings(_toml(home_file, content), command, commands, home_file))
    own = None if os.path.realpath(folder) == os.path.realpath(home) else read_folder_file(folder, home)
    used = ignored = _FileSettings(folder_file)
    if own is not None and own.trust != "refused":
        used = _file_settings(_toml(folder_file, own.content), command, commands, folder_file)
        if own.trust != "trusted":
            used, ignored = _split(used, command)
    merged.add(used)
    return Configuration(
        options=merged.options,
        repository_urls=merged.sections[_TRACKS],
        team_urls=merged.sections[_TEAMS],
        distributions=merged.sections[_DISTRIBUTIONS],
        reporting=merged.sections[_REPORTING],
        rally=rally,
        folder=own,
        folder_file=folder_file,
        folder_sections=frozenset(used.sections),
        ignored=ignored.options,
        ignored_sections=frozenset(ignored.sections),
        withheld=tuple(merged.withheld),
    )


def _check_home_file(file: Path) -> None:
    """Raises UsageError if another user could write to the file in the home, which was read."""
    # Only a command with such a file needs it.
    from pacenote.system.ownership import replaceable_file

    if problem := replaceable_file(file, must_exist=True):
        raise UsageError(
            f"{file} could be written by others: {problem}",
            hint="`chmod go-w` what is yours; otherwise set PACENOTE_HOME to a folder of yours, below folders"
            " that only you or root can change",
        )


def _split(settings: _FileSettings, command: str) -> tuple[_FileSettings, _FileSettings]:
    """Returns the settings of a file for a command that need no trust, and those that do."""
    options = settings.options
    harmless = {
        name: option for name, option in options.items() if needs_no_trust(command, name, option.value)
    }
    others = {name: option for name, option in options.items() if name not in harmless}
    return _FileSettings(settings.file, harmless), _FileSettings(settings.file, others, settings.sections)


class _Merged:
    """The settings of several files, the least specific first."""

    def __init__(self, rally: RallySettings) -> None:
        self.options = dict(rally.options)
        """Options by name without dashes."""

        self.sections: dict[str, dict[str, str]] = {
            _TRACKS: dict(rally.repository_urls),
            _TEAMS: dict(rally.team_urls),
            _DISTRIBUTIONS: dict(rally.distributions),
            _REPORTING: dict(rally.reporting),
        }
        """The sections that are not commands."""

        self.withheld: list[WithheldCredentials] = []
        """Credentials that are left out."""

        self._store_sources = dict.fromkeys(rally.reporting, rally.file)

    def add(self, settings: _FileSettings) -> None:
        """Adds the settings of a file, which override those of the files before it. Raises UsageError."""
        reporting = settings.sections.get(_REPORTING, {})
        earlier = self.sections[_REPORTING]
        kept, of_store = separated_store(earlier, self._store_sources, reporting, settings.file)
        self.sections[_REPORTING] = kept
        self._store_sources |= dict.fromkeys(reporting, settings.file)
        for name, values in settings.sections.items():
            self.sections[name] |= values
        self.options, of_clients = separated_clients(self.options, settings.options)
        self.withheld += [*of_store, *of_clients]
        for name in settings.options:
            for excluded in EXCLUDES.get(name, ()):
                self.options.pop(excluded, None)
        self.options |= settings.options


def apply_configuration(
    configuration: Configuration, parser: Parser, arguments: Sequence[str]
) -> ConfigurationNotes:
    """Makes configured values the defaults of the parser, and returns what the user has to know about them.
    Raises UsageError for invalid values.
    """
    names = (argument.partition("=")[0] for argument in arguments if argument.startswith("--"))
    flags = frozenset(name.removeprefix("--") for name in names)
    unused = {*flags, *(name for flag in flags for name in EXCLUDES.get(flag, ()))}
    options, withheld = separated_flags(configuration.options, flags)
    from_rally, from_folder = [], False
    folder_file = configuration.folder_file if configuration.folder else None
    for name, setting in options.items():
        if name in unused - flags or not _has_option(parser, name, setting):
            continue
        changed = parser.configure(f"--{name}", setting.value, setting.origin)
        if changed and flags.isdisjoint((name, f"no-{name}")):
            from_folder = from_folder or setting.file == folder_file
            if configuration.rally.options.get(name) is setting:
                from_rally.append(_as_typed(name, setting.value))
    ignored = [name for name, setting in configuration.ignored.items() if _has_option(parser, name, setting)]
    parser.set_defaults(
        repository_urls=configuration.repository_urls,
        distributions=configuration.distributions,
        reporting=configuration.reporting,
        configured_environment=_environment(options),
        rally=configuration.rally,
        rally_options=tuple(sorted(from_rally)),
        rally_tracks=configuration.rally.tracks,
        team_urls=configuration.team_urls,
        rally_teams=configuration.rally.teams,
    )
    keys = [name for name in ignored if name not in unused]
    keys += [f"[{name}]" for name in _used(configuration.ignored_sections, parser)]
    foreign = (*configuration.withheld, *withheld)
    texts = {credentials.text for credentials in foreign if _uses(parser, credentials.option, flags)}
    is_changed = from_folder or any(_used(configuration.folder_sections, parser))
    return ConfigurationNotes(
        warnings=(*_trust_warnings(configuration.folder, keys), *sorted(texts)),
        changed_by=str(folder_file) if is_changed else "",
    )


def _has_option(parser: Parser, name: str, setting: ConfiguredOption) -> bool:
    """Returns whether the command has the option. Raises UsageError if it should have it."""
    if parser.has_option(f"--{name}"):
        return True
    if setting.strict:
        hint = similar(name, parser.option_names()) or f"see `{parser.prog} --help`"
        raise UsageError(f"{setting.origin}: `{parser.prog}` has no option {name}", hint=hint)
    return False


def _used(sections: Iterable[str], parser: Parser) -> Iterator[str]:
    """Yields the sections that the command uses."""
    return (name for name in sorted(sections) if parser.has_option(f"--{_SECTIONS[name]}"))


def _uses(parser: Parser, option: str, flags: Collection[str]) -> bool:
    """Returns whether the command has an option that is not switched off."""
    return parser.has_option(f"--{option}") and f"no-{option}" not in flags


def _trust_warnings(folder: FolderConfiguration | None, keys: Sequence[str]) -> Iterator[str]:
    """Yields at most one warning: that the folder's file is refused, or that some of its keys are ignored."""
    if folder is None:
        return
    if folder.trust == "refused":
        yield f"{folder.path} is not used: {folder.refusal}"
    elif keys:
        why = "has changed since it was trusted" if folder.trust == "changed" else "is not trusted"
        ignored = list_with_rest(keys, _NAMED)
        yield f"{folder.path} {why}; ignored: {ignored}; to use all of it, read it and run `pacenote trust`"


def _environment(options: Mapping[str, ConfiguredOption]) -> str:
    """Returns the name of the environment that is configured, as for `--environment-name`."""
    configured = options.get("environment-name")
    return str(configured.value) if configured else "local"


def _as_typed(name: str, value: object) -> str:
    """Returns an option as it would be written on the command line."""
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={value}"


def _file_settings(
    document: dict[str, Any], command: str, commands: Collection[str], file: Path
) -> _FileSettings:
    """Returns what a file sets for a command. Raises UsageError."""
    sections: dict[str, Mapping[str, str]] = {}
    for name in (_TRACKS, _TEAMS):
        if name in document:
            sections[name] = _urls(document.pop(name), file, name)
    for name in (_DISTRIBUTIONS, _REPORTING):
        if name in document:
            sections[name] = _flat(document.pop(name), file, name)
    return _FileSettings(file, dict(_options(document, command, commands, file)), sections)


def _options(
    document: Mapping[str, Any], command: str, commands: Collection[str], file: Path
) -> Iterator[tuple[str, ConfiguredOption]]:
    section = document.get(command)
    own = section if isinstance(section, dict) else {}
    for name, value in document.items():
        if name in commands:
            if not isinstance(value, dict):
                raise UsageError(f"{file}: {name} is a command; put its options below [{name}]")
        elif isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values()) and value:
            known = (*commands, _TRACKS, _TEAMS, _DISTRIBUTIONS, _REPORTING)
            raise UsageError(f"{file}: [{name}] is not a command", hint=similar(name, known))
        elif name not in own:
            yield name, ConfiguredOption(value, f"{file}: {name}", file)
    for name, value in own.items():
        yield name, ConfiguredOption(value, f"{file}: {command}.{name}", file, strict=True)


def _urls(repositories: object, file: Path, section: str) -> dict[str, str]:
    urls = {}
    for name, value in repositories.items() if isinstance(repositories, dict) else [(section, None)]:
        url = value.get("url") if isinstance(value, dict) else None
        if not isinstance(url, str):
            raise UsageError(
                f"{file}: [{section}] must contain URLs of {section.removesuffix('s')} repositories",
                hint='for example mine.url = "https://…"',
            )
        urls[str(name)] = url
    return urls


_FLAT_EXAMPLES = {_DISTRIBUTIONS: 'mine.url = "https://…"', _REPORTING: 'datastore.type = "elasticsearch"'}


def _flat(section: object, file: Path, name: str, prefix: str = "") -> dict[str, str]:
    """Returns a section with Rally's keys, such as `release.url`, and its values as text."""
    flat: dict[str, str] = {}
    for inner, value in section.items() if isinstance(section, dict) else [(name, None)]:
        key = f"{prefix}{inner}"
        if isinstance(value, dict):
            flat |= _flat(value, file, name, f"{key}.")
        elif isinstance(value, str | int):
            flat[key] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            raise UsageError(
                f"{file}: [{name}] {key} is not a text, a number, true or false",
                hint=f"for example {_FLAT_EXAMPLES[name]}",
            )
    return flat


def _toml(file: Path, content: bytes) -> dict[str, Any]:
    try:
        return parse_toml(content.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error
