"""Only temporary files that were abandoned are removed."""

from __future__ import annotations

import os
import time

from pacenote.provision.cleanup import MAX_AGE_S, remove_stale_files
from pacenote.provision.layout import EngineLayout


def test_only_stale_files_are_removed(layout: EngineLayout) -> None:
    made = [
        *(folder / f".build-{age}" for folder in (layout.installs, layout.java) for age in ("old", "new")),
        *(layout.jars / "g" / "sum" / f".x.{age}.download" for age in ("old", "new")),
        *(layout.jars / "g" / "sum" / f".x.{age}.download.json" for age in ("old", "new")),
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
