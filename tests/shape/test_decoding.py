"""JSON and TOML from outside are parsed in one place, which knows what parsers do with hostile texts."""

from __future__ import annotations

import re

from shape.sources import PACKAGE, label, tracked

HOME = PACKAGE / "model" / "decoding.py"

TRUSTED = {
    "cli/child.py": "the request of the parent process",
    "evidence/driver_files.py": "what the Rust core wrote",
    "evidence/gc_log.py": "what the Rust core wrote",
    "lab/experiment/kept_engine.py": "what `pacenote start` prints",
    "metrics_store/metrics_documents.py": "what the Rust core wrote",
    "model/codec.py": "what the Rust core wrote",
    "model/race_timeline.py": "what the Rust core wrote",
    "model/secrets.py": "redacts what it can, also bodies with numbers that JSON does not have",
    "plugins/rally_api/esrally/driver/runner.py": "a function that the code of tracks calls",
    "python_tasks/builtin_operations.py": "what the Rust core wrote",
    "race/document_check.py": "an action line that Pacenote has written",
    "race/drive.py": "what the Rust core wrote",
    "race/telemetry_file.py": "what the Rust core wrote",
    "evidence/telemetry_values.py": "what the Rust core wrote",
    "serve/page_process.py": "the request of the parent process",
    "serve/page_processes.py": "what the process that makes pages wrote",
    "teams/hook_process.py": "the request of the parent process",
    "track/json_positions.py": "a token of a text that was parsed before",
}
"""Modules that call a parser themselves, and why they may."""

_PARSER = re.compile(r"\b(?:(?:json|tomllib)\.loads?|msgspec\.json\.(?:decode|Decoder))\(")


def test_texts_from_outside_are_parsed_in_one_place() -> None:
    assert _PARSER.search(HOME.read_text("utf-8"))
    calling = {
        str(path.relative_to(PACKAGE))
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(PACKAGE) and path != HOME
        if _PARSER.search(path.read_text("utf-8"))
    }
    assert calling == set(TRUSTED), f"see {label(HOME)}"
