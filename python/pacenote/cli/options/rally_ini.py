"""What Pacenote uses of Rally's own folder: settings of `rally.ini`, data files, clones of repositories."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.options.configured import ConfiguredOption, read_configuration_file
from pacenote.cli.options.values import path
from pacenote.errors import UsageError
from pacenote.model.engine import SERVERLESS
from pacenote.store.home import user_home
from pacenote.system.paths import exists, is_dir

_TRACKS = "tracks"
_DISTRIBUTIONS = "distributions"
_TEAMS = "teams"

_OPTIONS = {
    ("benchmarks", "local.dataset.cache"): "dataset-cache",
    ("defaults", "preserve_benchmark_candidate"): "preserve-install",
    ("driver", "serverless.mode"): "build-flavor",
    ("driver", "serverless.operator"): "serverless-operator",
    ("reporting", "output.processingtime"): "show-processing-time",
    ("source", "cache.days"): "source-cache-days",
    ("source", "remote.repo.url"): "source-repository",
    ("system", "env.name"): "environment-name",
}
"""Section and key of `rally.ini`, and Pacenote's option for it."""

_TEXTS = frozenset({"dataset-cache", "environment-name", "source-cache-days", "source-repository"})
"""Options whose value is text; that of the others is true or false."""

_ROOT = ("node", "root.dir")
_SOURCE_ROOT = ("node", "src.root.dir")
_SOURCE, _PLUGIN = "source", "plugin."
_REPORTING = "reporting"
_STORE_KEYS = ("datastore.", "metrics.request.downsample.factor")
"""How the keys of `[reporting]` about a metrics store begin."""
_READ_ELSEWHERE = frozenset({("meta", "config.version"), _ROOT, _SOURCE_ROOT})


@dataclass(frozen=True, slots=True)
class RallySettings:
    """What Pacenote uses of Rally's own folder."""

    file: Path = Path("rally.ini")
    """The configuration file, which may not exist."""

    options: Mapping[str, ConfiguredOption] = field(default_factory=dict)
    """Options by name without dashes."""

    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of track repositories by name; a URL may contain credentials."""

    distributions: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The section with the addresses of archives and plugins, which may contain credentials."""

    tracks: Path | None = None
    """The folder with Rally's clones of track repositories, or None if there is none."""

    team_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of team repositories by name; a URL may contain credentials."""

    teams: Path | None = None
    """The folder with Rally's clones of team repositories, or None if there is none."""

    reporting: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The keys of `[reporting]` about the metrics store; they contain its credentials."""

    ignored: tuple[str, ...] = ()
    """A warning for each key that Pacenote does not use."""

    source_plugins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The keys of `[source]` about plugins, without `plugin.`; URLs may contain credentials."""

    source_root: str = ""
    """The folder of Rally's source trees, or empty."""


def rally_folder() -> Path | None:
    """Returns Rally's folder: `.rally` in `RALLY_HOME` or in the user's home, if it is known."""
    folder = os.environ.get("RALLY_HOME") or user_home()
    return Path(folder) / ".rally" if folder else None


def read_rally_settings(name: str | None) -> RallySettings:
    """Reads `rally.ini`, or `rally-NAME.ini` for a name. Raises UsageError for a file that cannot be read."""
    folder = rally_folder() or Path("~/.rally")
    file = folder / (f"rally-{name}.ini" if name else "rally.ini")
    text = read_configuration_file(file)
    if text is None:
        if name:
            raise UsageError(f"--configuration-name={name}: {file} does not exist")
        root = folder / "benchmarks"
        return RallySettings(
            file, _data_folder(root), tracks=_clones(root, _TRACKS), teams=_clones(root, _TEAMS)
        )
    return _settings(file, _parse(file, text))


def show_rally_settings(options: argparse.Namespace, console: Console, *, builds: bool = False) -> None:
    """Shows in one line what of Rally's configuration changes the race; `builds` is whether it builds the
    engine.
    """
    rally: RallySettings = options.rally
    used = [each for each in options.rally_options if builds or not each.startswith("--source-")]
    repository = options.track_repository or "default"
    url = rally.repository_urls.get(repository)
    if options.track_path is None and url and options.repository_urls[repository] == url:
        used.append(f"track repository '{repository}'")
    team = options.team_repository
    if team in rally.team_urls and options.team_urls[team] == rally.team_urls[team]:
        used.append(f"team repository '{team}'")
    if used:
        source = f"settings of {rally.file}" if exists(rally.file) else f"found in {rally.file.parent}"
        console.progress(f"{source}: {', '.join(used)}")


def _parse(file: Path, text: bytes) -> dict[tuple[str, str], str]:
    """Returns the values by section and key."""
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
    sections = parser.sections()
    return {(name, key): value for name in sections for key, value in parser.items(name) if value}


def _settings(file: Path, values: Mapping[tuple[str, str], str]) -> RallySettings:
    root = path(values[_ROOT]) if _ROOT in values else file.parent / "benchmarks"
    options = _data_folder(root)
    urls: dict[str, dict[str, str]] = {_TRACKS: {}, _TEAMS: {}}
    distributions: dict[str, str] = {}
    plugins: dict[str, str] = {}
    reporting: dict[str, str] = {}
    ignored = []
    for (section, key), value in values.items():
        if section in urls and key.endswith(".url"):
            urls[section][key.removesuffix(".url")] = value
        elif section == _DISTRIBUTIONS:
            distributions[key] = value
        elif section == _REPORTING and key.startswith(_STORE_KEYS):
            reporting[key] = value
        elif section == _SOURCE and key.startswith(_PLUGIN):
            plugins[key.removeprefix(_PLUGIN)] = value
        elif (section, key) in _OPTIONS:
            option = _OPTIONS[section, key]
            options[option] = ConfiguredOption(_option_value(option, value), f"{file}: [{section}] {key}")
        elif (section, key) not in _READ_ELSEWHERE:
            ignored.append(f"{file}: [{section}] {key} has no counterpart in Pacenote and is not used")
    return RallySettings(
        file,
        options,
        urls[_TRACKS],
        distributions,
        _clones(root, _TRACKS),
        urls[_TEAMS],
        _clones(root, _TEAMS),
        reporting,
        tuple(ignored),
        plugins,
        values.get(_SOURCE_ROOT, ""),
    )


def _data_folder(root: Path) -> dict[str, ConfiguredOption]:
    """Returns the option for the folder in which Rally keeps data files by default, if it exists and can be
    written, because files that are missing in it are added.
    """
    folder = root / "data"
    if not is_dir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        return {}
    return {"dataset-cache": ConfiguredOption(str(folder), f"{folder}, Rally's data files")}


def _clones(root: Path, content: str) -> Path | None:
    """Returns the folder in which Rally keeps its clones, or None if it does not exist."""
    folder = root / content
    return folder if is_dir(folder) else None


def _option_value(option: str, value: str) -> object:
    if option in _TEXTS:
        return value
    true = value.strip().lower() in ("true", "yes", "on", "1", "t", "y")
    if option == "build-flavor":
        return SERVERLESS if true else "default"
    return true
