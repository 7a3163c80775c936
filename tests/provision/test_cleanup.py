"""Only temporary files that were abandoned are removed."""

from __future__ import annotations

import os
import time

from pacenote.provision.cleanup import MAX_AGE_S, MAX_DATA_AGE_S, remove_stale_files
from pacenote.provision.layout import EngineLayout
from pacenote.system.locks import locked


def test_only_stale_files_are_removed(layout: EngineLayout) -> None:
    made = [
        *(folder / f".build-{age}" for folder in (layout.installs, layout.java) for age in ("old", "new")),
        *(layout.jars / "g" / "sum" / f".x.{age}.download" for age in ("old", "new")),
        *(layout.jars / "g" / "sum" / f".x.{age}.download.json" for age in ("old", "new")),
        # A resolve that goes on may be older than an hour.
        *(layout.jars / ".new" / "g" / "x" / "1" / f"kept-{age}.jar" for age in ("old", "new")),
        # Earlier versions had no folder for each checksum.
        *(layout.jars / "g" / f".y.{age}.download" for age in ("old", "new")),
        *(layout.profiler / "p-1" / f".x.{age}.part" for age in ("old", "new")),
        *(layout.registry / f".x.{age}.part" for age in ("old", "new")),
        *(layout.locks / f".x.{age}.part" for age in ("old", "new")),
        *(layout.installs / f"whole-{age}" for age in ("old", "new")),
        *(layout.jars / "g" / f"x-{age}.jar" for age in ("old", "new")),
    ]
    past = time.time() - MAX_AGE_S - 60
    for path in made:
        (path if ".build-" in path.name else path.parent).mkdir(parents=True, exist_ok=True)
        (path / "file" if path.is_dir() else path).write_text("x")
        if "old" in path.name:
            os.utime(path, (past, past))
    remove_stale_files(layout)
    gone = [each for each in made if not each.exists()]
    assert gone == [each for each in made if "old" in each.name and each.name.startswith(".")]


def test_what_a_first_resolve_has_left_is_removed_after_a_day_unless_one_runs(layout: EngineLayout) -> None:
    folder = layout.jars / ".new" / "g" / "x" / "1"
    folder.mkdir(parents=True)
    past = time.time() - MAX_DATA_AGE_S - 60
    for name in ("x-1.jar", ".y-1.jar.0.download", ".y-1.jar.0.download.json"):
        (folder / name).touch()
        os.utime(folder / name, (past, past))
    with locked(layout.jars / ".lock"):
        remove_stale_files(layout)
        assert len(list(folder.iterdir())) == 3
    (folder / "new.jar").touch()
    remove_stale_files(layout)
    assert [path.name for path in folder.iterdir()] == ["new.jar"]
    os.utime(folder / "new.jar", (past, past))
    remove_stale_files(layout)
    assert not (layout.jars / ".new").exists()
