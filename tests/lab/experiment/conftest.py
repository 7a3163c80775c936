"""Experiments of tests need not survive a power failure."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
