"""Import hook that serves Rally's module names to plug-ins: `esrally.x` is `rally_api.esrally.x`.

Active only while plug-ins of a track are loaded. An installed Rally is neither imported nor changed: this
hook comes first, and modules that were imported before are restored afterwards.
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

_SERVED_AS = {"esrally": "pacenote.plugins.rally_api.esrally"}
"""Package that plug-ins import → package that is served instead."""


class _Loader(importlib.abc.Loader):
    """Loads an existing module under a second name."""

    def __init__(self, served: str) -> None:
        self._served = served
        self._own: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002  # of the protocol
        module = importlib.import_module(self._served)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules with Rally's names before any other finder."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # of the protocol
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if top not in _SERVED_AS:
            return None
        served = f"{_SERVED_AS[top]}.{rest}" if rest else _SERVED_AS[top]
        try:
            spec = importlib.util.find_spec(served)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise ModuleNotFoundError(f"Pacenote does not provide the module {fullname}", name=fullname)
        is_package = spec.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Loader(served), is_package=is_package)


@contextmanager
def serve_rally_modules() -> Generator[None, None, None]:
    """Serves Rally's modules until the end of the block; blocks cannot be nested."""
    before = _remove_rally_modules()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _remove_rally_modules()
        sys.modules.update(before)


def _remove_rally_modules() -> dict[str, ModuleType]:
    """Removes modules with Rally's names from `sys.modules`, and returns them."""
    names = [name for name in sys.modules if name.partition(".")[0] in _SERVED_AS]
    return {name: sys.modules.pop(name) for name in names}
