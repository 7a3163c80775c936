"""Loads the Python of a track: `track.py` and every module below the track's folder.

Modules are named `TRACK.folder.module`, and the folder that holds the track's folder comes first where Python
looks for modules, because tracks import from one another that way.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.plugins.failures import describe
from pacenote.plugins.rally_api.import_hook import serving
from pacenote.plugins.registry import PluginRegistry, set_current_registry

_MISSING_HINT = "the track does not declare it under dependencies; install it beside Pacenote"
_SERVED_HINT = "docs/plugins.md lists the modules of Rally that plug-ins can import here"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The plug-ins of a track: where they are and what they registered."""

    root: Path
    file: Path
    registry: PluginRegistry = field(default_factory=PluginRegistry)


@contextlib.contextmanager
def loaded(file: Path, libraries: Sequence[Path] = ()) -> Generator[Loaded, None, None]:
    """The plug-ins of the track whose Python begins in `file`, as long as they are in use.

    `libraries` are folders of packages that the track depends on. Raises `TrackError` with file and line of
    what went wrong. Afterwards the modules of the track are forgotten. Not for two tracks at a time.
    """
    file = file.absolute()
    root = file.parent
    with serving(), _own_modules(root, libraries), _quiet():
        plugins = Loaded(root, file)
        set_current_registry(plugins.registry)
        entry = _load_all(root, file)
        _register(entry, plugins)
        yield plugins


@contextlib.contextmanager
def _quiet() -> Generator[None, None, None]:
    """Plug-ins log, as they do for Rally's log file: without a handler, that would go to the terminal."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


@contextlib.contextmanager
def _own_modules(root: Path, libraries: Sequence[Path]) -> Generator[None, None, None]:
    """Lets Python find modules of the track, and takes everything back."""
    before_path, before = list(sys.path), dict(sys.modules)
    clashing = sys.modules.get(root.name)
    if (
        clashing is not None
        and root.name not in sys.stdlib_module_names
        and not _below(clashing, root.parent)
    ):
        for name in [name for name in before if name.partition(".")[0] == root.name]:
            del sys.modules[name]
    sys.path[:0] = [str(root.parent), *map(str, libraries)]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before_path
        for name in [name for name, module in sys.modules.items() if _below(module, root.parent)]:
            if before.get(name) is not sys.modules[name]:
                del sys.modules[name]
        for name, module in before.items():
            sys.modules.setdefault(name, module)


def _below(module: object, folder: Path) -> bool:
    """Whether a module comes from a folder."""
    files = [getattr(module, "__file__", None), *_search_path(module)]
    prefix = os.path.join(folder, "")  # noqa: PTH118  # A prefix of text, not a path.
    return any(isinstance(file, str) and file.startswith(prefix) for file in files)


def _search_path(module: object) -> list[object]:
    try:
        return list(getattr(module, "__path__", ()))
    except Exception:  # Some modules compute it, and may fail.
        return []


def _load_all(root: Path, file: Path) -> ModuleType:
    entry = _load(root, f"{root.name}.{file.stem}", file)
    for name, path in _modules(root):
        if name not in sys.modules:
            _load(root, name, path)
    return entry


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Every module below the folder with its name; folders that begin with an underscore are left out."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("_"))
        parts = Path(folder).relative_to(root.parent).parts
        for name in sorted(files):
            if name.endswith(".py"):
                stem = name.removesuffix(".py")
                own = parts if stem == "__init__" else (*parts, stem)
                yield ".".join(own), Path(folder, name)


def _load(root: Path, name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _guarded(root, path, lambda: spec.loader.exec_module(module) if spec.loader else None)
    return module


def _register(entry: ModuleType, plugins: Loaded) -> None:
    register = getattr(entry, "register", None)
    if not callable(register):
        raise TrackError(
            f"{plugins.file} has no function register(registry)",
            hint="it is what Rally calls to learn what the track offers",
        )
    _guarded(plugins.root, plugins.file, lambda: register(plugins.registry))


def _guarded(root: Path, file: Path, call: Callable[[], object]) -> None:
    """Calls code of a plug-in; whatever it raises becomes one line."""
    try:
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
    served = (error.name or "").startswith(("esrally", "pacenote.plugins.rally_api.esrally"))
    return _SERVED_HINT if served else _MISSING_HINT if isinstance(error, ModuleNotFoundError) else ""


def _shown(file: Path, root: Path) -> str:
    return f"{quoted(root.name)} ({file.relative_to(root)})"
