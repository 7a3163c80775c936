"""The engine plugins of a team repository: `plugins/v1/core-plugins.txt`, and folders with configurations.

plugins/v1/NAME/CONF.ini            a configuration; the `-` in the name of a plugin is `_` in its folder
plugins/v1/NAME/BASE/templates/…    templates of a base that configurations name
plugins/v1/NAME/plugin.py           hooks
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from pacenote.errors import EngineError, UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.system.paths import exists, is_dir, is_file, paths_in
from pacenote.system.regular_files import read_regular_file
from pacenote.teams.definitions import find_base, is_inside, members_folder
from pacenote.teams.ini_file import MAX_TEXT_BYTES, comma_list, read_ini

_MODULES_SINCE_8 = ("repository-azure", "repository-gcs", "repository-s3")
"""Plugins that are modules of newer versions: they are configured, but not installed."""

_LOCATION = re.compile(r".*/.*|.*\.zip|[\w-]+(\.[\w-]+)+:[\w.-]+:\w[\w.-]*")
"""The path, the URL or the Maven coordinate of the archive of a plugin."""


class PluginRequest(Struct, frozen=True):
    """A plugin as named in `--elasticsearch-plugins`."""

    name: str
    """The name of the plugin."""
    configurations: tuple[str, ...] = ()
    """The names of its configurations."""


class TeamPlugin(Struct, frozen=True):
    """A plugin with the configurations that the user has selected."""

    name: str
    """The name of the plugin."""
    configurations: tuple[str, ...] = ()
    """The names of these configurations."""
    bases: tuple[Path, ...] = ()
    """The folders of their config bases."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that the configurations define."""
    folder: Path | None = None
    """The plugin's folder, or None if the repository only lists its name, or does not know it."""
    is_module: bool = False
    """Whether it is a module of the engine that is configured but not installed."""


def parse_plugins(items: tuple[str, ...]) -> tuple[PluginRequest, ...]:
    """Returns the plugins that `--elasticsearch-plugins` names: `NAME`, `NAME:CONF+CONF`, or the path, the
    URL or the Maven coordinate of an archive.

    Raises UsageError.
    """
    requests = []
    for item in items:
        if _LOCATION.fullmatch(item):
            requests.append(PluginRequest(item))
            continue
        name, colon, configurations = item.partition(":")
        selected = tuple(part for part in configurations.split("+") if part)
        if not name or (colon and not selected) or ":" in configurations:
            raise UsageError(
                f"--elasticsearch-plugins: {quoted(item)} is not a plugin",
                hint="name it as analysis-icu, or with configurations as transport-nio:http+transport",
            )
        requests.append(PluginRequest(name, selected))
    return tuple(requests)


def list_plugins(root: Path) -> tuple[PluginRequest, ...]:
    """Returns the plugins of a repository: those without a configuration, then every configuration. Raises
    EngineError.
    """
    folder = members_folder(root, "plugins")
    plugins = [path for path in paths_in(folder) if is_dir(path)]
    configured = [
        PluginRequest(_plugin_name(plugin), (name,)) for plugin in plugins for name in _configurations(plugin)
    ]
    # A folder with hooks only is a plugin, too.
    bare = {_plugin_name(plugin) for plugin in plugins if exists(plugin / "plugin.py")}
    bare -= {plugin.name for plugin in configured}
    return (*map(PluginRequest, sorted({*_core_plugins(folder), *bare})), *configured)


def read_plugin(root: Path, request: PluginRequest) -> TeamPlugin:
    """Returns a plugin with its configurations; one that the repository does not know has none.

    Raises UsageError for unknown configurations, and EngineError for files that cannot be read.
    """
    plugins = members_folder(root, "plugins")
    folder = plugins / request.name.replace("-", "_")
    if not is_inside(folder, plugins):
        raise UsageError(f"--elasticsearch-plugins: {quoted(request.name)} is not the name of a plugin")
    is_core = request.name in _core_plugins(plugins)
    is_module = request.name in _MODULES_SINCE_8 and not is_core
    if not request.configurations:
        _check_name(root, request.name)
        return TeamPlugin(request.name, folder=folder if is_dir(folder) else None, is_module=is_module)
    bases: list[Path] = []
    variables: dict[str, str] = {}
    for name in request.configurations:
        sections = read_ini(_configuration_file(folder, request.name, name))
        for base in comma_list(sections.get("config", {}).get("base", "")):
            bases.append(find_base(folder, base, folder / f"{name}.ini"))
        variables.update(sections.get("variables", {}))
    if not bases:
        raise EngineError(
            f"{folder}: no configuration of {', '.join(request.configurations)} names a base",
            hint="add a base to [config] in one of them",
        )
    return TeamPlugin(
        name=request.name,
        configurations=request.configurations,
        bases=tuple(dict.fromkeys(bases)),
        variables=variables,
        folder=folder,
        is_module=is_module,
    )


def _check_name(root: Path, name: str) -> None:
    """Raises UsageError for a name that resembles one of the repository: it is probably misspelt.

    Other names can be plugins that the repository does not know.
    """
    known = {plugin.name for plugin in list_plugins(root)}
    if name not in known and (meant := did_you_mean(name, known)):
        raise UsageError(
            f"--elasticsearch-plugins: the team repository has no plugin {quoted(name)}{meant}",
            hint="`pacenote list elasticsearch-plugins` with the same --team options lists all",
        )


def _configuration_file(folder: Path, plugin: str, name: str) -> Path:
    file = folder / f"{name}.ini"
    if file.parent == folder and is_file(file):
        return file
    known = _configurations(folder)
    raise UsageError(
        f"--elasticsearch-plugins: plugin {quoted(plugin)} has no configuration {quoted(name)}"
        f"{did_you_mean(name, known)}",
        hint=f"its configurations: {', '.join(known) or 'none'}",
    )


def _configurations(plugin: Path) -> list[str]:
    """Returns the names of the configurations in the folder of a plugin."""
    return sorted(path.stem for path in paths_in(plugin) if path.suffix == ".ini")


def _core_plugins(folder: Path) -> list[str]:
    """Returns the names in `core-plugins.txt`; more values may follow a comma."""
    file = folder / "core-plugins.txt"
    try:
        lines = read_regular_file(file, MAX_TEXT_BYTES).decode("utf-8").splitlines() if is_file(file) else []
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"{file} cannot be read: {error}") from error
    names = (line.partition(",")[0].strip() for line in lines if not line.startswith("#"))
    return [name for name in names if name]


def _plugin_name(folder: Path) -> str:
    return folder.name.replace("_", "-")
