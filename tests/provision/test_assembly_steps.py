"""The steps of an assembly place, extract, write and compile parts of an engine."""

from __future__ import annotations

import io
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.provision.assembly_steps import AssemblySource, digest_of_steps, run_steps
from pacenote.provision.distributions.parts import (
    CompiledJar,
    ExtractedFile,
    OptionalModules,
    PlacedJar,
    WrittenFile,
)
from pacenote.provision.engine_lock import EngineLock
from pacenote.provision.java import JavaRuntime

from .conftest import jar, put_in_cache

# Runs in place of Java: it "compiles" to a file that lists the names of the sources.
_COMPILER = f"""#!{sys.executable} -IS
import os, sys
out = sys.argv[sys.argv.index("-d") + 1]
os.makedirs(os.path.join(out, "p"))
open(os.path.join(os.path.dirname(sys.argv[0]), "..", "..", "out"), "w").write(out)
names = [os.path.basename(each) for each in sys.argv if each.endswith(".java")]
open(os.path.join(out, "p", "A.class"), "w").write(",".join(names))
"""


@pytest.fixture
def source(tmp_path: Path) -> AssemblySource:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("linux/lib.so", b"code")
    tools = jar("ecj", b"ecj"), jar("native", archive.getvalue())
    for tool, content in zip(tools, (b"ecj", archive.getvalue()), strict=True):
        put_in_cache(tool, tmp_path / "jars", content)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(_COMPILER)
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    lock = EngineLock("fake", "1.0", (), (), assembly=tools)
    runtime = JavaRuntime(tmp_path / "java", "21.0.1", "", frozenset(), "test")
    return AssemblySource(lock, tmp_path / "jars", runtime)


def test_parts_are_placed_extracted_and_written(source: AssemblySource, tmp_path: Path) -> None:
    steps = (
        PlacedJar("ecj", "lib/tools"),
        ExtractedFile("native", "linux/lib.so", "lib/platform/lib.so"),
        WrittenFile("text", "content"),
    )
    folder = tmp_path / "engine"
    folder.mkdir()
    run_steps(steps, folder, source)
    assert (folder / "lib" / "tools" / "ecj-1.0.jar").read_bytes() == b"ecj"
    assert (folder / "lib" / "platform" / "lib.so").read_bytes() == b"code"
    assert (folder / "text").read_text() == "content"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert all(path.stat().st_mode & stat.S_IROTH for path in files)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (ExtractedFile("native", "linux/none.so", "x"), "linux/none.so"),
        (ExtractedFile("ecj", "x", "x"), "not a zip file"),
        (OptionalModules("native", "x", ()), "has no module-info"),
        (OptionalModules("other", "x", ()), "other is not in its lock"),
    ],
)
def test_a_damaged_part_is_reported(
    source: AssemblySource, tmp_path: Path, step: ExtractedFile | OptionalModules, problem: str
) -> None:
    with pytest.raises(EngineError, match=rf"fake 1\.0 cannot be assembled: .*{problem}"):
        run_steps((step,), tmp_path, source)


def test_supplied_sources_are_compiled_to_a_jar_with_a_manifest(
    source: AssemblySource, tmp_path: Path
) -> None:
    step = CompiledJar("modules/m/m.jar", ("root", "root_since_9_2"), {"Agent-Class": "p.A"})
    folder = tmp_path / "engine"
    folder.mkdir()
    run_steps((step,), folder, source)
    assert [path.name for path in folder.iterdir()] == ["modules"]
    # Nothing is written elsewhere: the folder is removed after an assembly that was killed.
    assert (tmp_path / "out").read_text().startswith(f"{folder}/")
    with zipfile.ZipFile(folder / "modules" / "m" / "m.jar") as archive:
        assert archive.read("p/A.class") == b"RootAction.java,RootPlugin.java"
        assert archive.read("META-INF/MANIFEST.MF") == b"Manifest-Version: 1.0\nAgent-Class: p.A\n"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (OptionalModules("large", "x", ()), "large has more than 67,108,864 bytes"),
        (ExtractedFile("large", "large", "x"), "large has more than 67,108,864 bytes"),
        (OptionalModules("encrypted", "x", ()), "encrypted"),
        (ExtractedFile("encrypted", "a", "x"), "encrypted"),
    ],
)
def test_a_jar_that_expands_without_end_or_cannot_be_read_is_an_error(
    source: AssemblySource, tmp_path: Path, step: ExtractedFile | OptionalModules, problem: str
) -> None:
    large, plain = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large", bytes(65 << 20))
        archive.writestr("module-info.class", b"x")
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("a", b"x")
        archive.writestr("module-info.class", b"x")
    # The flag of an encrypted member, in its own header and in the directory.
    encrypted = bytearray(plain.getvalue())
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    contents = {"large": large.getvalue(), "encrypted": bytes(encrypted)}
    jars = tuple(jar(name, content) for name, content in contents.items())
    for artifact in jars:
        put_in_cache(artifact, tmp_path / "jars", contents[artifact.name])
    hostile = replace(source, lock=replace(source.lock, lib=jars))
    (tmp_path / "engine").mkdir()
    with pytest.raises(EngineError, match=rf"fake 1\.0 cannot be assembled: .*{problem}"):
        run_steps((step,), tmp_path / "engine", hostile)


@pytest.mark.parametrize(
    "step",
    [CompiledJar("x.jar", ("agent",)), PlacedJar("ecj", "lib"), ExtractedFile("ecj", "a", "b")],
)
def test_a_tool_that_was_changed_is_neither_run_nor_used(
    source: AssemblySource, tmp_path: Path, step: CompiledJar | PlacedJar | ExtractedFile
) -> None:
    (compiler, _) = source.lock.assembly
    # Of the same size: the cache does not notice.
    put_in_cache(compiler, tmp_path / "jars", b"ECJ")
    source.java.binary.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    (tmp_path / "engine").mkdir()
    with pytest.raises(
        EngineError, match=r"ecj-1\.0\.jar does not have the checksum of org\.example:ecj:1\.0"
    ):
        run_steps((step,), tmp_path / "engine", source)
    assert not (tmp_path / "was-run").exists()


def test_the_message_of_the_compiler_is_shown(source: AssemblySource, tmp_path: Path) -> None:
    binary = source.java.binary
    binary.write_text("#!/bin/sh\necho '1. ERROR in A.java: no such class' >&2\nexit 1\n")
    with pytest.raises(EngineError, match=r"x\.jar of fake 1\.0 cannot be compiled: 1\. ERROR in A\.java"):
        run_steps((CompiledJar("x.jar", ("agent",)),), tmp_path, source)


def test_options_of_the_user_for_java_do_not_reach_the_compiler(
    source: AssemblySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-javaagent:/missing.jar")
    source.java.binary.write_text(
        '#!/bin/sh\necho "options: <$JAVA_TOOL_OPTIONS>" "$(printf \'\\377\')"\nexit 1\n'
    )
    with pytest.raises(EngineError, match=r"cannot be compiled: options: <> \ufffd"):
        run_steps((CompiledJar("x.jar", ("agent",)),), tmp_path, source)


def test_a_java_that_cannot_be_run_is_reported(source: AssemblySource, tmp_path: Path) -> None:
    source.java.binary.chmod(0o644)
    with pytest.raises(EngineError, match=r"cannot be compiled: .*/java: Permission denied") as caught:
        run_steps((CompiledJar("x.jar", ("agent",)),), tmp_path, source)
    assert "--runtime-jdk" in caught.value.hint


def test_the_digest_depends_on_the_steps_and_their_sources() -> None:
    agent, root = CompiledJar("x.jar", ("agent",)), CompiledJar("x.jar", ("root",))
    assert digest_of_steps(()) == ""
    assert digest_of_steps((agent,)) == digest_of_steps((agent,))
    assert len({digest_of_steps((agent,)), digest_of_steps((root,)), digest_of_steps((agent, root))}) == 3
