"""Folders that others may have nested are neither walked nor removed by functions that call themselves."""

from __future__ import annotations

import re

from shape.sources import PACKAGE

RECURSIVE = re.compile(r"os\.walk\(|shutil\.(?:rmtree|copytree)\(|\.rglob\(|\.glob\(\"\*\*")

ALLOWED = {
    "provision/assembly_steps.py": "classes that Pacenote has compiled",
    "sources/checkout.py": "ends below a depth",
    "system/folder_trees.py": "continues without recursion",
    "track/source.py": "leaves folders out below a depth",
}
"""Files that use such a function → why that is safe."""


def test_only_known_files_use_functions_that_call_themselves_for_each_folder() -> None:
    used = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if RECURSIVE.search(path.read_text("utf-8"))
    }
    assert used == set(ALLOWED)
