"""Loads the Python code of a track: `track.py` and every module below the track's folder that is not hidden.

Modules are named `TRACK.folder.module`, and the parent of the track's folder is first in `sys.path`, so that
tracks can import from each other. A parent such as /tmp, in which all users may create files, is not: modules
of others would replace those of Python.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from msgspec import Struct, field

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.plugins.failures import describe
from pacenote.plugins.plugin_registry import PluginRegistry, set_current_registry
from pacenote.plugins.process_guard import protected_process
from pacenote.plugins.rally_api.import_hook import serve_rally_modules
from pacenote.plugins.track_log import TrackLog, track_log
from pacenote.system.folder_trees import walk_folders
from pacenote.system.ownership import is_shared_folder

_UNDECLARED_HINT = "the track does not declare it under dependencies; install it in Pacenote's environment"
_RALLY_MODULES_HINT = "docs/plugins.md lists the modules of Rally that plug-ins can import"


class LoadedPlugins(Struct, frozen=True):
    """The plug-ins of a track."""

    root: Path
    """Folder of the track."""

    file: Path
    """The track's `track.py`."""

    log: TrackLog
    """What the code logs."""

    registry: PluginRegistry = field(default_factory=PluginRegistry)
    """The registry of what the plug-ins registered."""


@contextlib.contextmanager
def load_plugins(
    file: Path, libraries: Sequence[Path] = (), warn: Callable[[str], None] = lambda _: None
) -> Generator[LoadedPlugins, None, None]:
    """Loads the plug-ins of a track from its `track.py`; unloads its modules at the end of the block.

    `libraries` are folders of packages that the track depends on; `warn` is called with warnings that the
    code logs. Only one track can be loaded at a time. Raises `TrackError` with file and line of the failure.
    """
    file = file.absolute()
    root = file.parent
    with serve_rally_modules(), _importable(root, libraries), track_log(warn) as log:
        plugins = LoadedPlugins(root, file, log)
        set_current_registry(plugins.registry)
        entry = _load_all(root, file)
        _register(entry, plugins)
        yield plugins


@contextlib.contextmanager
def _importable(root: Path, libraries: Sequence[Path]) -> Generator[None, None, None]:
    """Makes modules of the track and its libraries importable; restores `sys.path` and `sys.modules` at the
    end.
    """
    before_path, before = list(sys.path), dict(sys.modules)
    finder = _TrackFinder(root)
    clashing = sys.modules.get(root.name)
    if (
        clashing is not None
        and root.name not in sys.stdlib_module_names
        and not _below(clashing, root.parent)
    ):
        for name in [name for name in before if name.partition(".")[0] == root.name]:
            del sys.modules[name]
    sys.path[:0] = map(str, libraries)
    if is_shared_folder(root.parent):
        # The first one serves Rally's modules.
        sys.meta_path.insert(1, finder)
    else:
        sys.path.insert(0, str(root.parent))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before_path
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        added = [name for name, module in sys.modules.items() if before.get(name) is not module]
        for name in added:
            if _below(sys.modules[name], root.parent):
                del sys.modules[name]
        for name, module in before.items():
            sys.modules.setdefault(name, module)


class _TrackFinder(MetaPathFinder):
    """Finds the package of a track, and nothing else in the parent of its folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002  # Python passes it
    ) -> ModuleSpec | None:
        """Returns the package, or None for every other name; called by Python."""
        is_track = path is None and fullname == self._root.name
        return PathFinder.find_spec(fullname, [str(self._root.parent)]) if is_track else None


def _below(module: object, folder: Path) -> bool:
    """Returns whether a module was loaded from a folder."""
    files = [getattr(module, "__file__", None), *_search_path(module)]
    prefix = os.path.join(folder, "")  # noqa: PTH118  # A text prefix, not a path.
    return any(isinstance(file, str) and file.startswith(prefix) for file in files)


def _search_path(module: object) -> list[object]:
    try:
        return list(getattr(module, "__path__", ()))
    except Exception:  # Some modules compute the attribute, which may fail.
        return []


def _load_all(root: Path, file: Path) -> ModuleType:
    entry = _load(root, f"{root.name}.{file.stem}", file)
    for name, path in _modules(root):
        if name not in sys.modules:
            _load(root, name, path)
    return entry


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yields name and path of each module below the folder, except in folders that begin with an underscore,
    and what is hidden: such a name is not that of a module, and a checkout or another program may have it.
    """
    for folder, folders, files in walk_folders(root):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        parts = Path(folder).relative_to(root.parent).parts
        for name in sorted(files):
            if name.endswith(".py") and not name.startswith("."):
                stem = name.removesuffix(".py")
                name_parts = parts if stem == "__init__" else (*parts, stem)
                yield ".".join(name_parts), Path(folder, name)


def _load(root: Path, name: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise TrackError(f"{path} is not a file with Python code", hint="remove it from the track")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _guarded(root, path, lambda: spec.loader.exec_module(module) if spec.loader else None)
    return module


def _register(entry: ModuleType, plugins: LoadedPlugins) -> None:
    register = getattr(entry, "register", None)
    if not callable(register):
        raise TrackError(
            f"{plugins.file} has no function register(registry)",
            hint="Rally and Pacenote call it to register the plug-ins of the track",
        )
    _guarded(plugins.root, plugins.file, lambda: register(plugins.registry))


def _guarded(root: Path, file: Path, call: Callable[[], object]) -> None:
    """Calls code of a plug-in. Raises `TrackError` with a one-line message for any error."""
    try:
        with protected_process():
            call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        hint = _hint(error)
        where = describe(error, root)
        if isinstance(error, TrackError):
            hint, where = error.hint, where.replace("TrackError: ", "")
        raise TrackError(f"the plug-in {_shown(file, root)} cannot be loaded: {where}", hint=hint) from error


def _hint(error: BaseException) -> str:
    if not isinstance(error, ImportError):
        return ""
    is_rally = (error.name or "").startswith(("esrally", "pacenote.plugins.rally_api.esrally"))
    if is_rally:
        return _RALLY_MODULES_HINT
    return _UNDECLARED_HINT if isinstance(error, ModuleNotFoundError) else ""


def _shown(file: Path, root: Path) -> str:
    return f"{quoted(root.name)} ({file.relative_to(root)})"
