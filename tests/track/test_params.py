"""Lists and dictionaries on the command line are parsed as they are in Rally."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import UsageError
from pacenote.track.params import parse_dict, parse_list


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a:1", {"a": 1}),
        ("a:1,b:2.5 , c:x", {"a": 1, "b": 2.5, "c": "x"}),
        ("a:true,b:False,c:none,d:None", {"a": True, "b": False, "c": None, "d": None}),
        ("a:'1',b:'true',c:''", {"a": "1", "b": "true", "c": ""}),
        ("file:./x.json", {"file": "./x.json"}),
        ("url:http://host:9200/p", {"url": "http://host:9200/p"}),
        ("a:-3,b:1e3,c:nan,d:inf", {"a": -3, "b": 1000.0, "c": "nan", "d": "inf"}),
        ("a:", {"a": ""}),
        ("a:'x,y:z',b:2", {"a": "x,y:z", "b": 2}),
        ("a: 'x,y' ,b:it's,c:'open", {"a": "x,y", "b": "it's", "c": "open"}),
        ("a:it's,b:it's", {"a": "it's", "b": "it's"}),
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("params.json", {"from": "file"}),
    ],
)
def test_dictionaries_are_parsed(text: str, expected: dict[str, Any]) -> None:
    assert parse_dict(text, "--track-params", lambda _: '{"from": "file"}') == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a, b ,c", ["a", "b", "c"]),
        ("type:search", ["type:search"]),
        ("'a, b',tag:'c,d',it's,e's", ["a, b", "tag:c,d", "it's", "e's"]),
        ('["a", "b,c"]', ["a", "b,c"]),
        ("f.json", [1]),
    ],
)
def test_lists_are_parsed(text: str, expected: list[Any]) -> None:
    assert parse_list(text, "--include-tasks", lambda _: "[1]") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff", "cannot be read: it is not UTF-8 text"),
        (b"[" * 100_000, "is not valid JSON: it is nested more than 200 levels deep"),
    ],
)
def test_files_that_cannot_be_read_are_reported(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        parse_dict(str(file), "--track-params")
    assert caught.value.message in (f"--track-params: {file} {message}", f"--track-params: {file}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "--track-params: item 1 is not a key:value pair"),
        ("a:1,b", "--track-params: item 2 is not a key:value pair"),
        (":1", "--track-params: item 1 is not a key:value pair"),
        ('{"a": }', "--track-params is not valid JSON: Expecting value at line 1, column 7"),
        ("x.json", "--track-params is a list, but must be an object"),
        ('[{"a": 1}]', "--track-params is a list, but must be an object"),
    ],
)
def test_text_that_is_not_a_dictionary_is_rejected(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_dict(text, "--track-params", lambda _: "[1]")
    assert caught.value.message == message


def test_files_and_devices_are_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "device.json").symlink_to("/dev/zero")
    (tmp_path / "large.json").touch()
    os.truncate(tmp_path / "large.json", (64 << 20) + 1)
    for name in ("device", "large"):
        with pytest.raises(UsageError, match=r"cannot be read: it is larger than 64\.0 MiB"):
            parse_dict(str(tmp_path / f"{name}.json"), "--track-params")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        parse_dict(str(tmp_path / "folder.json"), "--track-params")


def test_text_that_is_not_a_list_is_rejected() -> None:
    with pytest.raises(UsageError, match="--hosts is a number, but must be a list"):
        parse_list("x.json", "--hosts", lambda _: "3")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        parse_dict(str(tmp_path / "none.json"), "--track-params")


def test_the_name_of_a_file_may_contain_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run:2.json").write_text('{"a": 1}')
    for name in (f"{tmp_path}/run:2.json", "./run:2.json"):
        assert parse_dict(name, "--track-params") == {"a": 1}
    assert parse_dict("run:3.json", "--track-params") == {"run": "3.json"}
    # The author of the folder may have given a file the name of a pair.
    with pytest.raises(UsageError, match="--track-params is a pair, and there is a file with this name"):
        parse_dict("run:2.json", "--track-params")
    assert parse_dict("run:'2.json'", "--track-params") == {"run": "2.json"}
    with pytest.raises(UsageError, match=r"run:3\.json cannot be read: No such file"):
        parse_dict(f"{tmp_path}/run:3.json", "--track-params")
