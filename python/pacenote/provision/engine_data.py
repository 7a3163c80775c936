"""The data with which the nodes of an engine start."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pacenote.model.data_options import DataOptions
from pacenote.provision.data_sets import (
    DataSet,
    check_data_set,
    check_room,
    check_unchanged,
    find_data_set,
    get_data_set,
)
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_spec import NodeSpec


def initial_data(options: DataOptions, layout: EngineLayout) -> DataSet | None:
    """Returns the data set with which an engine starts, or None if it starts without data.

    Raises UsageError if it must exist and does not, and EngineError if it cannot be read.
    """
    if options.mode == "restore":
        return get_data_set(layout, options.name)
    return find_data_set(layout, options.name) if options.mode == "keep" else None


def check_initial_data(data: DataSet, specs: Sequence[NodeSpec], layout: EngineLayout) -> None:
    """Raises EngineError for a data set that does not suit the nodes or is damaged, and DiskError if there is
    no room for copies of it.
    """
    engine = specs[0]
    check_data_set(data, engine.distribution, engine.version, [_path_count(spec) for spec in specs])
    check_unchanged(data)
    for number, spec in enumerate(specs):
        check_room(data, number, spec.data_paths or (layout.nodes,))


def with_initial_data(specs: Sequence[NodeSpec], data: DataSet | None) -> tuple[NodeSpec, ...]:
    """Returns the nodes, each with its part of a data set."""
    if data is None:
        return tuple(specs)
    return tuple(replace(spec, initial_data=data.folders(number)) for number, spec in enumerate(specs))


def _path_count(spec: NodeSpec) -> int:
    return len(spec.data_paths) or 1
