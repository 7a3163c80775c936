"""Runs builds, and keeps the archives that they produce, by revision.

HOME/sources/NAME          a clone
HOME/sources/NAME.lock     held by the command that uses the clone, and
HOME/sources/NAME.run      by the processes of its build
HOME/sources/builds/KEY    one archive, and `build.json`, which says what it was built from
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.decoding import parse_json
from pacenote.model.progress import ProgressCallback
from pacenote.model.source_options import SourceOptions
from pacenote.sources.build_java import build_java_home
from pacenote.sources.checkout import SourceCheckout, SourceTree, find_repository
from pacenote.sources.recipes import BuildRecipe
from pacenote.sources.revisions import parse_revisions, revision_of
from pacenote.system.child_process import ChildCommand, ChildProcess, spawn_child
from pacenote.system.folder_trees import delete_tree, discard_tree
from pacenote.system.locks import locked, open_lock, try_lock
from pacenote.system.own_home import check_own_home
from pacenote.system.paths import exists, is_dir, is_file
from pacenote.system.process import kill_processes_with_lock

SOURCES = "sources"
"""Name of the folder with clones and builds in a home folder."""

LOG_NAME = "build.log"
"""Name of the log of a build."""

_BUILDS = "builds"
_RECORD = "build.json"
_DAY_S = 86_400
_POLL_S = 0.5
_STOP_S = 10.0
_SHOWN_LINES = 3
_TAIL_BYTES = 64 << 10
_WRONG = "* What went wrong:"


class BuildRequest(Struct, frozen=True):
    """An engine to build."""

    home: Path
    """Pacenote's home folder."""
    distribution: str
    """The name of the distribution."""
    options: SourceOptions
    """Its sources."""
    recipe: BuildRecipe
    """How it is built."""
    log: Path
    """The file for the output of the build."""
    plugins: tuple[str, ...] = ()
    """Plugins that are built, too, if they are part of the sources."""
    offline: bool = False
    """Whether sources must not be fetched."""


class BuiltEngine(Struct, frozen=True):
    """An engine that was built, now or earlier."""

    archive: Path
    """The archive."""
    plugins: Mapping[str, Path]
    """The archives of plugins, by name."""
    tree: SourceTree
    """The sources that it was built from."""
    command: str
    """The command of the build."""
    cached: bool
    """Whether it was built earlier."""


def build_engine(request: BuildRequest, progress: ProgressCallback) -> BuiltEngine:
    """Returns the archive of an engine, built if it is not kept from an earlier build.

    Raises UsageError for a wrong revision or path, EngineError with the last lines of the log for a build
    that fails, and DiskError.
    """
    revision = revision_of(parse_revisions(request.options.revision), request.distribution)
    root = request.home / SOURCES
    repository = find_repository(request.options.source_path, request.recipe, root)
    cache = _Cache(root / _BUILDS, request)
    label = f"sources of {request.distribution} at {revision}"
    try:
        with _exclusive(root, repository.clone.name) as run_lock:
            cache.prune()
            progress(label, 0, 0)
            checkout = SourceCheckout(
                repository, request.recipe, offline=request.offline, waiting=lambda: progress(label, 0, 0)
            )
            tree = checkout.at(revision)
            kept = cache.find(tree)
            if kept is not None:
                return kept
            _run(request, tree, run_lock, progress)
            return cache.keep(tree, _artifacts(request, tree))
    except OSError as failure:
        raise disk_error(failure, root) from failure


def source_version(request: BuildRequest, progress: ProgressCallback) -> str:
    """Returns the version of the engine that the sources are of, without building it; empty if it is not
    known. Fetches the sources if necessary, and raises the same errors as `build_engine`.
    """
    revision = revision_of(parse_revisions(request.options.revision), request.distribution)
    root = request.home / SOURCES
    repository = find_repository(request.options.source_path, request.recipe, root)
    label = f"sources of {request.distribution} at {revision}"
    progress(label, 0, 0)
    with _exclusive(root, repository.clone.name):
        checkout = SourceCheckout(
            repository, request.recipe, offline=request.offline, waiting=lambda: progress(label, 0, 0)
        )
        return checkout.at(revision).version


@contextlib.contextmanager
def _exclusive(root: Path, name: str) -> Generator[int, None, None]:
    """Gives one command at a time access to the sources, after the end of builds whose command was killed.

    Yields the file that the processes of a build keep open.
    """
    root.mkdir(parents=True, exist_ok=True)
    check_own_home(root.parent, must_exist=True)
    with locked(root / f"{name}.lock"):
        run = open_lock(root / f"{name}.run")
        try:
            if not try_lock(run) and not _ended(root / f"{name}.run", run):
                raise EngineError(
                    f"a build whose command has ended still runs in {root / name}",
                    hint="end it, or run this command again when it has ended",
                )
            yield run
        finally:
            os.close(run)


def _ended(file: Path, run: int) -> bool:
    """Kills a build whose command has ended, and returns whether it has released its lock."""
    kill_processes_with_lock(file)
    return try_lock(run)


def _run(request: BuildRequest, tree: SourceTree, run_lock: int, progress: ProgressCallback) -> None:
    """Runs the commands of a build. Raises EngineError if one of them fails."""
    java = build_java_home(request.recipe, tree.folder)
    request.log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "JAVA_HOME": str(java), "PATH": f"{java}/bin:{os.environ.get('PATH', '')}"}
    for command in _commands(request, tree):
        output = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(output, f"$ {command}\n".encode())
            child = spawn_child(
                ChildCommand(
                    ("/bin/sh", "-c", command), tree.folder, environment, output, None, inherited=(run_lock,)
                )
            )
        finally:
            os.close(output)
        _await(child, f"building {request.distribution} {tree.label}", progress)
        if child.exit_code:
            raise EngineError(
                f"`{command}` in {tree.folder} failed with exit code {child.exit_code}: "
                f"{'; '.join(_last_lines(request.log))}",
                hint=f"read {request.log}",
            )


def _commands(request: BuildRequest, tree: SourceTree) -> Iterator[str]:
    if request.recipe.clean_command:
        yield request.recipe.clean_command
    yield request.recipe.build_command
    for plugin in _plugins(request, tree):
        yield f"./gradlew --no-daemon :plugins:{plugin}:assemble"


def _plugins(request: BuildRequest, tree: SourceTree) -> Iterator[str]:
    """Yields the requested plugins that are part of the sources."""
    for plugin in request.plugins:
        if "/" not in plugin and is_dir(tree.folder / "plugins" / plugin):
            yield plugin


def _await(child: ChildProcess, label: str, progress: ProgressCallback) -> None:
    """Waits for the end of a build. If the wait is interrupted, the build is ended."""
    try:
        while not child.wait(_POLL_S):
            progress(label, 0, 0)
    except BaseException:
        child.terminate()
        child.wait(_STOP_S)
        child.kill()
        raise


def _last_lines(log: Path) -> list[str]:
    """Returns the lines of the log that say why a build failed: those of Gradle, otherwise the last ones."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    wrong = text.rpartition(_WRONG)[2] if _WRONG in text else ""
    lines = [line.strip() for line in (wrong or text).splitlines() if line.strip()]
    return lines[:_SHOWN_LINES] if wrong else lines[-_SHOWN_LINES:]


def _artifacts(request: BuildRequest, tree: SourceTree) -> dict[str, Path]:
    """Returns the archives that a build has produced, by component. Raises EngineError if one is missing."""
    artifacts = {request.distribution: _newest(tree.folder, request.recipe.artifact_pattern)}
    for plugin in _plugins(request, tree):
        artifacts[plugin] = _newest(tree.folder, f"plugins/{plugin}/build/distributions/*.zip")
    return artifacts


def _newest(folder: Path, pattern: str) -> Path:
    files = sorted(filter(is_file, folder.glob(pattern)), key=lambda path: path.stat().st_mtime)
    if not files:
        raise EngineError(
            f"the build has produced no file {pattern} in {folder}",
            hint="check system.build_command and system.artifact_path_pattern of the car",
        )
    return files[-1]


class _Cache:
    """The archives of earlier builds."""

    def __init__(self, folder: Path, request: BuildRequest) -> None:
        self._folder = folder
        self._request = request

    def find(self, tree: SourceTree) -> BuiltEngine | None:
        """Returns what was built from the same sources with the same commands, or None."""
        folder = self._entry(tree)
        if folder is None or not exists(folder):
            return None
        with locked(self._folder / ".lock"):
            return self._found(tree, folder)

    def _found(self, tree: SourceTree, folder: Path) -> BuiltEngine | None:
        """Returns the build in a folder, which is marked as used."""
        try:
            record: dict[str, Any] = parse_json((folder / _RECORD).read_text("utf-8"))
            files = {name: folder / str(file) for name, file in record["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if self._request.distribution not in files or not all(is_file(file) for file in files.values()):
            return None
        os.utime(folder / _RECORD)
        return self._built(tree, files, cached=True)

    def keep(self, tree: SourceTree, artifacts: Mapping[str, Path]) -> BuiltEngine:
        """Keeps archives, unless it is not known what they were built from. Raises OSError."""
        folder = self._entry(tree)
        if folder is None:
            return self._built(tree, artifacts, cached=False)
        self._folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".build-", dir=self._folder))
        try:
            for file in artifacts.values():
                shutil.copyfile(file, part / file.name)
                # Damage of what is kept is noticed when it is installed.
                with (part / file.name).open("rb") as opened:
                    sha512 = hashlib.file_digest(opened, "sha512").hexdigest()
                (part / f"{file.name}.sha512").write_text(f"{sha512}  {file.name}\n", "utf-8")
            files = {name: file.name for name, file in artifacts.items()}
            record = {
                "commit": tree.commit,
                "local-changes": bool(tree.changes),
                "origin": tree.origin,
                "command": self._request.recipe.build_command,
                "files": files,
            }
            (part / _RECORD).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
            with locked(self._folder / ".lock"):
                discard_tree(folder)
                part.rename(folder)
        finally:
            discard_tree(part)
        return self._built(tree, {name: folder / file for name, file in files.items()}, cached=False)

    def prune(self) -> None:
        """Removes builds that were not used for some days, and those that were interrupted."""
        limit = time.time() - self._request.options.source_cache_days * _DAY_S
        # Commands that use other sources keep their builds here, too.
        with contextlib.suppress(OSError), locked(self._folder / ".lock"):
            for folder in self._folder.glob("*/"):
                record = folder / _RECORD
                with contextlib.suppress(OSError):
                    if (record if exists(record) else folder).stat().st_mtime < limit:
                        delete_tree(folder)

    def _entry(self, tree: SourceTree) -> Path | None:
        """Returns the folder of a build, or None if it must not be kept."""
        if not tree.commit or not self._request.options.source_cache_days:
            return None
        recipe = self._request.recipe
        commands = (recipe.build_command, recipe.artifact_pattern, *self._request.plugins)
        parts = (tree.commit, tree.changes, *commands)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
        return self._folder / f"{self._request.distribution}-{tree.commit[:12]}-{key}"

    def _built(self, tree: SourceTree, files: Mapping[str, Path], *, cached: bool) -> BuiltEngine:
        plugins = {name: file for name, file in files.items() if name != self._request.distribution}
        return BuiltEngine(
            files[self._request.distribution], plugins, tree, self._request.recipe.build_command, cached
        )
