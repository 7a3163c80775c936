"""What the nodes that Pacenote started wrote to disks, and the size of their data (Rally's DiskIo and
IndexSize).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.system.folder_trees import walk_files
from pacenote.telemetry.device import DeviceReading, ObservedCluster, ObservedNode, TelemetryDevice

_COUNTERS = {"write_bytes": "disk_io_write_bytes", "read_bytes": "disk_io_read_bytes"}
"""Lines of /proc/PID/io, with Rally's names."""


class DiskIo(TelemetryDevice):
    """Bytes that the nodes read from and wrote to disks during the race, as the kernel counts them by
    process.
    """

    name = "disk-io"
    description = "Bytes that nodes which Pacenote starts read from and write to disks."
    needs_own_engine = True

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._before: dict[str, Mapping[str, int]] = {}

    def start(self) -> None:
        """Reads the counters of each process. Raises EngineError."""
        self._before = {node.name: _read_io(node) for node in self._cluster.nodes}

    def stop(self) -> DeviceReading:
        """Returns the bytes of each node and, in total, those that were written. Raises EngineError."""
        values: dict[str, int] = {}
        for node in self._cluster.nodes:
            now, before = _read_io(node), self._before[node.name]
            values |= {
                f"node.{node.name}.{name}": now[line] - before[line] for line, name in _COUNTERS.items()
            }
        written = [value for name, value in values.items() if name.endswith(_COUNTERS["write_bytes"])]
        return DeviceReading({"bytes_written": sum(written)} if written else {}, values)


class IndexSize(TelemetryDevice):
    """Size of the data folders of the nodes after the last task."""

    name = "index-size"
    description = "Size of the data of nodes that Pacenote starts, after the last task."
    needs_own_engine = True

    def start(self) -> None:
        """Reads nothing: the size is that at the end."""

    def stop(self) -> DeviceReading:
        """Adds up the files of each node, which still runs. Raises EngineError."""
        sizes = {
            node.name: sum(_folder_size(path) for path in node.data_paths) for node in self._cluster.nodes
        }
        values = {f"node.{name}.final_index_size_bytes": size for name, size in sizes.items()}
        return DeviceReading({"index_size": sum(sizes.values())} if sizes else {}, values)


def _read_io(node: ObservedNode) -> Mapping[str, int]:
    path = Path(f"/proc/{node.pid}/io")
    try:
        pairs = (line.split(":") for line in path.read_text("ascii").splitlines())
        return {name: int(value) for name, value in pairs if name in _COUNTERS}
    except OSError as error:
        raise EngineError(f"{path} of node {node.name} cannot be read: {error.strerror}") from error


def _folder_size(folder: Path) -> int:
    """Returns the size of all files in bytes; one that the engine deletes meanwhile does not count. Links are
    not followed, because the user of the engine may put one in the place of a folder. Raises EngineError.
    """
    total = 0
    try:
        for _, names, descriptor in walk_files(folder):
            total += sum(_file_size(name, descriptor) for name in names)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise EngineError(f"{folder} cannot be read: {error.strerror}") from error
    return total


def _file_size(name: str, folder: int) -> int:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
