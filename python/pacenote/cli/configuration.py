"""What is configured: `pacenote.toml` in the home and in the working folder, and Rally's `rally.ini`.

A flag wins over the working folder's file, that over the home's, that over `rally.ini`, that over what is
built in.

    offline = true                      # an option of every command that has it, without its dashes

    [race]                              # options of one command
    distribution-version = "2.19.4"
    track-params = {bulk_size = 5000}

    [tracks]                            # where repositories of tracks are
    mine.url = "https://example.org/tracks.git"
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacenote.cli.parser import Parser, similar
from pacenote.errors import UsageError

FILE = "pacenote.toml"

_TRACKS = "tracks"

_EXCLUDED_BY_IT = {
    "track": ("track-path",),
    "track-repository": ("track-path",),
    "track-revision": ("track-path",),
    "track-path": ("track", "track-repository", "track-revision"),
    "include-tasks": ("exclude-tasks",),
    "exclude-tasks": ("include-tasks",),
}
"""An option → those that cannot stand beside it. What is nearer to the command takes away what is farther:
a flag what is configured, the working folder's file what the home's says.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """A configured value and where it stands. `strict`: the command must have the option."""

    value: object
    origin: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """Options of one command by name without dashes; where repositories are; keys of `rally.ini` that have no
    counterpart here.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    ignored: tuple[str, ...] = ()


def read_configuration(
    command: str, commands: Collection[str], home: Path, rally_name: str | None = None
) -> Configuration:
    """What is configured for a command. `rally_name` chooses `rally-NAME.ini`.

    Raises `UsageError` for a file that cannot be read or holds what it cannot hold.
    """
    settings: dict[str, Setting] = {}
    urls: dict[str, str] = {}
    ignored = _read_rally(rally_name, settings, urls)
    for file in dict.fromkeys(((home / FILE).absolute(), Path(FILE).absolute())):
        document = _toml(file)
        urls |= _urls(document.pop(_TRACKS, {}), file)
        nearer = dict(_settings(document, command, commands, file))
        for name in nearer:
            for excluded in _EXCLUDED_BY_IT.get(name, ()):
                settings.pop(excluded, None)
        settings |= nearer
    return Configuration(settings, urls, ignored)


def apply(configuration: Configuration, parser: Parser, arguments: Sequence[str]) -> None:
    """Makes what is configured the parser's defaults. Raises `UsageError` for what no flag could say."""
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    excluded = {name for flag in flags for name in _EXCLUDED_BY_IT.get(flag.removeprefix("--"), ())}
    for name, setting in configuration.settings.items():
        if name in excluded:
            continue
        if parser.has_option(f"--{name}"):
            parser.configure(f"--{name}", setting.value, setting.origin)
        elif setting.strict:
            hint = similar(name, parser.option_names()) or f"see `{parser.prog} --help`"
            raise UsageError(f"{setting.origin}: `{parser.prog}` has no option {name}", hint=hint)
    parser.set_defaults(repository_urls=configuration.repository_urls)


def _settings(
    document: Mapping[str, Any], command: str, commands: Collection[str], file: Path
) -> Iterator[tuple[str, Setting]]:
    own = document.get(command, {})
    for name, value in document.items():
        if name in commands:
            if not isinstance(value, dict):
                raise UsageError(f"{file}: {name} is a command; write its options below [{name}]")
        elif isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values()) and value:
            raise UsageError(f"{file}: [{name}] is no command", hint=similar(name, (*commands, _TRACKS)))
        elif name not in own:
            yield name, Setting(value, f"{file}: {name}")
    for name, value in own.items():
        yield name, Setting(value, f"{file}: {command}.{name}", strict=True)


def _urls(tracks: object, file: Path) -> dict[str, str]:
    found = {}
    for name, value in tracks.items() if isinstance(tracks, dict) else [(_TRACKS, None)]:
        url = value.get("url") if isinstance(value, dict) else None
        if not isinstance(url, str):
            raise UsageError(
                f"{file}: [tracks] holds URLs of track repositories", hint='mine.url = "https://…"'
            )
        found[str(name)] = url
    return found


def _toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{file} is no valid TOML: {error}") from error


_FROM_RALLY = {
    ("benchmarks", "local.dataset.cache"): "dataset-cache",
    ("defaults", "preserve_benchmark_candidate"): "preserve-install",
    ("driver", "serverless.mode"): "build-flavor",
    ("driver", "serverless.operator"): "serverless-operator",
}
"""Section and key of `rally.ini` → our option."""

_SAID_OTHERWISE = {("meta", "config.version")}


def rally_folder() -> Path:
    """Where Rally keeps its files: `.rally` in `RALLY_HOME` or the user's home."""
    return Path(os.environ.get("RALLY_HOME") or Path.home()) / ".rally"


def _read_rally(name: str | None, settings: dict[str, Setting], urls: dict[str, str]) -> tuple[str, ...]:
    """Reads `rally.ini` into `settings` and `urls`; returns what has no counterpart."""
    file = rally_folder() / (f"rally-{name}.ini" if name else "rally.ini")
    if not file.is_file():
        if name:
            raise UsageError(f"--configuration-name={name}: {file} does not exist")
        return ()
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(file.read_text("utf-8").replace("${CONFIG_DIR}", str(file.parent)), str(file))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise UsageError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
    ignored = []
    for section in parser.sections():
        for key, value in parser.items(section):
            if section == _TRACKS and key.endswith(".url"):
                urls[key.removesuffix(".url")] = value
            elif (section, key) in _FROM_RALLY:
                option = _FROM_RALLY[section, key]
                settings[option] = Setting(_ours(option, value), f"{file}: [{section}] {key}")
            elif value and (section, key) not in _SAID_OTHERWISE:
                ignored.append(f"{file}: [{section}] {key} has no counterpart here and is not used")
    return tuple(ignored)


def _ours(option: str, value: str) -> object:
    true = value.strip().lower() in ("true", "yes", "on", "1", "t", "y")
    if option == "build-flavor":
        return "serverless" if true else "default"
    return value if option == "dataset-cache" else true
