"""Fragments are included, and each line can be traced to its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.track.includes import assemble
from track.builders import folder

COLLECT = '{{ rally.collect(parts="PATTERN") }}'


def collect(pattern: str) -> str:
    return COLLECT.replace("PATTERN", pattern)


def text_of(root: Path, files: dict[str, str]) -> str:
    source = folder(root, files)
    return assemble(source, source.file).text


def test_fragments_are_sorted_and_joined_with_commas_and_line_breaks(tmp_path: Path) -> None:
    files = {
        "track.json": f"[{collect('ops/*.json')}]",
        "ops/b.json": "2",
        "ops/a.json": "1",
        "ops/c.txt": "3",
    }
    assert text_of(tmp_path, files) == "[1,\n2]"


def test_patterns_in_fragments_are_relative_to_the_fragments_folder(tmp_path: Path) -> None:
    files = {
        "track.json": collect("deep/a.json"),
        "deep/a.json": f"<{collect('parts/*.json')}>",
        "deep/parts/p.json": collect("../../shared.json"),
        "shared.json": "shared",
    }
    assert text_of(tmp_path, files) == "<shared>"


def test_patterns_in_bodies_are_relative_to_the_tracks_folder(tmp_path: Path) -> None:
    files = {
        "track.json": "{}",
        "templates/body.json": f"{{{collect('parts/settings.json')}}}",
        "parts/settings.json": f"1 {collect('more.json')}",
        "parts/more.json": "2",
        "templates/parts/settings.json": "not this",
    }
    source = folder(tmp_path, files)
    assert assemble(source, tmp_path / "templates/body.json").text == "{1 2}"


def test_a_pattern_without_matches_inserts_nothing(tmp_path: Path) -> None:
    assert text_of(tmp_path, {"track.json": f"[{collect('none/*.json')}]"}) == "[]"


def test_benchmark_collect_works_like_rally_collect(tmp_path: Path) -> None:
    files = {"track.json": '{{   benchmark.collect(parts="a.json")  }}', "a.json": "x"}
    assert text_of(tmp_path, files) == "x"


@pytest.mark.parametrize(
    "other",
    [
        '{{rally.collect(parts="a.json")}}',
        "{{ rally.collect(parts='a.json') }}",
        '{{- rally.collect(parts="a.json") }}',
    ],
)
def test_other_spellings_are_left_for_the_macro(tmp_path: Path, other: str) -> None:
    assert text_of(tmp_path, {"track.json": other, "a.json": "x"}) == other


def test_names_of_folders_may_look_like_patterns(tmp_path: Path) -> None:
    files = {"track.json": collect("[a]/*.json") + collect("x[1]/p.json"), "a/p.json": "p", "x1/p.json": "q"}
    assert text_of(tmp_path / "my[1]track", files) == "pq"


def test_two_collects_on_one_line_are_both_replaced(tmp_path: Path) -> None:
    files = {"track.json": f"{collect('a.json')}-{collect('a.json')}", "a.json": "x"}
    assert text_of(tmp_path, files) == "x-x"


def test_a_fragment_that_collects_itself_is_rejected(tmp_path: Path) -> None:
    files = {"track.json": collect("a.json"), "a.json": collect("b.json"), "b.json": collect("*.json")}
    with pytest.raises(TrackError) as caught:
        text_of(tmp_path, files)
    assert "track.json collects a.json collects b.json collects a.json" in caught.value.message


def test_every_line_can_be_traced_to_its_file(tmp_path: Path) -> None:
    source = folder(
        tmp_path,
        {
            "track.json": f"first\n[ {collect('ops/*.json')} ]\nlast",
            "ops/a.json": "a one\na two",
            "ops/b.json": "b one\nb two\n",
        },
    )
    assembled = assemble(source, source.file)
    assert assembled.text == "first\n[ a one\na two,\nb one\nb two\n ]\nlast"
    origins = [assembled.origin(line) for line in range(1, 8)]
    places = [(source.display_path(origin.file), origin.line) for origin in origins]
    assert places == [
        ("track.json", 1), ("ops/a.json", 1), ("ops/a.json", 2), ("ops/b.json", 1), ("ops/b.json", 2),
        ("track.json", 2), ("track.json", 3),
    ]  # fmt: skip
