"""The process that runs hooks: reads a request from standard input, calls the hooks, writes a JSON reply."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pacenote.model.messages import did_you_mean, quoted
from pacenote.plugins.failures import describe
from pacenote.plugins.rally_api.errors import SystemSetupError
from pacenote.plugins.rally_api.import_hook import serve_rally_modules
from pacenote.plugins.tools import DataTools, set_current_tools
from pacenote.system.paths import is_file, paths_in

PHASES = ("post_install",)
"""The phases for which hooks can be registered."""


class HookHandler:
    """What `register(handler)` gets: collects the hooks of each phase."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Callable[..., object]]] = {phase: [] for phase in PHASES}

    def register(self, phase: str, hook: Callable[..., object]) -> None:
        """Registers a hook for a phase. Raises SystemSetupError for an unknown phase."""
        if phase not in self.hooks:
            raise SystemSetupError(
                f"Unknown bootstrap phase {quoted(phase)}{did_you_mean(phase, PHASES)}: "
                f"valid phases are {', '.join(PHASES)}."
            )
        self.hooks[phase].append(hook)


def main() -> None:
    """Runs the hooks of one request. The reply has the key `error` if one has failed."""
    # What hooks print must not get into the reply.
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    # Unbuffered, because the thread reads on from the same descriptor.
    request = json.loads(_read_line())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    reply.write(json.dumps(run_request(request)))
    reply.close()


def run_request(request: Mapping[str, Any]) -> dict[str, str]:
    """Calls the hooks of one car or plugin, and returns the reply."""
    scripts = [Path(script) for script in request["scripts"]]
    names = request["config_names"]
    # As in Rally: a text for cars, and a list for plugins.
    if names is not None and request["owner"].startswith("car "):
        names = "+".join(names)
    handler = HookHandler()
    where = scripts[0].parent
    set_current_tools(DataTools(unpack=_unpack))
    try:
        with serve_rally_modules():
            for script in scripts:
                where = script.parent
                _load(script).register(handler)
            for hook in handler.hooks["post_install"]:
                where = Path(hook.__code__.co_filename).parent if hasattr(hook, "__code__") else where
                run = request["run"]
                hook(config_names=names, variables=dict(run["variables"]), env=dict(run["environment"]))
    except BaseException as error:  # as hooks may call sys.exit
        logging.getLogger(__name__).exception("a hook has failed")
        return {"error": describe(error, where)}
    return {}


def _unpack(archive: Path, target: Path) -> None:
    """Unpacks what a tool of the engine has made: all files of an archive, into the folder of `target`."""
    shutil.unpack_archive(archive, target.parent)


def _load(script: Path) -> ModuleType:
    """Returns the module of a script, which can import the other modules in its folder.

    As in Rally, these are named `FOLDER.MODULE`, and the folder's parent is in the path.
    """
    folder = script.parent
    sys.path.insert(0, str(folder.parent))
    others = [path for path in paths_in(folder) if path.suffix == ".py" and path != script]
    return [_module(folder.name, path) for path in (*others, script)][-1]


def _module(package: str, path: Path) -> ModuleType:
    name = f"{package}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not is_file(path):
        raise SystemSetupError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (part := os.read(0, 1 << 16)):
        line += part
    return line


def _end_with_parent() -> None:
    """Ends this process and its children when the parent has ended."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
