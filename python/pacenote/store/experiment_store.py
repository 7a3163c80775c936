"""Creates, finds and lists the experiments below a home folder.

PACENOTE_HOME/experiments/
└── <experiment-id>/
    ├── experiment.toml    the file, as it was given
    ├── plan.json          the races in their order; written once
    ├── journal.jsonl      what happened, one line for each event
    ├── .lock              locked while a process runs the experiment
    ├── .races             locked by the process of each race while it runs
    ├── .gate              locked by each of two races at the same time until it is ready
    ├── report.html        the result as a page
    └── logs/              the output of each race

The races themselves are in `races`, like all others. A folder without `plan.json` is a search
(`tune_store.py`), or cannot be run: its process was killed before it had a plan, or its deletion was
interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.experiment import PLAN_FORMAT, ExperimentPlan, JournalEntry
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import shortened, single_line
from pacenote.model.race_time import is_in_future
from pacenote.model.shell_command import shell_command
from pacenote.store.atomic_files import PRIVATE_FOLDER, remove_abandoned, store_error, write_atomically
from pacenote.store.begun_plans import BegunPlans, plan_digest
from pacenote.store.file_lock import file_awaited, file_locked, is_file_locked
from pacenote.store.home import RACES, default_home
from pacenote.store.installation_store import INSTALLATION, InstallationStore, is_kept_id
from pacenote.store.journal import Journal
from pacenote.store.json_file import read_json
from pacenote.system.folder_trees import delete_tree, discard_tree
from pacenote.system.ownership import changeable_by_others
from pacenote.system.paths import exists, is_dir, is_file, is_link, paths_in, written_at
from pacenote.system.regular_files import read_stored_file

EXPERIMENTS = "experiments"
"""Name of the folder with all experiments in a home folder."""

TUNE_PLAN = "tune.json"
"""Name of the plan of a search, which is in a folder beside those of experiments."""

LATEST = "latest"
"""Refers to the newest experiment instead of an id."""

NOISE = "noise.json"
"""Name of the file with the spread of races, by host, workload, engine and metric."""

_ABANDONED_S = 3600.0
_MAX_NAMED = 3
_BEFORE_PLAN = frozenset({"logs", ".lock", ".races", ".gate"})
"""What the folder of an experiment or a search may contain before it has a plan."""


class ExperimentFolder:
    """The files of one experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def experiment_id(self) -> str:
        """The id."""
        return self.path.name

    @property
    def is_search(self) -> bool:
        """Whether it is the folder of a search; a link is not."""
        return not is_link(self.path) and exists(self.path / TUNE_PLAN)

    @property
    def kind(self) -> str:
        """What its folder contains, in messages."""
        return "search" if self.is_search else "experiment"

    @property
    def plan_json(self) -> Path:
        """The plan."""
        return self.path / "plan.json"

    @property
    def journal_file(self) -> Path:
        """The journal."""
        return self.path / "journal.jsonl"

    @property
    def plan_file(self) -> Path:
        """The plan of the experiment or of the search."""
        return self.path / TUNE_PLAN if self.is_search else self.plan_json

    def problem_of_others(self) -> str:
        """Returns why others could change what is run while it is resumed; empty if they cannot."""
        files = (self.plan_json, self.path / TUNE_PLAN, self.toml, self.journal_file, self.engine_json)
        return changeable_by_others(self.path, files)

    def log(self, race_id: str) -> Path:
        """Returns the file for the output of a race."""
        return self.path / "logs" / f"{race_id}.log"

    @property
    def page(self) -> Path:
        """The result as a page."""
        return self.path / "report.html"

    def write_page(self, text: str) -> None:
        """Stores the result as a page, which replaces an earlier one. Raises StoreError."""
        write_atomically(self.page, text.encode())

    @property
    def toml(self) -> Path:
        """The file of the experiment, as it was given."""
        return self.path / "experiment.toml"

    def text(self) -> str:
        """Returns the file of the experiment. Raises StoreError, also if it was changed."""
        digest = self.plan().file_digest
        try:
            text = read_stored_file(self.toml).decode("utf-8", "replace")
        except OSError as error:
            raise store_error("read", self.toml, error) from error
        if digest and file_digest(text) != digest:
            raise StoreError(
                f"{self.toml} was changed after its races were planned",
                hint="undo the change, or copy the file and run it as a new experiment",
            )
        return text

    def plan(self) -> ExperimentPlan:
        """Returns the plan. Raises StoreError."""
        try:
            document = read_json(self.plan_json)
            written = document.get("format") if isinstance(document, dict) else None
            if isinstance(written, int) and written > PLAN_FORMAT:
                raise StoreError("a newer version of Pacenote wrote it")
            plan = ExperimentPlan.from_document(document)
        except FileNotFoundError:
            raise StoreError(
                f"experiment '{self.experiment_id}' has no plan: its process ended before it had one",
                hint=f"`{_deletion(self.experiment_id)}` removes its folder",
            ) from None
        except OSError as error:
            raise store_error("read", self.plan_json, error) from error
        except (ValueError, RecursionError, PacenoteError) as error:
            raise StoreError(f"{self.plan_json} is not the plan of an experiment: {error}") from error
        check_own_plan(self.plan_json, plan.experiment_id)
        return plan

    @property
    def engine_json(self) -> Path:
        """The file with the engine that was started for all races, while it runs."""
        return self.path / "engine.json"

    @property
    def start_gate(self) -> Path:
        """The file that races at the same time share to begin together."""
        return self.path / ".gate"

    @property
    def races_lock(self) -> Path:
        """The file that the processes of its races lock."""
        return self.path / ".races"

    def journal(self) -> tuple[JournalEntry, ...]:
        """Returns what happened so far. Raises StoreError."""
        return self._journal.read()

    def append(self, entry: JournalEntry) -> None:
        """Adds an event, durably. Raises StoreError."""
        self._journal.append(entry.to_document())

    @contextlib.contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Keeps other processes from running the experiment, and repairs its journal. Raises StoreError if
        one runs it, and for a link to a folder.
        """
        with self.kept_from_others():
            remove_abandoned(self.path)
            self._journal.repair()
            yield

    @contextlib.contextmanager
    def kept_from_others(self) -> Generator[None, None, None]:
        """Does the same, but changes no file."""
        check_no_link(self)
        busy = StoreError(
            f"{self.kind} '{self.experiment_id}' is running", hint="wait until it has ended, or stop it"
        )
        with file_locked(self._lock, busy):
            yield

    def is_running(self) -> bool:
        """Returns whether a process runs the experiment; of a link, none does."""
        return not is_link(self.path) and is_file_locked(self._lock)

    @property
    def _lock(self) -> Path:
        return self.path / ".lock"

    @property
    def _journal(self) -> Journal[JournalEntry]:
        return Journal(self.journal_file, JournalEntry.from_document)


class ExperimentStore:
    """All experiments below a home folder (default: `default_home()`)."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or default_home()
        self.experiments = self.home / EXPERIMENTS

    def create(self, name: str) -> ExperimentFolder:
        """Creates the folder of a new experiment; its id is the name with a number. Raises StoreError."""
        self._remove_abandoned()
        try:
            self.experiments.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("create", self.experiments, error) from error
        number, raced = 1, self._raced(name)
        while True:
            if number in raced:
                number += 1
                continue
            path = self.experiments / f"{name}-{number}"
            try:
                path.mkdir(mode=PRIVATE_FOLDER)
                (path / "logs").mkdir(mode=PRIVATE_FOLDER)
            except FileExistsError:
                number += 1
                continue
            except OSError as error:
                discard_tree(path)
                raise store_error("create", path, error) from error
            return ExperimentFolder(path)

    def _raced(self, name: str) -> frozenset[int]:
        """Returns the numbers of experiments that were deleted while their races were kept: their races would
        have the tags of those of a new one.
        """
        own = re.compile(rf"{re.escape(name)}-(\d{{1,9}})-\d{{3,}}(?:\.\d+)?")
        matches = [own.fullmatch(path.name) for path in paths_in(self.home / RACES)]
        return frozenset(int(match[1]) for match in matches if match is not None)

    def _remove_abandoned(self) -> None:
        """Removes folders of an hour ago that contain only what an experiment or a search has before it has a
        plan: their process was killed. Any other folder may be damaged, or not be ours.
        """
        for path in _real_folders(self.experiments):
            # Another process may have removed it.
            with contextlib.suppress(OSError):
                is_old = path.lstat().st_mtime < time.time() - _ABANDONED_S
                names = {entry.name for entry in path.iterdir()}
                if is_old and names <= _BEFORE_PLAN and not ExperimentFolder(path).is_running():
                    _remove_empty(path)

    def delete(self, folder: ExperimentFolder) -> str:
        """Deletes an experiment or a search, but not its races, or the link in its place, but not what that
        leads to. Returns the option for an engine that it names although this home has not begun it; empty if
        there is none. Raises StoreError, also if it is running, or if a killed process has left its engine.
        """
        if is_link(folder.path):
            try:
                folder.path.unlink()
            except OSError as error:
                raise store_error("delete", folder.path, error) from error
            return ""
        with folder.kept_from_others():
            engine = self._left_engine(folder)
            # Someone else may have had the folder, and may have written any of the user's engines into it.
            is_own = is_kept_id(engine.removeprefix(INSTALLATION), folder.experiment_id)
            if is_own and self.has_begun(folder):
                raise StoreError(
                    f"the engine of experiment '{folder.experiment_id}' has not been stopped",
                    hint=f"stop it first: {shell_command('pacenote', 'stop', engine)}",
                )
            try:
                # Without its plan it is no experiment any more, even if the rest cannot be removed.
                for plan in (folder.plan_json, folder.path / TUNE_PLAN):
                    plan.unlink(missing_ok=True)
                delete_tree(folder.path)
            except OSError as error:
                raise store_error("delete", folder.path, error) from error
        return engine

    def _left_engine(self, folder: ExperimentFolder) -> str:
        """Returns the option for an installation that the folder names; empty if there is none."""
        try:
            option = read_json(folder.engine_json)
        except (OSError, ValueError, RecursionError):
            return ""
        installed = InstallationStore(self.home).ids()
        return option if isinstance(option, str) and option.removeprefix(INSTALLATION) in installed else ""

    def write(self, folder: ExperimentFolder, text: str, plan: ExperimentPlan) -> None:
        """Stores the file and the plan of a new experiment, which this home has begun; removes its folder if
        that fails. Raises StoreError.
        """
        document = json.dumps(plan.to_document(), ensure_ascii=False, indent=1).encode()
        try:
            write_atomically(folder.toml, text.encode())
            # Without it, the experiment runs, but has to be adopted to be resumed.
            with contextlib.suppress(StoreError):
                BegunPlans(self.home).add(folder.experiment_id, document)
            write_atomically(folder.plan_json, document)
        except BaseException:
            discard_tree(folder.path)
            raise

    def has_begun(self, folder: ExperimentFolder) -> bool:
        """Returns whether this home has begun an experiment or a search with its plan as it is now. It is not
        known of those of earlier versions, and of those that others have made or could change.
        """
        return _is_begun(folder, BegunPlans(self.home).digests())

    def begun_problem(self, folder: ExperimentFolder | None = None) -> str:
        """Returns why this home cannot tell what it has begun, or whether that is this experiment or search;
        empty if it can.
        """
        problem = BegunPlans(self.home).problem()
        return problem or ("" if folder is None else folder.problem_of_others())

    def adopt(self, folder: ExperimentFolder) -> None:
        """Has an experiment or a search count as one that this home has begun. Raises StoreError."""
        try:
            plan = read_stored_file(folder.plan_file)
        except OSError as error:
            raise store_error("read", folder.plan_file, error) from error
        BegunPlans(self.home).add(folder.experiment_id, plan)

    def latest_begun(self, folders: Iterable[ExperimentFolder]) -> ExperimentFolder | None:
        """Returns the first of experiments or searches, newest first, that this home has begun; only without
        any other, one of the future.
        """
        digests = BegunPlans(self.home).digests()
        first = None
        for folder in (folder for folder in folders if _is_begun(folder, digests)):
            if not is_of_future(folder.plan_file):
                return folder
            first = first or folder
        return first

    def resumed_folder(self, reference: str) -> ExperimentFolder:
        """Returns an experiment as `folder` does; `latest` is the newest one that this home has begun, unless
        it has begun none. Raises StoreError.
        """
        own = self.latest_begun(self.list()) if reference == LATEST else None
        return self.folder(reference) if own is None else own

    def list(self) -> list[ExperimentFolder]:
        """Returns all experiments, newest first, and last those without a plan; no searches, no links,
        and none whose name cannot be an id.
        """
        paths = [path for path in _real_folders(self.experiments) if path.name.isprintable()]
        folders = [folder for folder in map(ExperimentFolder, paths) if not folder.is_search]
        dated = [(_created(folder), folder) for folder in folders]
        return [folder for _, folder in sorted(dated, key=lambda pair: pair[0], reverse=True)]

    def folder(self, reference: str) -> ExperimentFolder:
        """Returns an experiment by its id, a unique prefix of it, or `latest`. Raises StoreError."""
        known = self.list()
        if reference == LATEST:
            planned = [folder for folder in known if is_file(folder.plan_json)]
            if planned:
                return next((folder for folder in planned if not is_of_future(folder.plan_json)), planned[0])
        if reference.isprintable() and (exact := self._exact(reference)) is not None:
            check_no_link(exact)
            if exact.is_search:
                hint = f"see `{shell_command('pacenote', 'tune', 'report', reference)}`"
                raise StoreError(f"{reference} is a search, not an experiment", hint=hint)
            return exact
        matches = [folder for folder in known if folder.experiment_id.startswith(reference)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise self._unknown(reference)
        names = list_with_rest([folder.experiment_id for folder in matches], _MAX_NAMED)
        raise StoreError(f"'{reference}' matches {len(matches)} experiments: {names}")

    def exact_folder(self, experiment_id: str) -> ExperimentFolder:
        """Returns an experiment or a search by its whole id. Raises StoreError, also for a link."""
        if not experiment_id.isprintable():
            raise self._unknown(experiment_id)
        folder = self.folder_or_link(experiment_id)
        check_no_link(folder)
        return folder

    def folder_or_link(self, experiment_id: str) -> ExperimentFolder:
        """Returns an experiment or a search by its whole id, or the link in its place, which only `delete`
        removes. Raises StoreError.
        """
        folder = self._exact(experiment_id)
        if folder is None:
            raise self._unknown(experiment_id)
        return folder

    def _exact(self, experiment_id: str) -> ExperimentFolder | None:
        """Returns the experiment or the search with an id, or the link in its place, wherever it leads."""
        known = (path for path in paths_in(self.experiments) if path.name == experiment_id)
        return next((ExperimentFolder(path) for path in known if is_link(path) or is_dir(path)), None)

    def _unknown(self, reference: str) -> StoreError:
        return StoreError(
            f"no experiment '{reference}' in {self.experiments}", hint="see `pacenote experiment list`"
        )

    def noise(self) -> Mapping[str, object]:
        """Returns the stored spread of races; empty if none was measured. Raises StoreError."""
        path = self.home / NOISE
        try:
            noise = read_json(path)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        if not isinstance(noise, dict):
            raise StoreError(f"{path} cannot be read: it is not an object")
        return noise

    def update_noise(self, change: Callable[[Mapping[str, object]], Mapping[str, object]]) -> None:
        """Replaces the stored spread of races by what `change` returns for it; processes that do so at the
        same time wait for each other. Raises StoreError.
        """
        with file_awaited(self.home / f".{NOISE}.lock"):
            remove_abandoned(self.home)
            text = json.dumps(change(self.noise()), ensure_ascii=False, indent=1)
            write_atomically(self.home / NOISE, text.encode())


def _deletion(experiment_id: str) -> str:
    """Returns the command that deletes an experiment."""
    return shell_command("pacenote", "delete", "experiment", f"--id={experiment_id}")


def _is_begun(folder: ExperimentFolder, digests: Mapping[str, str]) -> bool:
    digest = digests.get(folder.experiment_id)
    # The plan, and what it has the hashes of, is read again after it is compared.
    if digest is None or folder.problem_of_others():
        return False
    try:
        return plan_digest(read_stored_file(folder.plan_file)) == digest
    except OSError:
        return False


def check_own_plan(plan: Path, stated_id: str) -> None:
    """Raises StoreError for a plan that states another id than the name of its folder: its races would be
    shown, and run, as those of another experiment or search.
    """
    if stated_id != plan.parent.name:
        stated = shortened(single_line(stated_id), 60)
        raise StoreError(
            f"{plan} is not the plan of {plan.parent.name}: it says that it is that of {stated}",
            hint=f"rename the folder to {stated} if you have renamed or copied it, or delete it",
        )


def check_no_link(folder: ExperimentFolder) -> None:
    """Raises StoreError for a link to a folder, which may be that of a race, or any other of the user."""
    if is_link(folder.path):
        raise StoreError(
            f"{folder.path} is a symbolic link, which is not followed",
            hint=f"move the folder there, or remove the link: {_deletion(folder.experiment_id)}",
        )


def _real_folders(experiments: Path) -> list[Path]:
    """Returns the sorted paths of the folders in one; no links, which are not followed."""
    return [path for path in paths_in(experiments) if is_dir(path) and not is_link(path)]


def file_digest(text: str) -> str:
    """Returns what identifies the content of the file of an experiment."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _created(folder: ExperimentFolder) -> tuple[float, str]:
    """Returns when an experiment was created; experiments of the same moment are sorted by their ids."""
    try:
        return folder.plan_json.lstat().st_mtime_ns, folder.experiment_id
    except OSError:
        return 0, folder.experiment_id


def is_of_future(plan: Path) -> bool:
    """Returns whether the file of a plan says that it was written in the future, as one that was copied may;
    it would be the latest one for ever.
    """
    try:
        return is_in_future(written_at(plan.lstat()))
    except OSError:
        return False


def _remove_empty(path: Path) -> None:
    """Removes the folder of an experiment that has no plan. Raises OSError if `logs` has files."""
    logs = path / "logs"
    if exists(logs):
        logs.rmdir()
    for name in _BEFORE_PLAN - {logs.name}:
        (path / name).unlink(missing_ok=True)
    path.rmdir()
