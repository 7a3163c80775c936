"""The installations of a home: engines that `pacenote install` or `pacenote start` installed.

HOME/installations/ID/installation.json   the state of an installation
HOME/installations/ID/logs/N/*            the logs of the nodes of a start, and nothing else
HOME/installations/ID/*                   what it is installed from, and what its clients need

Only their owner can read these folders: states and logs may contain settings that are secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

from pacenote.errors import PacenoteError, StoreError, UsageError
from pacenote.model.codec import Integer, Stored, decode, encode
from pacenote.model.engine_options import EngineOptions
from pacenote.model.messages import list_with_rest, similar_names
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.json_file import read_json
from pacenote.system.folder_trees import discard_tree
from pacenote.system.paths import exists, is_missing, paths_in

INSTALLATIONS = "installations"
"""Name of the folder with all installations in a home folder."""

FORMAT = 1
"""The version of the format of a state file."""

INSTALLATION = "--installation-id="
"""The option of commands that names an installation."""

_FILE = "installation.json"
_LOGS = "logs"
_KEPT_STARTS = 5
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_ABANDONED_S = 3600.0
_MAX_NAMED = 5


def new_kept_id(experiment_id: str) -> str:
    """Returns the id of a new installation that an experiment keeps for all of its races."""
    return f"{_kept_prefix(experiment_id)}{uuid.uuid4().hex}"


def is_kept_id(installation_id: str, experiment_id: str) -> bool:
    """Returns whether an installation with this id is one that the experiment keeps for its races. Others
    that its folder names are not: someone else may have had the folder.
    """
    return installation_id.startswith(_kept_prefix(experiment_id))


def _kept_prefix(experiment_id: str) -> str:
    # The id of an experiment may be longer than that of an installation.
    return f"kept-{hashlib.sha256(os.fsencode(experiment_id)).hexdigest()[:16]}-"


class InstalledEngine(Stored, frozen=True, kw_only=True):
    """The state of one installation."""

    format: Integer = FORMAT
    """The version of the format."""
    id: str
    """The id of the installation."""
    created: str
    """When it was made, in UTC (ISO 8601)."""
    engine: EngineOptions
    """The engine; its options may contain secrets."""
    node_name: str = "rally-node-0"
    """`node.name`."""
    http_port: Integer = 39200
    """`http.port`."""
    transport_port: Integer = 39300
    """`transport.port`."""
    used: bool = False
    """Whether it was started, so that there may be data."""


class InstallationStore:
    """All installations below a home folder. Folders are created when they are needed."""

    def __init__(self, home: Path) -> None:
        self._root = home / INSTALLATIONS

    @property
    def ports(self) -> Path:
        """The folder of the locks on ports that commands have chosen."""
        return self._root.with_name("ports")

    def folder(self, installation_id: str) -> Path:
        """Returns the folder of an installation."""
        return self._root / installation_id

    def new_logs(self, installation_id: str) -> Path:
        """Returns a new folder for the logs of a start, and removes those of all but the last starts. Raises
        StoreError.
        """
        folder = self.create_folder(installation_id) / _LOGS
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            numbers = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
            for number in numbers[: -_KEPT_STARTS + 1]:
                discard_tree(folder / str(number))
            logs = folder / str(max(numbers, default=0) + 1)
            logs.mkdir(mode=PRIVATE_FOLDER)
        except OSError as error:
            raise store_error("create", folder, error) from error
        return logs

    def create_folder(self, installation_id: str) -> Path:
        """Creates the folder of an installation if it is missing, and returns it. Other users cannot enter
        it, nor that of an earlier version from now on. Raises StoreError.
        """
        folder = self.folder(installation_id)
        try:
            for private in (self._root, folder):
                private.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
                private.chmod(PRIVATE_FOLDER)
        except OSError as error:
            raise store_error("create", folder, error) from error
        return folder

    def save(self, state: InstalledEngine) -> None:
        """Writes or replaces the state of an installation atomically. Raises StoreError."""
        folder = self.create_folder(state.id)
        write_atomically(folder / _FILE, (json.dumps(encode(state), indent=2) + "\n").encode())

    def load(self, installation_id: str) -> InstalledEngine:
        """Returns the state of an installation.

        Raises UsageError if there is none, with similar ids, and StoreError for a file that cannot be read.
        """
        if not is_installation_id(installation_id) or not exists(self.folder(installation_id) / _FILE):
            known = self.ids()
            meant = similar_names(installation_id, known)
            listed = f"installations: {list_with_rest(known, _MAX_NAMED)}" if known else "there are none"
            raise UsageError(
                f"there is no installation '{installation_id}'",
                hint=f"did you mean {' or '.join(meant)}?" if meant else listed,
            )
        return self._read(installation_id)

    def ids(self) -> list[str]:
        """Returns the ids of all installations, sorted."""
        return [
            name
            for path in paths_in(self._root)
            if is_installation_id(name := path.name) and exists(path / _FILE)
        ]

    def all(self) -> list[InstalledEngine]:
        """Returns all installations whose state can be read, sorted by id."""
        installations = []
        for name in self.ids():
            try:
                installations.append(self._read(name))
            except StoreError:
                continue
        return installations

    def remove_state(self, installation_id: str) -> None:
        """Removes the state of an installation if it has one; its logs stay until it counts as abandoned."""
        (self.folder(installation_id) / _FILE).unlink(missing_ok=True)

    def remove(self, installation_id: str) -> None:
        """Removes the state and the logs of an installation. May be called again."""
        self.remove_state(installation_id)
        discard_tree(self.folder(installation_id))

    def remove_abandoned(self) -> None:
        """Removes folders without a state that were last written more than an hour ago: the logs of engines
        that did not start.
        """
        for folder in paths_in(self._root):
            # Another command may have removed it, and a link may lead to nothing.
            with contextlib.suppress(OSError):
                if is_missing(folder / _FILE) and folder.stat().st_mtime < time.time() - _ABANDONED_S:
                    discard_tree(folder)

    def _read(self, installation_id: str) -> InstalledEngine:
        path = self.folder(installation_id) / _FILE
        try:
            document: Any = read_json(path)
            written = document.get("format") if isinstance(document, dict) else None
            if isinstance(written, int) and written > FORMAT:
                raise StoreError(f"{path} was written by a newer version of Pacenote", hint="update Pacenote")
            return decode(InstalledEngine, document, str(path))
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read: {error}", hint="remove its folder") from error
        except StoreError:
            raise
        except PacenoteError as error:
            raise StoreError(error.message, hint=error.hint or "remove its folder") from error


def is_installation_id(text: str) -> bool:
    """Returns whether a text can be the id of an installation: a file name of at most 64 characters."""
    return _ID.fullmatch(text) is not None
