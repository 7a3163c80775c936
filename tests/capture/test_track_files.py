"""What a cluster has sent is data in the files of a captured track: it is neither rendered nor included."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pacenote.capture.sources import BackingIndex, CaptureSource
from pacenote.capture.track_files import check_bodies, track_files
from pacenote.errors import EngineError
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track

_CODE = "''.__class__.__mro__[1].__subclasses__()"
_FRAGMENTS = (
    *("{", "{{", "{{{", "{%", "{#", "}}", "%}", "#}", "{{-", "-%}", "#", "##", "%", "\\", '"', "'", "\0"),
    *(
        "\n# for x in y\n",
        "\r\n",
        "\u2028",
        "\u0085",
        "\0number_of_shards",
        "\0\0number_of_replicas",
        "{}",
        "$",
    ),
    *(
        "{% raw %}",
        "{% endraw %}",
        "{{ 1 / 0 }}",
        "{% include 'x' %}",
        f"{{{{ {_CODE} }}}}",
        "\\u007b",
        "ä",
        "😀",
    ),
    *('{{ rally.collect(parts="*.json") }}', '{% import "rally.helpers" as rally %}', "{number_of_shards}"),
    "{{number_of_shards | default(1)}}",
)
_RANDOM = random.Random(29)


def _texts() -> list[str]:
    """Returns every fragment, every pair of the first ones, and random sequences of all."""
    pairs = ["".join(pair) for pair in itertools.product(_FRAGMENTS[:17], repeat=2)]
    mixed = ["".join(_RANDOM.choices(_FRAGMENTS, k=5)) for _ in range(300)]
    return [*_FRAGMENTS, *pairs, *mixed]


def _rendered(folder: Path, source: CaptureSource) -> Mapping[str, Any]:
    """Returns the body of the created track, as a race reads it."""
    for name, text in track_files("mine", [source], {}, "green").items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    track = load_track(open_track(folder), {}, RenderOptions(now=0))
    body = track.composable_templates[0].body if source.is_stream else track.indices[0].body
    assert body is not None
    return body


@pytest.mark.parametrize("timestamp", ["", "{{ 1 / 0 }}\0number_of_shards"])
def test_hostile_texts_are_rendered_as_they_are(tmp_path: Path, timestamp: str) -> None:
    texts = _texts()
    mappings = {"_meta": {"texts": texts, "keys": dict.fromkeys(texts, 1)}, "properties": {"a": {"b": texts}}}
    settings = {"analysis": {"texts": texts, "keys": dict.fromkeys(texts, True)}, "number_of_shards": "9"}
    source = CaptureSource(
        *("notes", (BackingIndex("notes", 3),), mappings, {**settings, "number_of_replicas": "8"}, timestamp),
        replicas=2,
    )
    body = _rendered(tmp_path, source)
    if timestamp:
        assert body["data_stream"] == {"timestamp_field": {"name": timestamp}}
        body = body["template"]
    assert body["mappings"] == mappings
    # Shards and replicas are the numbers that were read, whatever the settings contain.
    assert body["settings"]["index"] == {**settings, "number_of_shards": "3", "number_of_replicas": "2"}


@pytest.mark.parametrize("key", ["number_of_shards", "number_of_replicas"])
def test_a_setting_that_is_not_a_parameter_of_the_track_is_kept(tmp_path: Path, key: str) -> None:
    source = CaptureSource("notes", (BackingIndex("notes", 1),), {}, {"x": f"\0{key}", "y": {key: "{{ 7 }}"}})
    assert _rendered(tmp_path, source)["settings"]["index"] == source.settings


def test_lists_at_a_great_depth_are_not_written_in_lines(tmp_path: Path) -> None:
    """The blanks of each line would be a hundred times as long as a number."""
    numbers: Any = [1] * 10_000
    for _ in range(150):
        numbers = {"a": numbers}
    source = CaptureSource("notes", (BackingIndex("notes", 1),), {"_meta": numbers, "dynamic": "{{ 1 / 0 }}"})
    text = track_files("mine", [source], {}, "green")["indices/notes.json"]
    assert len(text) < 50_000
    assert _rendered(tmp_path, source)["mappings"] == source.mappings


def test_a_text_of_control_characters_is_rendered_at_once() -> None:
    """Escaped, it is six times as long; to look for a text that it does not contain took minutes."""
    mappings = {"_meta": {"text": "\0" * 200_000}}
    source = CaptureSource("notes", (BackingIndex("notes", 1),), mappings, {"number_of_shards": "1"})
    text = track_files("mine", [source], {}, "green")["indices/notes.json"]
    assert text.count("number_of_shards | default(1)") == 1


def _nested(levels: int) -> Mapping[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("timestamp", ["", "@timestamp"])
@pytest.mark.parametrize("mappings", [{"_meta": {"n": 10**200}}, _nested(200)])
def test_what_cannot_be_read_again_is_refused(timestamp: str, mappings: Mapping[str, Any]) -> None:
    for part in ({"mappings": mappings}, {"settings": mappings}):
        source = CaptureSource("notes", (BackingIndex("notes", 1),), timestamp=timestamp, **part)
        with pytest.raises(EngineError, match="of 'notes' cannot be those of a track: it "):
            check_bodies([source])


@pytest.mark.parametrize("timestamp", ["", "@timestamp"])
def test_what_is_not_refused_is_read_again(tmp_path: Path, timestamp: str) -> None:
    deepest = 0
    for levels in range(190, 201):
        source = CaptureSource("notes", (BackingIndex("notes", 1),), _nested(levels), timestamp=timestamp)
        try:
            check_bodies([source])
        except EngineError:
            continue
        deepest = levels
        body = _rendered(tmp_path, source)
        assert (body["template"] if timestamp else body)["mappings"] == source.mappings
    assert deepest > 190
