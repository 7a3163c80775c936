"""Composes cars and plugins of a team repository, by Rally's rules.

Variables of config bases come first, then those of the cars from left to right, then `--car-params`. Those of
plugins and `--plugin-params` override them. Templates of several bases for the same file are appended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jinja2
import jinja2.meta
from msgspec import Struct, field

from pacenote.errors import UsageError
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.system.paths import is_dir, is_file, paths_in
from pacenote.system.regular_files import read_regular_file
from pacenote.teams.config_files import TeamConfiguration, read_configuration
from pacenote.teams.definitions import TeamCar, read_car
from pacenote.teams.hooks import Hook
from pacenote.teams.ini_file import MAX_TEXT_BYTES
from pacenote.teams.node_variables import NodeVariables
from pacenote.teams.plugins import PluginRequest, TeamPlugin, read_plugin
from pacenote.teams.rendering import is_template, render, template_files

_READ_BY_RALLY = (
    *("additional_cluster_settings", "additional_java_settings", "data_paths"),
    *("docker_image", "docker_mem_limit", "docker_cpu_count"),
    *("runtime.jdk", "runtime.jdk.bundled", "build.jdk"),
)
"""Variables that have an effect without a template that reads them."""

_LITERAL = re.compile(r"""["']([A-Za-z_][\w.]*)["']""")


class Composition(Struct, frozen=True):
    """Cars and plugins, ready to be rendered for a node."""

    root: Path
    """The folder of the team repository."""
    names: tuple[str, ...] = ()
    """The names of the cars."""
    template_folders: tuple[Path, ...] = ()
    """Folders of templates, in the order in which they are appended."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """Variables of the cars; those of the node override them."""
    plugins: tuple[TeamPlugin, ...] = ()
    """The plugins."""
    plugin_variables: Mapping[str, object] = field(default_factory=dict)
    """Variables of the plugins, which override all others."""
    hooks: tuple[Hook, ...] = ()
    """The hooks of cars and plugins, in the order in which they run."""

    def node_variables(self, node: NodeVariables) -> dict[str, object]:
        """Returns all variables for the templates and hooks of a node."""
        mandatory = {"plugin.mandatory": list(self.installed_plugins)} if self.installed_plugins else {}
        return {
            **self.variables,
            **node.variables,
            **self.plugin_variables,
            "cluster_settings": mandatory,
        }

    def configure(self, node: NodeVariables) -> TeamConfiguration:
        """Returns the configuration of a node. Raises EngineError if a template cannot be rendered."""
        rendered = render(self.root, self.template_folders, self.node_variables(node))
        return read_configuration(rendered, node.java_major)

    @property
    def installed_plugins(self) -> tuple[str, ...]:
        """The names of the plugins that have to be installed."""
        return tuple(plugin.name for plugin in self.plugins if not plugin.is_module)


class CompositionRequest(Struct, frozen=True):
    """What the user has selected of a team repository."""

    cars: tuple[str, ...] = ()
    """Names of cars."""
    car_params: Mapping[str, object] = field(default_factory=dict)
    """Variables that override those of the cars; they may contain secrets."""
    plugins: tuple[PluginRequest, ...] = ()
    """Plugins and their configurations."""
    plugin_params: Mapping[str, object] = field(default_factory=dict)
    """Variables that override those of the plugins; they may contain secrets."""


def compose(root: Path, request: CompositionRequest) -> Composition:
    """Returns what the request selects of the team repository in a folder.

    Raises UsageError for names and variables that do not exist there, and EngineError for files that cannot
    be read.
    """
    cars = [read_car(root, name) for name in request.cars]
    plugins = tuple(read_plugin(root, plugin_request) for plugin_request in request.plugins)
    bases = _bases(cars)
    folders = [base / "templates" for base in bases]
    if not folders:
        raise UsageError(
            f"--car: {', '.join(request.cars)} configures nothing: no car of it has a base",
            hint="name a car as well, such as defaults",
        )
    hooks = []
    if scripts := tuple(base / "config.py" for base in bases if is_file(base / "config.py")):
        hooks.append(Hook(f"car {','.join(request.cars)}", scripts, request.cars))
    plugin_variables: dict[str, object] = {}
    for plugin in plugins:
        folders += [base / "templates" for base in plugin.bases]
        plugin_variables.update(plugin.variables)
        script = plugin.folder / "plugin.py" if plugin.folder else None
        if script is not None and is_file(script):
            hooks.append(Hook(f"plugin {plugin.name}", (script,), plugin.configurations or None))
    variables: dict[str, object] = {}
    for definitions in ([car.base_variables for car in cars], [car.variables for car in cars]):
        for definition in definitions:
            variables.update(definition)
    composition = Composition(
        root=root,
        names=request.cars,
        template_folders=tuple(folder for folder in dict.fromkeys(folders) if is_dir(folder)),
        variables={**variables, **request.car_params},
        plugins=plugins,
        plugin_variables={**plugin_variables, **request.plugin_params},
        hooks=tuple(hooks),
    )
    known = _known_variables(composition) | set(variables)
    _check_params("--car-params", request.car_params, known)
    _check_params("--plugin-params", request.plugin_params, known | set(plugin_variables))
    return composition


def _bases(cars: Sequence[TeamCar]) -> list[Path]:
    """Returns the config bases of all cars, each once."""
    return list(dict.fromkeys(base for car in cars for base in car.bases))


def _known_variables(composition: Composition) -> set[str]:
    """Returns the names of all variables that templates and hooks read."""
    known = set(_READ_BY_RALLY)
    environment = jinja2.Environment()  # noqa: S701  # only parses
    for _, file in template_files(composition.template_folders):
        if is_template(file):
            try:
                tree = environment.parse(read_regular_file(file, MAX_TEXT_BYTES).decode("utf-8"))
            except (OSError, UnicodeDecodeError, jinja2.TemplateError):
                continue  # Rendering reports it.
            known |= jinja2.meta.find_undeclared_variables(tree)
    for hook in composition.hooks:
        for script in hook.scripts:
            for module in paths_in(script.parent):
                if module.suffix == ".py" and is_file(module):
                    known.update(_LITERAL.findall(_text_of(module)))
    return known


def _text_of(module: Path) -> str:
    try:
        return read_regular_file(module, MAX_TEXT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _check_params(option: str, params: Iterable[str], known: set[str]) -> None:
    """Raises UsageError for a parameter that nothing reads; Rally ignores it."""
    unknown = {name: did_you_mean(name, known) for name in params if name not in known}
    if unknown:
        named = (f"{quoted(name)}{similar}" for name, similar in unknown.items())
        read = quoted_list(sorted(name for name in known if name.islower())[:40])
        raise UsageError(
            f"{option}: no template and no hook reads {', '.join(named)}",
            hint="correct or omit it" if all(unknown.values()) else f"these are read: {read}",
        )
