"""Configured defaults of options: `pacenote.toml` in the current folder or the home, Rally's `rally.ini`.

A flag overrides the file in the current folder, which overrides the file in the home, which overrides
`rally.ini`, which overrides the built-in defaults.

    offline = true                      # applies to every command with this option; no dashes

    [race]                              # options of one command
    distribution-version = "2.19.4"
    track-params = {bulk_size = 5000}

    [tracks]                            # URLs of track repositories
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
from pacenote.model.engine import SERVERLESS
from pacenote.store.atomic_files import read_regular_file
from pacenote.store.home import user_home

FILE = "pacenote.toml"

_TRACKS = "tracks"

_EXCLUDES = {
    "track": ("track-path",),
    "track-repository": ("track-path",),
    "track-revision": ("track-path",),
    "track-path": ("track", "track-repository", "track-revision"),
    "include-tasks": ("exclude-tasks",),
    "exclude-tasks": ("include-tasks",),
}
"""For each option, the options that it excludes. A flag removes excluded options of all files, the file in
the current folder those of the file in the home.
"""


@dataclass(frozen=True, slots=True)
class ConfiguredOption:
    """A configured value of an option."""

    value: object
    """Value in TOML or `rally.ini`."""

    origin: str
    """File and key, for messages."""

    strict: bool = False
    """Whether it is an error if the command does not have the option."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configured options of one command."""

    options: Mapping[str, ConfiguredOption] = field(default_factory=dict)
    """Options by name without dashes."""

    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of track repositories by name; a URL may contain credentials."""

    ignored: tuple[str, ...] = ()
    """A warning for each key of `rally.ini` that Pacenote does not use."""


def read_configuration(
    command: str, commands: Collection[str], home: Path, rally_name: str | None = None
) -> Configuration:
    """Reads the configuration of a command; `rally_name` selects `rally-NAME.ini`.

    Raises UsageError for a file that cannot be read, and for unknown or invalid keys.
    """
    options: dict[str, ConfiguredOption] = {}
    urls: dict[str, str] = {}
    ignored = _read_rally(rally_name, options, urls)
    for file in dict.fromkeys(((home / FILE).absolute(), Path(FILE).absolute())):
        document = _toml(file)
        urls |= _urls(document.pop(_TRACKS, {}), file)
        overriding = dict(_options(document, command, commands, file))
        for name in overriding:
            for excluded in _EXCLUDES.get(name, ()):
                options.pop(excluded, None)
        options |= overriding
    return Configuration(options, urls, ignored)


def apply_configuration(configuration: Configuration, parser: Parser, arguments: Sequence[str]) -> None:
    """Makes configured values the defaults of the parser. Raises UsageError for invalid values."""
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    excluded = {name for flag in flags for name in _EXCLUDES.get(flag.removeprefix("--"), ())}
    for name, setting in configuration.options.items():
        if name in excluded:
            continue
        if parser.has_option(f"--{name}"):
            parser.configure(f"--{name}", setting.value, setting.origin)
        elif setting.strict:
            hint = similar(name, parser.option_names()) or f"see `{parser.prog} --help`"
            raise UsageError(f"{setting.origin}: `{parser.prog}` has no option {name}", hint=hint)
    parser.set_defaults(repository_urls=configuration.repository_urls)


def _options(
    document: Mapping[str, Any], command: str, commands: Collection[str], file: Path
) -> Iterator[tuple[str, ConfiguredOption]]:
    own = document.get(command, {})
    for name, value in document.items():
        if name in commands:
            if not isinstance(value, dict):
                raise UsageError(f"{file}: {name} is a command; put its options below [{name}]")
        elif isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values()) and value:
            raise UsageError(f"{file}: [{name}] is not a command", hint=similar(name, (*commands, _TRACKS)))
        elif name not in own:
            yield name, ConfiguredOption(value, f"{file}: {name}")
    for name, value in own.items():
        yield name, ConfiguredOption(value, f"{file}: {command}.{name}", strict=True)


def _urls(tracks: object, file: Path) -> dict[str, str]:
    found = {}
    for name, value in tracks.items() if isinstance(tracks, dict) else [(_TRACKS, None)]:
        url = value.get("url") if isinstance(value, dict) else None
        if not isinstance(url, str):
            raise UsageError(
                f"{file}: [tracks] must contain URLs of track repositories",
                hint='for example mine.url = "https://…"',
            )
        found[str(name)] = url
    return found


def _toml(file: Path) -> dict[str, Any]:
    text = _content(file)
    if text is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error


def _content(file: Path) -> bytes | None:
    """Returns the content of a file, or None if it does not exist. Raises UsageError if it cannot be read."""
    try:
        return read_regular_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


_FROM_RALLY = {
    ("benchmarks", "local.dataset.cache"): "dataset-cache",
    ("defaults", "preserve_benchmark_candidate"): "preserve-install",
    ("driver", "serverless.mode"): "build-flavor",
    ("driver", "serverless.operator"): "serverless-operator",
}
"""Section and key of `rally.ini`, and Pacenote's option for it."""

_WITHOUT_MEANING = {("meta", "config.version")}


def rally_folder() -> Path | None:
    """Returns Rally's folder: `.rally` in `RALLY_HOME` or in the user's home, if it is known."""
    folder = os.environ.get("RALLY_HOME") or user_home()
    return Path(folder) / ".rally" if folder else None


def _read_rally(
    name: str | None, options: dict[str, ConfiguredOption], urls: dict[str, str]
) -> tuple[str, ...]:
    """Reads `rally.ini` into `options` and `urls`, and returns a warning for each key that is not used."""
    folder = rally_folder() or Path("~/.rally")
    file = folder / (f"rally-{name}.ini" if name else "rally.ini")
    text = _content(file)
    if text is None:
        if name:
            raise UsageError(f"--configuration-name={name}: {file} does not exist")
        return ()
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text.decode("utf-8").replace("${CONFIG_DIR}", str(file.parent)), str(file))
    except configparser.ParsingError as error:
        # The message of the error repeats the line, which may be a password.
        errors = getattr(error, "errors", ())
        line = errors[0][0] if errors else getattr(error, "lineno", 1)
        raise UsageError(f"{file}:{line}: this line is neither a section nor a key with a value") from error
    except (UnicodeDecodeError, configparser.Error) as error:
        raise UsageError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
    ignored = []
    for section in parser.sections():
        for key, value in parser.items(section):
            if section == _TRACKS and key.endswith(".url"):
                urls[key.removesuffix(".url")] = value
            elif (section, key) in _FROM_RALLY:
                option = _FROM_RALLY[section, key]
                options[option] = ConfiguredOption(_option_value(option, value), f"{file}: [{section}] {key}")
            elif value and (section, key) not in _WITHOUT_MEANING:
                ignored.append(f"{file}: [{section}] {key} has no counterpart in Pacenote and is not used")
    return tuple(ignored)


def _option_value(option: str, value: str) -> object:
    true = value.strip().lower() in ("true", "yes", "on", "1", "t", "y")
    if option == "build-flavor":
        return SERVERLESS if true else "default"
    return value if option == "dataset-cache" else true
