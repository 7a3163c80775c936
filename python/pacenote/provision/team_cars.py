"""Cars of team repositories: composed for the checks before a race, and rendered again for each node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.model.team_options import LocatedTeam
from pacenote.provision.car_rules import (
    belongs_to_node,
    check_engine_name,
    check_jvm_option,
    check_settings,
)
from pacenote.provision.cars import CARS, DEFAULT_HEAP, Car, flatten_settings
from pacenote.provision.engine_program import EngineProgram, NodeSetup, ProgramCommand
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import G1_OPTIONS, LOGS, merge_jvm_options
from pacenote.provision.known_settings import (
    SettingNames,
    check_setting_names,
    read_setting_names,
    without_absent_modules,
)
from pacenote.provision.public_files import copy_file
from pacenote.provision.resources import parse_heap
from pacenote.system.paths import is_file
from pacenote.system.regular_files import read_regular_file
from pacenote.teams.composition import Composition, CompositionRequest, compose
from pacenote.teams.config_files import TeamConfiguration, parse_settings
from pacenote.teams.hooks import HookRun, run_hooks
from pacenote.teams.node_variables import NOWHERE, NodeVariables

HOOK_LOG = "hooks.log"
"""The name of the file with the output of hooks, among the logs of a node."""

_CONFIG = "config/"
_ADD_MODULES = "--add-modules="
_DISK = "cluster.routing.allocation.disk"
_TEMPORARY_FOLDER = "-Djava.io.tmpdir="

_NAMES = frozenset({"cluster_name", "node_name"})
"""Variables of templates for which those of plugins override what Pacenote sets."""


class TeamTemplate(Struct, frozen=True):
    """What configures each node of a composed car."""

    composition: Composition
    """The cars and plugins."""
    overrides: Car = field(default_factory=Car)
    """What overrides the templates on all nodes."""

    @property
    def named_settings(self) -> tuple[str, ...]:
        """The settings that the user has named, apart from those in the templates."""
        settings = self.composition.variables.get("additional_cluster_settings")
        flat = flatten_settings(settings) if isinstance(settings, Mapping) else {}
        return (*self.overrides.settings, *flat)

    def for_java(self, major: int, /) -> Car:
        """Returns the car for a version of Java, for an exemplary node."""
        node = NodeVariables(java_major=major)
        configuration = self.composition.configure(node)
        rendered = _usable_settings(configuration)
        heap = self.overrides.heap_size or configuration.heap_size or DEFAULT_HEAP
        parse_heap(heap)
        return Car(
            name=",".join(self.composition.names),
            heap_size=heap,
            jvm_options=merge_jvm_options(
                _with_ergonomics(configuration.jvm_options), self.overrides.jvm_options
            ),
            settings={**rendered, **self.overrides.settings},
            environment=self.overrides.environment,
            has_files=bool(configuration.texts or configuration.copies),
            variables=self.composition.variables,
            plugins=self.composition.installed_plugins,
            template=self,
            notes=_notes(configuration, node),
        )


def compose_team_car(team: LocatedTeam, request: CompositionRequest, java_major: int = 21) -> Car:
    """Returns a car of a team repository. Raises UsageError and EngineError for what cannot be composed."""
    params = request.car_params
    if "data_paths" in params:
        raise UsageError("data_paths in --car-params has no effect", hint="use --data-paths")
    settings = params.get("additional_cluster_settings")
    if isinstance(settings, Mapping):
        check_settings(flatten_settings(settings), "additional_cluster_settings")
    for name in _NAMES.intersection(request.plugin_params):
        check_engine_name(request.plugin_params[name], f"{name} in --plugin-params")
    options = params.get("additional_java_settings")
    if isinstance(options, str):
        # A template would iterate over its characters.
        options = options.split()
        request = replace(request, car_params={**params, "additional_java_settings": options})
    for option in options if isinstance(options, list) else ():
        check_jvm_option(str(option), "additional_java_settings")
    return TeamTemplate(compose(team.root, request)).for_java(java_major)


class RunnableEngine(Struct, frozen=True):
    """An engine that a car is applied to."""

    name: str
    """The engine and its version, for messages."""
    program: EngineProgram
    """How its nodes are configured and started."""
    java: JavaRuntime
    """The Java that runs it."""


def portable_options(car: Car) -> tuple[str, ...]:
    """Returns the JVM options of a car without those that name folders of a node on this host."""
    return tuple(option for option in car.jvm_options if str(NOWHERE) not in option and LOGS not in option)


def jvm_options_of(car: Car, java: JavaRuntime) -> tuple[str, ...]:
    """Returns the options with which a car runs a JVM, for an exemplary node."""
    if car.template is None:
        return car.jvm_options
    return tuple(
        option for option in car.template.for_java(java.major).jvm_options if _is_possible(option, java)
    )


def has_settings_to_check(car: Car) -> bool:
    """Returns whether a car has settings that not every engine is known to have."""
    names = {*car.settings, *car.index_settings} - _known_everywhere()
    return car.template is not None or not all(map(belongs_to_node, names))


def check_car_settings(car: Car, known: SettingNames, engine: str) -> dict[str, object]:
    """Returns the settings of a car without those of modules that the engine lacks.

    Raises UsageError for misspelt settings, and EngineError for settings of modules that the engine lacks.
    """
    usable = without_absent_modules(car.settings, known, engine)
    named = _named_settings(car)
    left_out = car.settings.keys() - usable.keys()
    check_setting_names((name for name in named if name not in left_out), known, engine)
    return usable


def names_settings(car: Car) -> bool:
    """Returns whether a car has settings that the user may have misspelt."""
    return not all(map(belongs_to_node, set(_named_settings(car)) - _known_everywhere()))


def _named_settings(car: Car) -> tuple[str, ...]:
    """Returns the settings of a car that are not those of a team repository, which are not a mistake of the
    user.
    """
    template = car.template
    named = template.named_settings if isinstance(template, TeamTemplate) else tuple(car.settings)
    return (*named, *car.index_settings)


def _known_everywhere() -> set[str]:
    names = {name for car in CARS.values() for name in car.settings if not name.startswith("xpack.")}
    return names | {name for car in CARS.values() for name in car.index_settings}


def apply_car(
    car: Car, engine: RunnableEngine, progress: ProgressCallback = no_progress
) -> tuple[Car, EngineProgram]:
    """Returns what is the same for all nodes of a car, and how its nodes are configured and started.

    Reports the settings that are left out. Raises UsageError for misspelt settings, and EngineError for
    settings of modules that the engine lacks.
    """
    if not has_settings_to_check(car):
        return car, engine.program
    known = read_setting_names(engine.program.home)
    usable = check_car_settings(car, known, engine.name)
    if left_out := [f"{name}={value}" for name, value in car.settings.items() if name not in usable]:
        progress(f"{engine.name} has no such settings of the car: {', '.join(left_out)}", 0, 0)
    template = car.template
    if not isinstance(template, TeamTemplate):
        return replace(car, settings=usable), engine.program
    rendered = template.for_java(engine.java.major).settings
    # What was added to the car after it was composed, such as fixed ports.
    added = {name: value for name, value in car.settings.items() if rendered.get(name) != value}
    common = replace(
        template.overrides, heap_size=car.heap_size, settings={**added, **template.overrides.settings}
    )
    return common, TeamProgram(engine, template, known)


class TeamProgram(Struct, frozen=True):
    """An engine whose nodes are configured by a team repository."""

    engine: RunnableEngine
    """The engine."""
    template: TeamTemplate
    """The cars and plugins."""
    known: SettingNames
    """The settings of the engine."""

    @property
    def home(self) -> Path:
        """The folder of the engine."""
        return self.engine.program.home

    def install(self, folder: Path, /) -> Path:
        """Returns the home of a node in `folder`."""
        return self.engine.program.install(folder)

    def settings(self, setup: NodeSetup) -> Mapping[str, object]:
        """Returns all settings of a node."""
        return self.engine.program.settings(self._configured(setup))

    def config_files(self, setup: NodeSetup) -> Mapping[str, str]:
        """Returns the files of a node's config folder that the engine needs."""
        return self.engine.program.config_files(self._configured(setup))

    def command(self, setup: NodeSetup) -> ProgramCommand:
        """Returns the command that starts a node."""
        return self.engine.program.command(self._configured(setup))

    def complete(self, setup: NodeSetup, /) -> None:
        """Writes the other files of the templates, and runs the hooks. Raises OSError and EngineError."""
        self.engine.program.complete(self._configured(setup))
        node = self._node(setup)
        configuration = self.template.composition.configure(node)
        for name, text in configuration.texts.items():
            _file(setup, name).write_text(text, encoding="utf-8")
        for name, source in configuration.copies.items():
            copy_file(source, _file(setup, name))
        environment = {
            "JAVA_HOME": str(self.engine.java.home),
            "ES_JAVA_HOME": str(self.engine.java.home),
            "ES_PATH_CONF": str(setup.paths.config),
            "PATH": f"{self.engine.java.home}/bin:/usr/local/bin:/usr/bin:/bin",
        }
        variables = self.template.composition.node_variables(node)
        isolation = _isolation(setup.paths.config)
        for hook in self.template.composition.hooks:
            run_hooks(hook, HookRun(variables, environment, setup.paths.logs / HOOK_LOG))
        after = _isolation(setup.paths.config)
        changed = [name for name in {**isolation, **after} if isolation.get(name) != after.get(name)]
        if changed:
            raise EngineError(
                f"hooks have changed settings that keep a node apart from others: {', '.join(changed)}",
                hint="correct the hooks, or use --pipeline=benchmark-only with a cluster of your own",
            )

    def _configured(self, setup: NodeSetup) -> NodeSetup:
        """Returns the setup of a node with what the templates add; what is in the setup overrides it."""
        configuration = self.template.composition.configure(self._node(setup))
        settings = without_absent_modules(_usable_settings(configuration), self.known, self.engine.name)
        settings = {name: _in_config(value, setup) for name, value in settings.items()}
        options = tuple(
            option.replace("${ES_TMPDIR}", str(setup.paths.tmp))
            for option in _with_ergonomics(configuration.jvm_options)
            if _is_possible(option, self.engine.java)
        )
        return replace(
            setup,
            jvm_options=merge_jvm_options(options, setup.jvm_options),
            settings={**settings, **setup.settings},
        )

    def _node(self, setup: NodeSetup) -> NodeVariables:
        name = str(setup.settings.get("node.name", "rally-node-0"))
        return NodeVariables(
            cluster_name=str(setup.settings.get("cluster.name", "rally-benchmark")),
            node_name=name,
            all_node_names=setup.all_node_names or (name,),
            install_root=_root(setup),
            data_paths=(setup.paths.data, *setup.paths.more_data),
            logs=setup.paths.logs,
            http_port=setup.ports.http,
            transport_port=setup.ports.transport,
            java_major=self.engine.java.major,
        )


def _isolation(config: Path) -> dict[str, object]:
    """Returns the settings in the files of a node that Pacenote sets itself."""
    return {
        name: value
        for file in (config / "elasticsearch.yml", config / "opensearch.yml")
        if is_file(file)
        for name, value in parse_settings(
            file.name, read_regular_file(file).decode("utf-8", "replace")
        ).items()
        if belongs_to_node(name)
    }


def _is_possible(option: str, java: JavaRuntime) -> bool:
    """Returns whether Java has the modules that an option adds."""
    modules = option.removeprefix(_ADD_MODULES).split(",") if option.startswith(_ADD_MODULES) else ()
    return all(module.startswith("ALL-") or module in java.modules for module in modules)


def _root(setup: NodeSetup) -> Path:
    """Returns the folder that templates and hooks may change: the node's own home, or its own folder if its
    home is shared.
    """
    node_folder = setup.paths.config.parent
    return setup.paths.home if setup.paths.home.is_relative_to(node_folder) else node_folder


def _in_config(value: object, setup: NodeSetup) -> object:
    """Returns the value of a setting, with the config folder in place of the link to it in the home of a
    node: engines read only files in the folder that they know.
    """
    linked = f"{_root(setup)}/{_CONFIG}"
    if isinstance(value, list):
        return [_in_config(item, setup) for item in value]
    if isinstance(value, str) and value.startswith(linked):
        return str(setup.paths.config / value.removeprefix(linked))
    return value


def _file(setup: NodeSetup, name: str) -> Path:
    """Returns the path of a file of the templates, whose folder is created.

    A file that exists is removed: that of a node may be a link to one of the unpacked archive.
    """
    inner = name.removeprefix(_CONFIG)
    path = setup.paths.config / inner if name.startswith(_CONFIG) else _root(setup) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def _usable_settings(configuration: TeamConfiguration) -> dict[str, object]:
    """Returns the settings without those that Pacenote sets for each node.

    Pacenote switches the disk watermarks off; a car that sets them switches them on.
    """
    usable_settings = {
        name: value for name, value in configuration.settings.items() if not belongs_to_node(name)
    }
    if any(name.startswith(f"{_DISK}.watermark.") for name in usable_settings):
        usable_settings.setdefault(f"{_DISK}.threshold_enabled", "true")
    return usable_settings


def _with_ergonomics(options: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the options with those that the official archives add to G1, unless they are set, and without
    the folder of temporary files, which each node has.
    """
    kept = tuple(option for option in options if not option.startswith(_TEMPORARY_FOLDER))
    if G1_OPTIONS[0] not in kept:
        return kept
    set_names = {option.partition("=")[0] for option in kept}
    return (*kept, *(option for option in G1_OPTIONS if option.partition("=")[0] not in set_names))


def _notes(configuration: TeamConfiguration, node: NodeVariables) -> tuple[str, ...]:
    """Returns a note about each setting that isolation replaces by another value."""
    of_node = {*map(str, node.variables.values()), *(str(path) for path in node.data_paths), "single-node"}
    replaced = [
        f"{name}={value}"
        for name, value in configuration.settings.items()
        if belongs_to_node(name)
        and str(value) not in of_node
        and not name.startswith(("discovery.", "cluster."))
    ]
    if not replaced:
        return ()
    return (f"not used of the car, since Pacenote isolates its nodes: {', '.join(replaced)}",)
