"""Settings of all indices are written into the requests that create indices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operations.compiling import context, requests, track
from pacenote.operations.index_settings import with_index_settings

CODEC = {"index.codec": "best_compression"}


@pytest.mark.parametrize(
    "given",
    [
        {"index.codec": "default", "index.number_of_shards": 1},
        {"codec": "default", "index.number_of_shards": 1},
        {"index": {"codec": "default"}, "index.number_of_shards": 1},
        {"index.number_of_shards": 1},
    ],
)
def test_a_setting_replaces_that_of_the_track_in_any_notation(given: dict[str, Any]) -> None:
    body = with_index_settings({"settings": given, "mappings": {}}, ("settings",), CODEC)
    assert body == {"settings": {"index.number_of_shards": 1, **CODEC}, "mappings": {}}


def test_other_settings_keep_their_notation() -> None:
    given = {"settings": {"index": {"codec": "x", "sort": {"field": "a"}}, "analysis": {"a": 1}}}
    body = with_index_settings(given, ("settings",), CODEC)
    assert body == {"settings": {"index": {"sort": {"field": "a"}}, "analysis": {"a": 1}, **CODEC}}
    assert given["settings"]["index"]["codec"] == "x"


def test_a_body_and_its_settings_are_created_if_they_are_missing() -> None:
    assert with_index_settings(None, ("settings",), CODEC) == {"settings": CODEC}
    assert with_index_settings({"a": 1}, ("template", "settings"), CODEC) == {
        "a": 1,
        "template": {"settings": CODEC},
    }


def test_without_settings_a_body_stays_as_it_is() -> None:
    assert with_index_settings(None, ("settings",), {}) is None


@pytest.mark.parametrize(
    ("kind", "params", "path"),
    [
        ("create-index", {}, ("settings",)),
        ("create-index", {"index": "films", "body": {"settings": {"codec": "default"}}}, ("settings",)),
        ("create-index-template", {"template": "t", "body": {"index_patterns": "*"}}, ("settings",)),
        ("create-composable-template", {"template": "t", "body": {"a": 1}}, ("template", "settings")),
        ("create-component-template", {"template": "t", "body": {"template": {}}}, ("template", "settings")),
    ],
)
def test_every_operation_that_creates_indices_or_templates_has_the_setting(
    kind: str, params: dict[str, Any], path: tuple[str, ...]
) -> None:
    within = context(track(indices=()) if "body" in params else None, index_settings=CODEC)
    (request,) = requests(kind, within, **params)
    settings: Any = json.loads(request.body or "")
    for key in path:
        settings = settings[key]
    assert settings["index.codec"] == "best_compression"
    assert "codec" not in settings
