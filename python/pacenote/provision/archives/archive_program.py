"""How a node of an official archive is configured and started: with the scripts and files of the archive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.provision.archives.engine_tree import RUNTIME_FOLDERS, EngineTree, copy_tree
from pacenote.provision.distributions.node_config import loopback_settings, settings_yaml
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.engine_program import NodeSetup, ProgramCommand
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import crash_report_options, gc_log_options
from pacenote.provision.public_files import copy_file, make_public_dir
from pacenote.system.folder_trees import walk_folders
from pacenote.system.paths import is_dir, is_file, is_link
from pacenote.system.regular_files import is_regular_file, read_regular_file
from pacenote.units import format_bytes

_HOME = "home"
_CONFIG = "config"
_JVM_OPTIONS = "jvm.options"
_OPTIONS_FOLDER = "jvm.options.d"
_OWN_OPTIONS = f"{_OPTIONS_FOLDER}/pacenote.options"

_MAX_OPTIONS_BYTES = 1 << 20
"""Size of the largest file with JVM options that is read; those of vendors have 3 KB."""

_MAX_CONFIG_BYTES = 1 << 30
"""Size of all config files that a node gets, with the holes in them: those of vendors have less than 1 MB."""

_MAX_CONFIG_FILES = 10_000
"""Number of config files that a node gets: those of vendors are some dozens."""

# Options of certain versions of Java only begin with these versions, such as `14-:`.
_GC_LOG = re.compile(r"\s*(\d+(-\d*)?:)?-(Xlog:gc|Xlog:disable|Xloggc:)")
_OTHER_COLLECTOR = re.compile(r"-XX:\+Use(?!G1)\w+GC$")


class ArchiveProgram(Struct, frozen=True):
    """An engine in its official archive, started with its own script.

    Every node has a copy of the engine, whose large files are links to the unpacked archive, so that plugins
    and hooks of one node do not change another one.
    """

    tree: EngineTree
    """The unpacked archive."""
    java: JavaRuntime
    """The runtime, which the node's user can run; it may be the one in the archive."""

    @property
    def home(self) -> Path:
        """The folder of the unpacked archive."""
        return self.tree.folder

    def install(self, folder: Path, /) -> Path:
        """Returns the copy of the engine in the folder of a node. Raises OSError."""
        home = folder / _HOME
        copy_tree(self.tree.folder, home, without=(_CONFIG, *RUNTIME_FOLDERS))
        # Scripts and hooks look for them there.
        for name in (_CONFIG, *RUNTIME_FOLDERS):
            (home / name).symlink_to(Path("..", name))
        return home

    def settings(self, setup: NodeSetup) -> Mapping[str, object]:
        """Returns the settings of every node, of the parts that the archive has, and of this node."""
        return {
            **loopback_settings(setup.ports.http, setup.ports.transport),
            **self.tree.default_settings(),
            **setup.settings,
        }

    def config_files(self, setup: NodeSetup) -> Mapping[str, str]:
        """Returns the settings and the JVM options of the node with those of the archive. Raises EngineError
        for options that cannot be read.
        """
        files = {
            _JVM_OPTIONS: self._options_of_archive(),
            self._settings_file: settings_yaml(setup.paths, self.settings(setup)),
        }
        node_options = "".join(f"{option}\n" for option in self.jvm_options(setup))
        if self._has_options_folder:
            files[_OWN_OPTIONS] = node_options
        else:
            # Old versions read only one file.
            files[_JVM_OPTIONS] += f"\n{node_options}"
        return files

    def complete(self, setup: NodeSetup, /) -> None:
        """Copies the other config files of the archive. Raises OSError, and EngineError for too many."""
        # Settings for another engine have no effect, but what looks for settings would read them.
        own = {_JVM_OPTIONS, _OWN_OPTIONS, *(f"{name}.yml" for name in OFFICIAL_ARCHIVES)}
        source, target = self.tree.folder / _CONFIG, setup.paths.config
        size = count = 0
        for folder, _, names in walk_folders(source):
            for name in sorted(names):
                path = Path(folder, name)
                status = path.lstat()
                if not is_regular_file(status) or path.relative_to(source).as_posix() in own:
                    continue
                size, count = size + status.st_size, count + 1
                if size > _MAX_CONFIG_BYTES or count > _MAX_CONFIG_FILES:
                    limit = f"{_MAX_CONFIG_FILES:,} files or {format_bytes(_MAX_CONFIG_BYTES)}"
                    raise EngineError(f"{source} has more than {limit}", hint="use the archive of the vendor")
                copy = target / path.relative_to(source)
                make_public_dir(copy.parent)
                copy_file(path, copy)
                copy.chmod(0o644)

    def command(self, setup: NodeSetup) -> ProgramCommand:
        """Returns the command that runs the start script, which stays in the foreground."""
        official, paths = self.tree.official, setup.paths
        environment = {
            f"{official.variables}_PATH_CONF": str(paths.config),
            f"{official.variables}_TMPDIR": str(paths.tmp),
            "LIBFFI_TMPDIR": str(paths.tmp),
        }
        if self.java.home != self.tree.bundled_java:
            # Old versions read only the second one.
            environment[f"{official.variables}_JAVA_HOME"] = str(self.java.home)
            environment["JAVA_HOME"] = str(self.java.home)
        return ProgramCommand(
            (str(paths.home / "bin" / official.name),), {**environment, **setup.environment}
        )

    def jvm_options(self, setup: NodeSetup) -> tuple[str, ...]:
        """Returns the JVM options of a node, which follow those of the archive and override them."""
        other_collector = any(_OTHER_COLLECTOR.match(option) for option in setup.jvm_options)
        return (
            f"-Xms{setup.heap}",
            f"-Xmx{setup.heap}",
            *crash_report_options(self.java, setup.paths.logs),
            *gc_log_options(self.java, setup.paths.logs, setup.jvm_options),
            # The file of the archive selects G1, and Java does not accept two collectors.
            *(("-XX:-UseG1GC",) if other_collector else ()),
            *setup.jvm_options,
        )

    @property
    def _settings_file(self) -> str:
        return f"{self.tree.official.name}.yml"

    @property
    def _has_options_folder(self) -> bool:
        return is_dir(self.tree.folder / _CONFIG / _OPTIONS_FOLDER)

    def _options_of_archive(self) -> str:
        """Returns the JVM options of the archive without those of GC logs, which a node has of its own."""
        file = self.tree.folder / _CONFIG / _JVM_OPTIONS
        if is_link(file) or not is_file(file):
            return ""
        try:
            text = read_regular_file(file, _MAX_OPTIONS_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise EngineError(
                f"{file} cannot be read: {error.strerror}", hint="use the archive of the vendor"
            ) from error
        return "".join(line for line in text.splitlines(keepends=True) if not _GC_LOG.match(line))
