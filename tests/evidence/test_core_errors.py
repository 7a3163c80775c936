"""Whatever goes wrong while evidence is read is one kind of error."""

from pathlib import Path

import pytest

from pacenote import _core
from pacenote.errors import EvidenceError, StoreError
from pacenote.evidence.core_errors import as_evidence_errors

FILES = [Path("gc.log"), Path("gc.log.1")]


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (_core.CoreError("gc.log is a folder; name a file"), "gc.log is a folder", "name a file"),
        (_core.CoreError("gc.log is a folder"), "", "gc.log is a folder"),
        (MemoryError(), "gc.log: there is too little memory to read it", "free some memory"),
        (OverflowError("too\nlarge"), "gc.log cannot be read: OverflowError: too large", "report it"),
        (RecursionError("x" * 5000), "gc.log cannot be read: RecursionError: xxx", "report it"),
    ],
)
def test_every_error_is_one_line(error, message, hint):
    with pytest.raises(EvidenceError) as raised, as_evidence_errors(FILES):
        raise error
    assert raised.value.message.startswith(message)
    assert hint in f"{raised.value.message} {raised.value.hint}"
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 400


@pytest.mark.parametrize("error", [StoreError("no folder"), KeyboardInterrupt(), SystemExit(3)])
def test_other_errors_remain(error):
    with pytest.raises(type(error)), as_evidence_errors(FILES):
        raise error
