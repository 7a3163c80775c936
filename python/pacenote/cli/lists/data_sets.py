"""`pacenote list data` and `pacenote delete data`: the data sets of this home."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pacenote.cli.console import Console
from pacenote.cli.output.tables import Fit, table
from pacenote.model.codec import encode
from pacenote.model.output_text import json_text
from pacenote.provision.data_sets import (
    DataSet,
    check_data_set_name,
    delete_data_set,
    get_data_set,
    list_data_sets,
)
from pacenote.provision.layout import plan_layout
from pacenote.store.home import default_home
from pacenote.system.paths import is_dir
from pacenote.units import format_bytes

_COLUMNS = ("Name", "Engine", "Nodes", "Size", "Track", "Challenge", "Stored", "Race Id")


def list_data(options: argparse.Namespace, console: Console) -> str:
    """Returns the text of `pacenote list data`."""
    data_sets = list_data_sets(plan_layout(default_home()))
    if options.format == "json":
        return json_text([_document(data) for data in data_sets])
    fit = Fit(console.result_width, ((4, 12),), (7,), wraps_last=True)
    rows = [_row(data) for data in data_sets]
    return table(_COLUMNS, rows, fit) if rows else "No data sets found; --data=keep:NAME stores one.\n"


def delete_data(ids: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    """Deletes data sets by name; nothing if one of them does not exist. Raises UsageError and DiskError."""
    layout = plan_layout(default_home())
    names = list(dict.fromkeys(ids))
    known = {data.name for data in list_data_sets(layout)}
    for name in names:
        check_data_set_name(name, "--id")
        # A damaged one can be deleted, too.
        if name not in known and not is_dir(layout.data / name):
            get_data_set(layout, name)
    for name in names:
        if not options.dry_run:
            delete_data_set(layout, name)
        console.result(f"{'would delete' if options.dry_run else 'deleted'} data set {name}\n")


def _row(data: DataSet) -> tuple[str, ...]:
    origin = data.origin
    return (
        data.name,
        f"{origin.distribution} {origin.version}",
        str(len(data.paths)),
        format_bytes(data.size.bytes),
        origin.track,
        origin.challenge,
        origin.created[:19].replace("T", " "),
        origin.race_id,
    )


def _document(data: DataSet) -> dict[str, object]:
    return {
        "name": data.name,
        **encode(data.origin),
        "nodes": len(data.paths),
        "data_paths": list(data.paths),
        "files": data.size.files,
        "bytes": data.size.bytes,
        "folder": str(data.folder),
    }
