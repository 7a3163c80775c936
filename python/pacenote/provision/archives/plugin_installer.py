"""Installs plugins into a copy of an official archive, with the engine's own tool, as the user of nodes.

The copy is kept, and has a name that depends on the archive and on the plugins.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.printable import single_line
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.archives.archive_cache import CachedArchive
from pacenote.provision.archives.engine_tree import COPIED_FOLDERS, EngineTree, copy_tree
from pacenote.provision.archives.hashed_file import copy_unchanged
from pacenote.provision.engine_log import read_tail
from pacenote.provision.install import MARKER, publish_folder
from pacenote.provision.java import JavaRuntime
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_trees import give_tree, take_tree
from pacenote.provision.public_files import write_public
from pacenote.system.child_process import ChildCommand, spawn_child
from pacenote.system.folder_trees import remove_tree
from pacenote.system.paths import exists

TIMEOUT_S = 300.0
"""Seconds within which a plugin must be installed."""

_POLL_S = 0.5
_DIGITS = 32
_CAUSE = re.compile(r"^(?:ERROR: |-> Failed|Exception in thread|\S*Exception: )(.*)")


class _Tool(Struct, frozen=True):
    """The tool in a copy that is being built."""

    tree: EngineTree
    folder: Path
    layout: EngineLayout
    environment: Mapping[str, str]


def install_plugins(
    tree: EngineTree,
    plugins: Sequence[CachedArchive],
    java: JavaRuntime,
    layout: EngineLayout,
    progress: ProgressCallback = no_progress,
) -> EngineTree:
    """Returns the engine with plugins, installed into a copy of it unless that was done before.

    Raises EngineError with what the tool reports if one cannot be installed, and DiskError.
    """
    if not plugins:
        return tree
    target = layout.installs / f"{tree.folder.name}-{digest_of(plugins)}"
    if not exists(target / MARKER):
        try:
            build = Path(tempfile.mkdtemp(prefix=".build-", dir=layout.installs))
            try:
                build.chmod(0o755)
                _fill(tree, plugins, java, _Build(build, layout), progress)
                write_public(build / "home" / MARKER, f"{tree.folder.name}\n")
                publish_folder(build / "home", target)
            finally:
                remove_tree(build)
        except OSError as failure:
            raise disk_error(failure, target) from failure
    os.utime(target / MARKER)
    return replace(tree, folder=target)


def digest_of(plugins: Sequence[CachedArchive]) -> str:
    """Returns the part of a folder's name that depends on plugins. Earlier versions have 12 digits of it, in
    folders whose plugins they had not compared with the checksums.
    """
    text = "".join(plugin.origin.sha512 for plugin in plugins)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class _Build(Struct, frozen=True):
    folder: Path
    layout: EngineLayout


def _fill(
    tree: EngineTree,
    plugins: Sequence[CachedArchive],
    java: JavaRuntime,
    build: _Build,
    progress: ProgressCallback,
) -> None:
    home, temporary = build.folder / "home", build.folder / "tmp"
    copy_tree(tree.folder, home)
    temporary.mkdir()
    changed = [home / name for name in COPIED_FOLDERS]
    _give([temporary, *changed], build.layout)
    variables = tree.official.variables
    environment = {
        "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "LANG": "C.UTF-8",
        "HOME": str(temporary),
        f"{variables}_PATH_CONF": str(home / "config"),
        f"{variables}_TMPDIR": str(temporary),
    }
    if java.home != tree.bundled_java:
        environment |= {f"{variables}_JAVA_HOME": str(java.home), "JAVA_HOME": str(java.home)}
    tool = _Tool(replace(tree, folder=home), temporary, build.layout, environment)
    for plugin in plugins:
        progress(f"installing {plugin.path.name}", 0, 0)
        _run(tool, plugin, progress)
    for folder in changed:
        take_tree(folder)


def _run(tool: _Tool, plugin: CachedArchive, progress: ProgressCallback) -> None:
    # The user of nodes may not enter the folder of the user's file, which others may replace.
    folder = Path(tempfile.mkdtemp(prefix="plugin-", dir=tool.folder.parent))
    folder.chmod(0o755)
    archive = folder / plugin.path.name
    copy_unchanged(plugin.path, plugin.origin.sha512, archive)
    arguments = (str(tool.tree.plugin_tool), "install", "--batch", archive.as_uri())
    log = tool.folder.parent / "plugin.log"
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        child = spawn_child(ChildCommand(arguments, tool.folder, tool.environment, output, tool.layout.user))
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not child.wait(_POLL_S) and time.monotonic() < deadline:
                progress(f"installing {plugin.path.name}", 0, 0)
        finally:
            child.kill()
            child.wait(_POLL_S)
    finally:
        os.close(output)
    if child.exit_code != 0:
        engine = f"{tool.tree.official.name} {tool.tree.version}"
        text = read_tail(log)
        raise EngineError(
            f"plugin {plugin.path.name} cannot be installed into {engine}: {_cause(text, child.exit_code)}",
            hint=f"use the release of the plugin for {engine}",
        )


def _cause(text: str, exit_code: int | None) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [match[1] or line for line in lines if (match := _CAUSE.match(line))]
    # Without a known form, the last line states the reason most often.
    return single_line((causes or lines[-1:] or [f"its tool ended with status {exit_code}"])[0])


def _give(folders: Sequence[Path], layout: EngineLayout) -> None:
    """Lets the user of nodes write to folders with everything in them."""
    if layout.user is not None:
        for folder in folders:
            give_tree(folder, layout.user.uid, layout.user.gid)
