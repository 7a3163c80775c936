"""Public names: types have unique names, and removed names are not used again."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from shape.imports import without_tests
from shape.sources import CRATES, PACKAGE, RUST_TEXT, blank, files, label, parse, product_sources

RALLY_API = PACKAGE / "plugins" / "rally_api"
"""Rally dictates the names in this package: plug-ins import them."""

STUB = PACKAGE / "_core.pyi"
"""The types of the Rust core, as Python sees them."""

REMOVED = {
    "Alarm": "Timer",
    "Badge": "ClientCertResolver",
    "Belt": "WriterPipe",
    "Book": "Recorder",
    "bridge_waker": "bridge_stop_notify",
    "Bulk": "BulkWork",
    "BulkAction": "PlannedActionLines",
    "came_out": "on_outcome",
    "cancel_operation": "withdraw_admitted",
    "ClientDocuments": "ClientPartition",
    "ClientEndTime": "ScheduleEnd",
    "Complaint": "RunnerFailure",
    "count_samples": "count_and_decide",
    "Crew": "WorkerPool",
    "Crossed": "ByteCounts",
    "Desk": "Cancellation",
    "DirectoryEntry": "IndexLine",
    "dismiss": "shutdown",
    "Doomed": "TemplateToDelete",
    "Drain": "OperationConsumer",
    "Errand": "RequestJob",
    "ErrorCount": "FailureGroup",
    "ErrorNote": "Failure",
    "ErrorSummary": "FailureGroup",
    "ErrorTally": "FailureGroups",
    "execution_cancelled": "end_without_outcome",
    "Feed": "OperationProducer",
    "Feeder": "SourceThread",
    "flawless": "fast_path_search",
    "Gate": "OperationBudget",
    "Hand": "ClientHandle",
    "Handshake": "Preparation",
    "hear_all": "wait_all",
    "hire": "spawn_workers",
    "Hired": "NewBridge",
    "Hold": "NodeLock",
    "join_attempts": "add_attempt",
    "Judge": "CertVerifier",
    "judge": "check_response",
    "keeps_samples": "count_and_decide",
    "Lane": "PythonBridge",
    "LaneRuntime": "PythonRuntime",
    "last_words": "early_response",
    "Ledger": "OperationAccounting",
    "leftovers": "cleanup",
    "Letter": "CheckedRequest",
    "LightClient": "BuiltinClient",
    "Limiter": "OperationBudget",
    "Links": "ConnectionPool",
    "LoopEnd": "ScheduleEnd",
    "Mailbox": "EventQueue",
    "mute": "disable_writing",
    "no_room": "throttled_positions",
    "obituary": "exit_reason",
    "Obituary": "PanicGuard",
    "of_sub_operations": "service_time_only",
    "OpenLoop": "SharedSchedule",
    "Outgoing": "RecordSender",
    "pack": "compress",
    "PartResult": "SubOperationResult",
    "Place": "EngineLayout",
    "Post": "BulkRequest",
    "Program": "PythonTasks",
    "Recall": "Placeholder",
    "Recalled": "Captured",
    "Receiver": "ParamsReceiver",
    "Recipe": "CorpusSpec",
    "Refusal": "RejectedOperation",
    "relock": "update_lock",
    "Remember": "Capture",
    "ReplyOutcome": "WorkOutcome",
    "retract_operation": "withdraw_begun",
    "Said": "FramingHeaders",
    "SamplePolicy": "RetentionPolicy",
    "schedule_exhausted": "end_for_schedule",
    "Sealed": "SyncedFile",
    "Seat": "ClientState",
    "Served": "ServiceTotals",
    "share_of_bulks": "documents_in_share",
    "Shared": "RaceState",
    "Sheet": "RequestTemplate",
    "Shelf": "DataDirs",
    "source_exhausted": "end_for_source",
    "Spare": "BufferPool",
    "Spent": "CpuUsage",
    "start_with_memory": "start",
    "SteppedOperation": "PreparedSequence",
    "StepRun": "StepState",
    "stir": "mark_active",
    "Stretch": "ReadTarget",
    "take_admitted": "drain_admitted_count",
    "TaskEnded": "WorkerTaskEnd",
    "TaskRun": "TaskState",
    "tell_all": "broadcast",
    "Terms": "ResponsePolicy",
    "told": "report",
    "Trip": "PendingRequests",
    "undo_operation": "withdraw_begun",
    "Unfilled": "FillError",
    "unless_stopped": "run_until_cancelled",
    "until_cancelled": "run_until_cancelled",
    "Urn": "WeightTable",
    "wait_within": "timeout_at",
    "Wanted": "Download",
    "warmup_among": "unsent_before",
    "Watch": "SpinWait",
    "weighs_itself": "weight_known_at_runtime",
    "with_retry": "add_attempt",
    "without_retried": "subtract_resent",
    "WorkerIndex": "WorkerShare",
}
"""Removed name of a type, function or module → its current name, or what replaces it. Ordinary words that
another thing could rightly have as its name are not here.
"""

_RUST_TYPE = re.compile(r"^\s*pub(?:\([^)]*\))?\s+(?:struct|enum|union|trait|type)\s+(\w+)", re.MULTILINE)
_RUST_ITEM = re.compile(r"\b(?:struct|enum|union|trait|type|fn|mod)\s+(\w+)")


@cache
def rust_code(path: Path) -> str:
    """Returns the code of a Rust file without comments, strings and test modules."""
    return without_tests(RUST_TEXT.sub(blank, path.read_text("utf-8")))


def rust_files() -> Iterator[Path]:
    """Yields the Rust files of all crates, without modules that are built only for tests."""
    for manifest in CRATES.glob("*/Cargo.toml"):
        yield from product_sources(manifest.parent)


def rust_types() -> Iterator[tuple[str, Path]]:
    """Yields the public types of the crates."""
    for path in rust_files():
        yield from ((name, path) for name in _RUST_TYPE.findall(rust_code(path)))


def python_types() -> Iterator[tuple[str, Path]]:
    """Yields the public top-level classes of the package's modules and of the Rust core's Python module."""
    for path in (*PACKAGE.rglob("*.py"), STUB):
        if path.is_relative_to(RALLY_API):
            continue
        classes = (node for node in parse(path).body if isinstance(node, ast.ClassDef))
        yield from ((node.name, path) for node in classes if not node.name.startswith("_"))


def items() -> Iterator[tuple[str, Path]]:
    """Yields the types, functions and modules of both languages, including private ones."""
    for path in rust_files():
        yield path.stem, path
        yield from ((name, path) for name in _RUST_ITEM.findall(rust_code(path)))
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(RALLY_API):
            continue
        yield path.stem, path
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, path


def duplicates(types: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    """Returns the names that several types share, with the files of these types."""
    places: dict[str, list[str]] = {}
    for name, path in types:
        places.setdefault(name, []).append(label(path))
    assert len(places) > 100, "the guard found hardly any types: has the source moved?"
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


@pytest.mark.parametrize("types", [rust_types, python_types])
def test_no_two_public_types_of_a_language_have_one_name(types):
    assert duplicates(types()) == {}


def test_the_types_of_the_rust_core_are_found():
    assert ("Driver", STUB) in set(python_types())


def test_removed_names_are_not_used_again():
    all_items = list(items())
    assert len(all_items) > 3000, "the guard found hardly any items: has the source moved?"
    back = [f"{label(path)}: {name} is {REMOVED[name]} now" for name, path in all_items if name in REMOVED]
    assert sorted(back) == []


def test_two_types_of_one_name_are_detected():
    path = PACKAGE / "errors.py"
    padding = [(f"Type{number}", path) for number in range(200)]
    types = [*padding, ("Twice", path), ("Twice", PACKAGE / "units.py")]
    assert duplicates(iter(types)) == {"Twice": ["python/pacenote/errors.py", "python/pacenote/units.py"]}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("pub struct Desk<'a> {}", ["Desk"]),
        ("    pub(crate) enum Seat { A }", ["Seat"]),
        ("pub(super) type Lane = u8;\nstruct Private;", ["Lane"]),
        ('// pub struct Comment;\nconst A: &str = "pub struct Text;";', []),
        ("#[cfg(test)]\nmod tests {\n    pub struct Fake;\n}", []),
    ],
)
def test_public_rust_types_are_found(tmp_path, code, names):
    path = tmp_path / "one.rs"
    path.write_text(code)
    assert _RUST_TYPE.findall(rust_code(path)) == names


def test_items_of_all_kinds_are_found():
    assert _RUST_ITEM.findall("fn hire() { fn stir() {} }\nmod leftovers;") == ["hire", "stir", "leftovers"]


VAGUE = {"each", "found", "one"}
"""Names that do not say what a value is: only the variable of a comprehension or a lambda may be so short."""


def vaguely_named(tree: ast.AST) -> Iterator[str]:
    """Yields the variables and parameters with vague names, with their lines."""
    short = {
        id(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension | ast.Lambda)
        for name in ast.walk(node.target if isinstance(node, ast.comprehension) else node.args)
    }
    for node in ast.walk(tree):
        if id(node) in short:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield f"{node.lineno}: {node.id}"
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield f"{node.lineno}: {node.arg}"


def test_values_are_called_what_they_are() -> None:
    paths = files(".py")
    assert len(paths) > 1_000
    assert [f"{label(path)}:{name}" for path in paths for name in vaguely_named(parse(path))] == []


def test_vague_names_are_found_but_in_comprehensions_and_lambdas() -> None:
    text = """
def total(found, key=lambda each: each):
    one = [each for each in found]
    for each in one:
        print(each, key)
"""
    assert list(vaguely_named(ast.parse(text))) == ["2: found", "3: one", "4: each"]
