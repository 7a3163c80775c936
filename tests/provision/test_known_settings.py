"""Misspelt settings are found with the names in the jars of an engine."""

from __future__ import annotations

import random
import struct
import time
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision import known_settings
from pacenote.provision.known_settings import (
    SettingNames,
    check_setting_names,
    read_setting_names,
    without_absent_modules,
)

from .conftest import write_jar

NAMES = (
    "indices.memory.index_buffer_size",
    "cluster.routing.allocation.require.",
    "cluster.",
    "http.compression",
    "xpack.security.enabled",
)


@pytest.fixture
def known(tmp_path: Path) -> SettingNames:
    write_jar(tmp_path / "lib", "server.jar", *NAMES[:3], "not a setting", "x" * 300)
    write_jar(tmp_path / "modules" / "netty", "netty.jar", *NAMES[3:])
    return read_setting_names(tmp_path)


def test_names_and_groups_are_read_from_all_jars(known: SettingNames) -> None:
    assert all(map(known.knows, (NAMES[0], *NAMES[3:])))
    assert known.knows("cluster.routing.allocation.require.box_type")
    assert known.knows("logger.org.opensearch.index")
    assert known.knows("thread_pool.search.queue_size")
    assert not known.knows("cluster.nonsense")


def test_a_misspelt_setting_is_reported_with_similar_ones(known: SettingNames) -> None:
    with pytest.raises(
        UsageError, match=r"engine 1 has no setting indices\.memory\.index_bufer_size"
    ) as caught:
        check_setting_names(["indices.memory.index_bufer_size"], known, "engine 1")
    assert caught.value.hint == "did you mean indices.memory.index_buffer_size?"


def test_an_unknown_setting_is_compared_with_some_names() -> None:
    name, order = "indices.memory.index_buffer_size" * 8, random.Random(1)
    names = {f"i{''.join(order.sample(name[:length], length))}" for length in (100, 256) for _ in range(5000)}
    before = time.process_time()
    known = SettingNames(frozenset(names))
    assert known.similar(f"i{name}") == []
    known.similar(name[:100])
    assert time.process_time() - before < 3


def test_a_setting_that_resembles_none_is_left_to_the_engine(known: SettingNames) -> None:
    check_setting_names(["script.painless.regex.enabled", *NAMES], known, "engine 1")


def test_settings_of_absent_modules_are_left_out_unless_they_would_change_something(
    known: SettingNames,
) -> None:
    settings = {"xpack.security.enabled": "true", "xpack.ml.enabled": "false", "http.compression": "true"}
    kept = without_absent_modules(settings, known, "engine 1")
    assert kept == {"xpack.security.enabled": "true", "http.compression": "true"}
    with pytest.raises(
        EngineError, match=r"engine 1 has no setting xpack\.ml\.enabled, .* to true: it lacks"
    ):
        without_absent_modules({"xpack.ml.enabled": "true"}, known, "engine 1")


def test_a_damaged_jar_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "bad.jar").write_text("x")
    with pytest.raises(EngineError, match=r"bad\.jar cannot be read"):
        read_setting_names(tmp_path)


def test_a_class_that_unpacks_to_more_than_a_class_has_is_not_read(tmp_path: Path) -> None:
    jar = tmp_path / "lib" / "bomb.jar"
    jar.parent.mkdir()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("org/opensearch/Bomb.class", b"\x01\x00\x0bbombs.limit".ljust(2 << 20, b"\0"))
        members.writestr("org/opensearch/Own.class", b"\x01\x00\x09own.limit\0")
    known = read_setting_names(tmp_path)
    assert known.knows("own.limit")
    assert not known.knows("bombs.limit")


@pytest.mark.parametrize(
    ("name", "limit", "problem"),
    [
        ("_MAX_BYTES", 200 << 10, r"more than 200\.0 KiB of classes"),
        ("_MAX_BYTES", 100 << 10, r"more than 100\.0 KiB of classes"),
        ("_MAX_NAMES", 150, "more than 150 names of settings"),
        ("_MAX_NAMES", 50, "more than 50 names of settings"),
    ],
)
def test_all_jars_of_an_engine_together_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int, problem: str
) -> None:
    for module in ("a", "b"):
        write_jar(tmp_path / "modules" / module, "it.jar", *(f"{module}.setting{n}" for n in range(100)))
    monkeypatch.setattr(known_settings, name, limit)
    with pytest.raises(EngineError, match=rf"it\.jar cannot be read: .* of the engine contain {problem}"):
        read_setting_names(tmp_path)


def test_a_jar_whose_list_of_files_is_too_long_is_not_read(tmp_path: Path) -> None:
    jar = tmp_path / "lib" / "long.jar"
    jar.parent.mkdir()
    size = 17 << 20
    with jar.open("wb") as file:
        file.seek(size)
        file.write(b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 9, 9, size, 0, 0))
    with pytest.raises(EngineError, match=r"long\.jar cannot be read: the list of its files has more than"):
        read_setting_names(tmp_path)


def test_links_beside_the_jars_of_an_engine_do_no_harm(tmp_path: Path) -> None:
    write_jar(tmp_path / "lib", "server.jar", *NAMES)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "long").symlink_to("a" * 300)
    (tmp_path / "plugins").symlink_to("plugins")
    assert read_setting_names(tmp_path).knows(NAMES[0])


def test_settings_for_tls_exist_in_engines_with_security(known: SettingNames) -> None:
    # Their names are composed at run time, and this one resembles another.
    names = ("xpack.security.http.ssl.key", "xpack.security.transport.ssl.keystore.path")
    check_setting_names(names, known, "engine 1")
    assert without_absent_modules(dict.fromkeys(names, "x"), known, "engine 1") == dict.fromkeys(names, "x")
    assert not SettingNames(frozenset({"xpack.ml.enabled"})).knows(names[0])
