"""Parsing of command-line values."""

from __future__ import annotations

from typing import Any


def to_dict(text: Any) -> dict[str, Any]:
    """Parses `key:value,key2:value2`; None gives an empty dictionary. Values are strings."""
    if isinstance(text, dict):
        return dict(text)
    pairs = [pair.split(":", 1) for pair in str(text or "").split(",") if pair.strip()]
    return {key.strip(): value.strip() for key, value in pairs}


def csv_to_list(text: str | None) -> list[str]:
    """Parses `a,b`; None gives an empty list."""
    return [item.strip() for item in text.split(",")] if text else []
