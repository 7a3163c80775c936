"""Import hook that serves Rally's module names to plug-ins: `esrally.x` is `rally_api.esrally.x`.

Only while plug-ins of a track are in use. An installed Rally is neither imported nor touched: ours comes
first, and what was imported before is put back afterwards.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import ModuleType

_OURS = {"esrally": "pacenote.plugins.rally_api.esrally"}
"""What plug-ins import, and where we have it."""


class _Loader(importlib.abc.Loader):
    """Gives the module that already is there a second name."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._own: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002  # of the protocol
        module = importlib.import_module(self._ours)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for names below those of Rally, so that nobody else is asked."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # of the protocol
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if top not in _OURS:
            return None
        ours = f"{_OURS[top]}.{rest}" if rest else _OURS[top]
        try:
            found = importlib.util.find_spec(ours)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ModuleNotFoundError(f"Pacenote offers no module {fullname} to tracks", name=fullname)
        is_package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Loader(ours), is_package=is_package)


@contextmanager
def serving() -> Generator[None, None, None]:
    """Serves Rally's names until left. Not for two at a time."""
    before = _taken_out()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _taken_out()
        sys.modules.update(before)


def _taken_out() -> dict[str, ModuleType]:
    """Removes everything of Rally's names from the modules in use, and returns it."""
    names = [name for name in sys.modules if name.partition(".")[0] in _OURS]
    return {name: sys.modules.pop(name) for name in names}
