"""Paths in folders that others may have written to are looked at by functions that never raise.

A method of `Path` raises OSError for a link to a name that is too long, for one.
"""

from __future__ import annotations

import ast

from shape.sources import PACKAGE, parse, tracked

HOME = PACKAGE / "system" / "paths.py"

PACKAGES = {
    *("cli", "compare", "diagnose", "evidence", "export", "figures", "host", "importers", "lab"),
    *("metrics_store", "provision", "report", "serve", "sources", "stats", "store", "teams", "verdict"),
}
"""Packages that read the home, race folders, the kernel's files, unpacked archives or checkouts."""

_OWN = "folders of the home"

ALLOWED = {
    "provision/archives/archive_cache.py": _OWN,
    "provision/archives/archive_install.py": _OWN,
    "provision/cleanup.py": _OWN,
    "provision/containers/engine_container.py": _OWN,
    "provision/node_registry.py": _OWN,
    "provision/plugin_archives.py": _OWN,
    "provision/assembly_steps.py": "sources that are verified, and classes that Pacenote has compiled",
    "provision/distributions/elasticsearch_core.py": "an engine that Pacenote has assembled",
    "provision/distributions/opensearch_2.py": "an engine that Pacenote has assembled",
    "provision/engine_lock.py": "a file of the package",
    "provision/java_wheel.py": "what pip has downloaded",
    "provision/published_versions.py": "parts in a repository of Maven",
    "provision/update_lock.py": "parts in a repository of Maven",
    "sources/build.py": "what a build of the user has produced, and folders of the home",
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
    """Returns whether a module uses such a method of a path; those of entries of `os.scandir` that follow no
    link do not raise. An attribute that is not called is that of another class.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    of_entries = {
        id(call.func) for call in calls if any(word.arg == "follow_symlinks" for word in call.keywords)
    }
    called = {id(call.func) for call in calls} - of_entries
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _METHODS
        and (id(node) in called or (isinstance(node.value, ast.Name) and node.value.id == "Path"))
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
