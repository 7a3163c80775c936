"""How a node of an official archive is configured and started: with the scripts and files of the archive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pacenote.provision.archives.engine_tree import RUNTIME_FOLDERS, EngineTree, copy_tree
from pacenote.provision.distributions.node_config import loopback_settings, settings_yaml
from pacenote.provision.engine_program import NodeSetup, ProgramCommand
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import crash_report_options, gc_log_options

_HOME = "home"
_CONFIG = "config"
_JVM_OPTIONS = "jvm.options"
_OPTIONS_FOLDER = "jvm.options.d"
_OWN_OPTIONS = f"{_OPTIONS_FOLDER}/pacenote.options"

# Options of certain versions of Java only begin with these versions, such as `14-:`.
_GC_LOG = re.compile(r"\s*(\d+(-\d*)?:)?-(Xlog:gc|Xlog:disable|Xloggc:)")
_OTHER_COLLECTOR = re.compile(r"-XX:\+Use(?!G1)\w+GC$")


@dataclass(frozen=True, slots=True)
class ArchiveProgram:
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
        """Returns the files of the config folder: those of the archive, and the settings and JVM options of
        the node.
        """
        files = self._files_of_archive()
        options = files.get(_JVM_OPTIONS, "")
        files[_JVM_OPTIONS] = "".join(
            line for line in options.splitlines(keepends=True) if not _GC_LOG.match(line)
        )
        files[f"{self.tree.official.name}.yml"] = settings_yaml(setup.paths, self.settings(setup))
        node_options = "".join(f"{option}\n" for option in self.jvm_options(setup))
        if (self.tree.folder / _CONFIG / _OPTIONS_FOLDER).is_dir():
            files[_OWN_OPTIONS] = node_options
        else:
            # Old versions read only one file.
            files[_JVM_OPTIONS] += f"\n{node_options}"
        return files

    def complete(self, _setup: NodeSetup, /) -> None:
        """Does nothing: the copy and the config files are enough."""

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

    def _files_of_archive(self) -> dict[str, str]:
        folder = self.tree.folder / _CONFIG
        return {
            path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
