"""The files of a search for better settings: the folder of an experiment, with a plan of its own.

PACENOTE_HOME/experiments/
└── <tune-id>/
    ├── tune.json          what may be changed, the objective, the budget; written once
    ├── journal.jsonl      what happened, one line for each event
    ├── .lock              locked while a process runs the search
    ├── report.html        the result as a page
    └── logs/              the output of each race

The confirmation is an experiment of its own, `<tune-id>-confirm-1`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from pathlib import Path

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.shell_command import shell_command
from pacenote.model.tune import TUNE_FORMAT, TuneEvent, TunePlan
from pacenote.store.atomic_files import remove_abandoned, store_error, write_atomically
from pacenote.store.begun_plans import BegunPlans
from pacenote.store.experiment_store import (
    LATEST,
    TUNE_PLAN,
    ExperimentFolder,
    ExperimentStore,
    check_no_link,
    check_own_plan,
    is_of_future,
)
from pacenote.store.file_lock import file_locked
from pacenote.store.journal import Journal
from pacenote.store.json_file import read_json
from pacenote.system.paths import is_file, is_link, named_paths_in

_NAME = "tune"


class TuneFolder:
    """The files of one search."""

    def __init__(self, path: Path) -> None:
        self.files = ExperimentFolder(path)
        """Its logs, and the lock of its races."""
        self.path = path
        self._journal = Journal(path / "journal.jsonl", TuneEvent.from_document)

    @property
    def tune_id(self) -> str:
        """The id."""
        return self.path.name

    def plan(self) -> TunePlan:
        """Returns the plan. Raises StoreError."""
        path = self.path / TUNE_PLAN
        try:
            document = read_json(path)
            written = document.get("format") if isinstance(document, dict) else None
            if isinstance(written, int) and written > TUNE_FORMAT:
                raise StoreError("a newer version of Pacenote wrote it")
            plan = TunePlan.from_document(document)
        except OSError as error:
            raise store_error("read", path, error) from error
        except (ValueError, RecursionError, PacenoteError) as error:
            raise StoreError(f"{path} is not the plan of a search: {error}") from error
        check_own_plan(path, plan.tune_id)
        return plan

    def is_running(self) -> bool:
        """Returns whether a process runs the search."""
        return self.files.is_running()

    def journal(self) -> tuple[TuneEvent, ...]:
        """Returns what happened so far. Raises StoreError."""
        return self._journal.read()

    @contextlib.contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Keeps other processes from running the search. Raises StoreError if one does, and for a link to a
        folder.
        """
        check_no_link(self.files)
        busy = StoreError(f"search '{self.tune_id}' is running", hint="wait until it has ended, or stop it")
        with file_locked(self.path / ".lock", busy):
            remove_abandoned(self.path)
            self._journal.repair()
            yield

    def append(self, event: TuneEvent) -> None:
        """Adds an event, durably. Raises StoreError."""
        self._journal.append(event.to_document())


def create_tune(store: ExperimentStore) -> TuneFolder:
    """Creates the folder of a new search. Raises StoreError."""
    return TuneFolder(store.create(_NAME).path)


def write_tune(folder: TuneFolder, plan: TunePlan) -> None:
    """Stores the plan of a new search, which the home of its folder has begun. Raises StoreError."""
    document = json.dumps(plan.to_document(), ensure_ascii=False, indent=1).encode()
    # Without it, the search runs, but has to be adopted to be resumed.
    with contextlib.suppress(StoreError):
        BegunPlans(folder.path.parents[1]).add(folder.tune_id, document)
    write_atomically(folder.path / TUNE_PLAN, document)


def find_tune(store: ExperimentStore, reference: str, *, is_resumed: bool = False) -> TuneFolder:
    """Returns a search by its id, or the newest one for `latest`: of those to be resumed, the newest one that
    this home has begun, unless it has begun none. Raises StoreError.
    """
    known = list_tunes(store)
    if reference == LATEST and is_resumed:
        own = store.latest_begun(folder.files for folder in known)
        reference = own.experiment_id if own is not None else LATEST
    if reference == LATEST and known:
        return next((each for each in known if not is_of_future(each.path / TUNE_PLAN)), known[0])
    for folder in known:
        if reference == folder.tune_id:
            return folder
    if reference in (folder.experiment_id for folder in store.list()):
        hint = f"see `{shell_command('pacenote', 'experiment', 'report', reference)}`"
        raise StoreError(f"{reference} is an experiment, not a search", hint=hint)
    for path in named_paths_in(store.experiments):
        if path.name == reference:
            check_no_link(ExperimentFolder(path))
    hint = "see `pacenote tune list`" if known else "`pacenote tune --objective=…` begins one"
    raise StoreError(f"no search '{reference}' in {store.experiments}", hint=hint)


def list_tunes(store: ExperimentStore) -> list[TuneFolder]:
    """Returns all searches, newest first; no links to folders, and none whose name cannot be an id."""
    known = []
    folders = (folder for folder in named_paths_in(store.experiments) if not is_link(folder))
    for path in (folder / TUNE_PLAN for folder in folders):
        # One that cannot be looked at hides no other one.
        with contextlib.suppress(OSError):
            if is_file(path):
                known.append((path.lstat().st_mtime_ns, path.parent))
    known.sort()
    return [TuneFolder(path) for _, path in reversed(known)]
