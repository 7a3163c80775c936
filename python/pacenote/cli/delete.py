"""`pacenote delete`: deletes stored races, experiments, annotations or data sets."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from pacenote.cli.console import Console
from pacenote.cli.options.metrics_store import add_store_option, store_client
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser, validate_choice
from pacenote.errors import StoreError, UsageError
from pacenote.model.printable import single_line
from pacenote.store.annotations import AnnotationStore
from pacenote.store.home import default_home
from pacenote.store.race_store import RaceStore
from pacenote.system.paths import is_link
from pacenote.track.params import parse_list

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `delete`."""
    parser.add_argument("what", metavar="WHAT", help=f"what to delete: {' or '.join(_KINDS)}")
    parser.add_argument(
        "--id",
        required=True,
        metavar="ID,…",
        help="ids of what to delete, separated by commas; for a race, a unique prefix of its id is enough; "
        "an experiment may be a search; for data, names of data sets",
    )
    add_store_option(parser)
    parser.add_flag("--dry-run", help="show what would be deleted, and delete nothing", harmless=True)
    for name in ("--track-repository", "--track-path", "--track-revision"):  # Rally accepts and ignores them.
        parser.add_argument(name, help=argparse.SUPPRESS)


def run(options: argparse.Namespace, console: Console) -> int:
    """Deletes what has the ids; deletes nothing if one of them does not exist. Raises StoreError."""
    what = validate_choice(options.what, "delete", tuple(_KINDS))
    ids = [str(one) for one in parse_list(options.id, "--id")]
    if not ids:
        raise UsageError(
            "--id is empty", hint="`pacenote list races`, `list annotations` and `list data` show them"
        )
    _KINDS[what](ids, options, console)
    return 0


def _delete_races(ids: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    store, client = RaceStore(), store_client(options)
    if client is None:
        folders = {folder.path: folder for folder in map(store.folder, ids)}
        if not options.dry_run:
            store.delete(*folders.values())
        for folder in folders.values():
            console.result(f"{_verb(options)} race {folder.path.name}\n")
        return
    from pacenote.cli.metrics_store.deletion import StoreDeletion

    StoreDeletion(client, console, dry_run=options.dry_run).races(ids, store)


def _delete_experiments(ids: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    from pacenote.store.experiment_store import ExperimentStore

    store = ExperimentStore()
    folders = {folder.path: folder for folder in map(store.folder_or_link, ids)}
    for folder in folders.values():
        if folder.is_running():
            raise StoreError(
                f"{folder.kind} '{folder.experiment_id}' is running", hint="delete it when it has ended"
            )
    for folder in folders.values():
        kept = "its races and its confirmation" if folder.is_search else "its races"
        text = f"{_verb(options)} {folder.kind} {folder.experiment_id}; {kept} are kept\n"
        if is_link(folder.path):
            text = f"{_verb(options)} the link {folder.experiment_id}; what it leads to is kept\n"
        if not options.dry_run:
            engine = store.delete(folder)
            if engine:
                console.warning(
                    f"{folder.experiment_id} named an engine that is left alone ({single_line(engine)}), "
                    "because this home is not known to have started it: `pacenote list nodes` shows what runs"
                )
        console.result(text)


def _delete_annotations(ids: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    store, client = AnnotationStore(default_home()), store_client(options)
    if client is None:
        store.check(ids)
        for annotation_id in dict.fromkeys(ids):
            if not options.dry_run:
                store.delete(annotation_id)
            console.result(f"{_verb(options)} annotation {annotation_id}\n")
        return
    from pacenote.cli.metrics_store.deletion import StoreDeletion

    StoreDeletion(client, console, dry_run=options.dry_run).annotations(ids, store)


def _delete_data(ids: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    from pacenote.cli.lists.data_sets import delete_data

    delete_data(ids, options, console)


def _verb(options: argparse.Namespace) -> str:
    return "would delete" if options.dry_run else "deleted"


_KINDS: Mapping[str, Callable[[Sequence[str], argparse.Namespace, Console], None]] = {
    "race": _delete_races,
    "experiment": _delete_experiments,
    "annotation": _delete_annotations,
    "data": _delete_data,
}
