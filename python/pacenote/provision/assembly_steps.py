"""Carries out the steps of an assembly: places jars, extracts files, compiles the supplied Java sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.provision.distributions.parts import (
    AssemblyStep,
    CompiledJar,
    ExtractedFile,
    OptionalModules,
    PlacedJar,
    WrittenFile,
)
from pacenote.provision.engine_lock import EngineLock
from pacenote.provision.java import JavaRuntime
from pacenote.provision.java_module_descriptor import copy_with_optional_modules
from pacenote.provision.maven import MavenArtifact, verified_jar
from pacenote.provision.public_files import link_file, make_public_dir, write_public
from pacenote.provision.zip_files import DamagedZip, opened_zip, read_member

_COMPILER = "ecj"
_COMPILER_CLASS = "org.eclipse.jdt.internal.compiler.batch.Main"
_CLASS_VERSION = "17"
"""The lowest version of Java that runs an engine with supplied parts."""
_TIMEOUT_S = 120
_MAX_EXTRACTED_BYTES = 64 << 20


class AssemblySource(Struct, frozen=True):
    """What the steps of an assembly read."""

    lock: EngineLock
    """The jars of the engine."""
    jars: Path
    """The cache of jars."""
    java: JavaRuntime
    """The runtime that the compiler runs on."""

    def jar(self, name: str) -> Path:
        """Returns the cached jar with an artifact id, after its checksum was compared: the compiler runs as
        the user of Pacenote. Raises ValueError if the lock does not have it, EngineError and OSError.
        """
        jars: Iterable[MavenArtifact] = (*self.lock.assembly, *self.lock.lib)
        jar_in_lock = next((jar for jar in jars if jar.name == name), None)
        if jar_in_lock is None:
            raise ValueError(f"{name} is not in its lock")
        return verified_jar(jar_in_lock, self.jars)


def digest_of_steps(steps: Iterable[AssemblyStep]) -> str:
    """Returns a short hash of steps and of the sources that they compile; empty without steps."""
    steps = tuple(steps)
    if not steps:
        return ""
    digest = hashlib.sha256(repr(steps).encode())
    for step in steps:
        if isinstance(step, CompiledJar):
            for path in _source_files(step):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def run_steps(steps: Iterable[AssemblyStep], folder: Path, source: AssemblySource) -> None:
    """Carries out steps in the folder of an installation, whose `lib/` is complete.

    Raises EngineError for a damaged jar and if a source cannot be compiled, and OSError.
    """
    for step in steps:
        try:
            _run(step, folder, source)
        except (DamagedZip, KeyError, ValueError) as failure:
            raise EngineError(
                f"{source.lock.distribution} {source.lock.version} cannot be assembled: {failure}",
                hint="remove the engine's jars below PACENOTE_HOME so that they are downloaded again",
            ) from None


def _run(step: AssemblyStep, folder: Path, source: AssemblySource) -> None:
    match step:
        case PlacedJar(jar, place):
            make_public_dir(folder / place)
            path = source.jar(jar)
            link_file(path, folder / place / path.name)
        case ExtractedFile(jar, member, path):
            make_public_dir((folder / path).parent)
            with opened_zip(source.jar(jar)) as archive:
                (folder / path).write_bytes(read_member(archive, member, _MAX_EXTRACTED_BYTES))
            (folder / path).chmod(0o644)
        case WrittenFile(path, text):
            write_public(folder / path, text)
        case OptionalModules(jar, place, modules):
            make_public_dir(folder / place)
            path = source.jar(jar)
            target = folder / place / path.name
            copy_with_optional_modules(path, target, modules)
            target.chmod(0o644)
        case CompiledJar():
            make_public_dir((folder / step.path).parent)
            _compile(step, folder, source)


def _source_files(step: CompiledJar) -> list[Path]:
    with as_file(files("pacenote.provision") / "supplied") as supplied:
        return sorted(path for name in step.sources for path in (supplied / name).rglob("*.java"))


def _compile(step: CompiledJar, folder: Path, source: AssemblySource) -> None:
    # Within the folder, which is removed if the assembly is killed.
    with tempfile.TemporaryDirectory(prefix=".compile-", dir=folder) as output:
        command = [
            *(str(source.java.binary), "-cp", str(source.jar(_COMPILER)), _COMPILER_CLASS),
            *("-source", _CLASS_VERSION, "-target", _CLASS_VERSION, "-proc:none", "-nowarn"),
            *("-classpath", ":".join(str(jar) for jar in sorted((folder / "lib").glob("*.jar")))),
            *("-d", output, *map(str, _source_files(step))),
        ]
        problem, hint = _problem_of(command, Path(output))
        if problem:
            engine = f"{source.lock.distribution} {source.lock.version}"
            raise EngineError(
                f"{step.path} of {engine} cannot be compiled: {single_line(problem)}", hint=hint
            )
        _write_jar(folder / step.path, Path(output), step)


def _problem_of(command: Sequence[str], folder: Path) -> tuple[str, str]:
    """Runs a compiler in a folder; returns what is wrong and what to do, or empty strings if nothing is."""
    # Options for other programs, such as JAVA_TOOL_OPTIONS, are not for the compiler.
    environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    try:
        done = subprocess.run(
            command,
            # Not that of the user, in which a JVM finds files that it reads.
            cwd=folder,
            env={**environment, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the compiler does not end within {_TIMEOUT_S} s", "try again when the machine is less busy"
    except OSError as failure:
        return f"{command[0]}: {failure.strerror}", "choose another Java with --runtime-jdk"
    errors = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    if done.returncode == 0:
        return "", ""
    return " ".join(errors[:3]) or f"exit code {done.returncode}", "choose another version"


def _write_jar(target: Path, classes: Path, step: CompiledJar) -> None:
    attributes = {"Manifest-Version": "1.0", **step.manifest}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(
            "META-INF/MANIFEST.MF", "".join(f"{key}: {value}\n" for key, value in attributes.items())
        )
        for path in sorted(classes.rglob("*.class")):
            jar.write(path, path.relative_to(classes).as_posix())
    target.chmod(0o644)
