"""The folders that the races of a plan write to."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pacenote.model.experiment import Options


def data_file_folder(options: Options, folder: Path, default: Path) -> Path:
    """Returns the folder of the data files of a race in a folder, `default` if its options name none."""
    cache = options.get("dataset-cache")
    return _path(folder, str(cache)) if cache else default


def written_folders(options: Options, folder: Path, default: Path) -> list[Path]:
    """Returns the folder of the data files of a race, and those for the data of its engine if its options
    name any.
    """
    data_paths = options.get("data-paths", ())
    text = ",".join(map(str, data_paths)) if isinstance(data_paths, list | tuple) else str(data_paths)
    # Several nodes are separated by semicolons.
    parts = [part.strip() for part in re.split("[,;]", text)]
    return [data_file_folder(options, folder, default), *(_path(folder, part) for part in parts if part)]


def _path(folder: Path, text: str) -> Path:
    """Returns a path of an option, as `pacenote race` reads it."""
    return folder / os.path.expanduser(text)  # noqa: PTH111  # Path.expanduser raises for unknown users
