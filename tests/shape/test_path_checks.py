"""Paths in folders that others may have written to are looked at by functions that never raise.

A method of `Path` raises OSError for a link to a name that is too long, for one.
"""

from __future__ import annotations

import ast

from shape.sources import PACKAGE, parse, tracked

HOME = PACKAGE / "system" / "paths.py"

PACKAGES = {
    *("cli", "compare", "diagnose", "evidence", "export", "figures", "host", "importers", "lab"),
    *("metrics_store", "report", "serve", "stats", "store", "verdict"),
}
"""Packages that read the home, race folders or the kernel's files."""

ALLOWED = {
    "lab/experiment/recipes.py": "the folder is a part of the package",
}
"""Modules that call such a method, and why they may."""

STATUS_PACKAGES = {"diagnose", "evidence", "export", "importers", "report", "serve", "stats", "store"}
"""Packages that read race folders, which may be those of others."""

STATUS_ALLOWED = {
    "serve/race_files.py": "entries, of which it follows no links",
    "store/installation_store.py": "folders of the home",
    "store/race_index.py": "the folder of a race in the home",
}
"""Modules of these that follow links of files, and which."""

_METHODS = {"exists", "is_file", "is_dir", "is_symlink", "glob", "rglob", "resolve"}


def _uses_method(tree: ast.Module) -> bool:
    """Returns whether a module names such a method of a path; those of entries of `os.scandir` that follow no
    link do not raise.
    """
    of_entries = [
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and any(word.arg == "follow_symlinks" for word in node.keywords)
    ]
    return any(
        isinstance(node, ast.Attribute) and node.attr in _METHODS and node not in of_entries
        for node in ast.walk(tree)
    )


def test_paths_are_looked_at_without_errors() -> None:
    assert HOME.is_file()
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] in PACKAGES and _uses_method(parse(path))
    }
    assert using == set(ALLOWED), "use the functions of system/paths.py"


def test_the_status_of_files_of_races_is_read_without_following_links() -> None:
    """A link in a folder of others may lead into the mounts of another process."""
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] in STATUS_PACKAGES
        if any(isinstance(node, ast.Attribute) and node.attr == "stat" for node in ast.walk(parse(path)))
    }
    assert using == set(STATUS_ALLOWED), "use lstat"
