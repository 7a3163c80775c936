"""Searches of tests need not survive a power failure, and their races are kept in memory."""

from __future__ import annotations

import os

import pytest

from lab.tune.searches import RECORDS, read_record
from pacenote.store.race_folder import RaceFolder


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(RaceFolder, "read", read_record)
    RECORDS.clear()
