"""Recordings and GC logs that no JVM writes end neither a race nor a page, a report or a diagnosis."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.cli.console import Console
from pacenote.cli.output.race_findings import race_evidence
from pacenote.cli.output.race_page import page_text
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.hostile_evidence import (
    BEGIN_NS,
    hostile_gc_log,
    hostile_openj9_log,
    long_names,
    self_reference,
    varints,
)
from support.records import bulk, record

pytestmark = pytest.mark.process

RACE = record("race-a", tasks=(bulk(),), complete=True, driver={"started_unix_ns": BEGIN_NS - 1_000_000_000})
NO_CHUNK = b"FLR\0" + b"\xff" * 200
HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a type that names a field twice": ("run.jfr", self_reference),
    "long names in many frames": ("run.jfr.gz", lambda: long_names(50, 100)),
    "no recording": ("run.jfr", lambda: NO_CHUNK),
    "half a recording": ("run.jfr", lambda: self_reference()[:200]),
    "data without end": ("run.jfr.gz", lambda: gzip.compress(self_reference() + bytes(1 << 20), 9)),
    "integers without end": ("run.jfr", lambda: self_reference().replace(varints(501, 1), b"\xff" * 3)),
    "a log of HotSpot": ("gc.log", hostile_gc_log),
    "a log of OpenJ9": ("gc.log", hostile_openj9_log),
    "a log that is compressed by half": ("gc.log.gz", lambda: gzip.compress(hostile_gc_log())[:300]),
    "no log": ("gc.log", lambda: b"\0" * 100_000),
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="planted", params=HOSTILE)
def planted_file(request: pytest.FixtureRequest) -> Path:
    """A complete race with a hostile file."""
    name, content = HOSTILE[request.param]
    folder = RaceStore().create(RACE)
    folder.artifacts.mkdir(exist_ok=True)
    file = folder.artifacts / name
    file.write_bytes(content())
    return file


def test_the_end_of_a_race_a_page_and_a_diagnosis_show_the_rest(planted: Path, run: Run) -> None:
    folder, err = RaceFolder(planted.parent.parent), io.StringIO()
    # What a race reads when it ends.
    evidence = race_evidence(RACE, folder.path, Console(io.StringIO(), err))
    assert evidence.diagnosis is not None
    assert err.getvalue() == ""
    # `serve` shows the same page as `report --html`.
    assert "<html" in page_text(RACE, folder, None, is_running=False)
    code, _, err_text = run("report", "race-a", "--html")
    assert (code, "Traceback" in err_text) == (0, False)
    code, out, err_text = run("diagnose", "race-a")
    assert (code, "Traceback" in out + err_text) == (0, False)


def test_the_commands_for_files_say_in_one_line_what_cannot_be_read(planted: Path, run: Run) -> None:
    command = "jfr" if ".jfr" in planted.name else "gc"
    code, out, err = run(command, planted)
    assert "Traceback" not in out + err
    assert "defect" not in out + err
    if code:
        assert (code, out) == (64, "")
        assert err.startswith(f"error: {planted}")
