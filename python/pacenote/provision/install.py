"""Assembles an engine from its jars in a folder that later races reuse."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.assembly_steps import AssemblySource, digest_of_steps, run_steps
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.maven import MavenArtifact
from pacenote.provision.public_files import link_file, write_public
from pacenote.provision.zip_files import DamagedZip, opened_zip, read_member
from pacenote.system.folder_trees import delete_tree, discard_tree
from pacenote.system.paths import exists

MARKER = "complete"
"""The file whose presence shows that a folder is complete."""

LAYOUT_VERSION = 1
"""Part of the folder's name. It must be increased if the same jars are arranged differently."""

DESCRIPTOR = "plugin-descriptor.properties"
"""The file that describes a module."""

_MAX_PUBLISHED_FILES = 20
_MAX_PUBLISHED_BYTES = 1 << 20
_MAX_MEMBER_BYTES = 64 << 20
"""Limits of the files by which a module describes itself, which have 2 KiB, and of a file in a jar of locale
data, of which the largest has 2 MiB.
"""

_PUBLISHED_FILE = re.compile(r"META-INF/es-plugins/[^/]+/([\w-]+\.\w+)")
_JAVA_SERVICES = re.compile(r"META-INF/services/java\.(?!text\.spi\.BreakIteratorProvider$)")


def assemble(
    distribution: Distribution,
    source: AssemblySource,
    installs: Path,
    progress: ProgressCallback = no_progress,
) -> Path:
    """Returns the folder of an assembled engine below `installs`, which is built from cached jars if it does
    not exist.

    Its name contains the lock's digest, so a different set of jars gets a different folder; so do other steps
    of the assembly. The folder is built under a temporary name and renamed. Raises DiskError if it cannot be
    written, and EngineError for a damaged jar.
    """
    lock, steps = source.lock, distribution.assembly_steps(source.lock.version)
    parts = (lock.distribution, lock.version, lock.digest(), str(LAYOUT_VERSION), digest_of_steps(steps))
    target = installs / "-".join(filter(None, parts))
    if exists(target / MARKER):
        return target
    try:
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=installs))
        try:
            label = f"assembling {lock.distribution} {lock.version}"
            # Compiling the parts that it lacks is the last step.
            count = len(lock.modules) + 1
            _fill(build, distribution, source, lambda done: progress(label, done, count))
            run_steps(steps, build, source)
            progress(label, count, count)
            write_public(build / MARKER, f"{lock.distribution} {lock.version}\n")
            publish_folder(build, target)
        finally:
            discard_tree(build)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return target


def _fill(
    build: Path, distribution: Distribution, source: AssemblySource, report: Callable[[int], None]
) -> None:
    """Fills the folder of an engine. Calls `report` with the number of its modules that are complete."""
    lock, jars = source.lock, source.jars
    report(0)
    build.chmod(0o755)
    # The engine expects these folders, even if they are empty, and has no permission to create them.
    for name in ("bin", "config", "plugins"):
        _create_folder(build / name)
    _link_all(lock.lib, jars, _create_folder(build / "lib"))
    locale = _create_folder(build / "locale")
    for artifact in lock.locale:
        with _readable(artifact.path_in(jars)) as jar:
            _only_break_iterators(jar, locale / artifact.file_name)
    modules = _create_folder(build / "modules")
    for done, module in enumerate(lock.modules):
        report(done)
        folder = _create_folder(modules / module.name)
        _link_all(module.artifacts, jars, folder)
        files = distribution.module_files(lock.version, module)
        if distribution.modules_describe_themselves:
            with _readable(module.artifacts[0].path_in(jars)) as jar:
                files = {**published_files(jar), **files}
        for name, text in files.items():
            write_public(folder / name, text)
    report(len(lock.modules))


def published_files(jar: Path) -> Mapping[str, str]:
    """Returns the text files of a module that its jar contains, such as its descriptor: file name to text.

    Raises OSError and DamagedZip.
    """
    with opened_zip(jar) as archive:
        matches = ((_PUBLISHED_FILE.fullmatch(name), name) for name in archive.namelist())
        published = {match[1]: name for match, name in matches if match}
        if len(published) > _MAX_PUBLISHED_FILES:
            raise DamagedZip(f"it describes itself in more than {_MAX_PUBLISHED_FILES} files")
        return {
            file: read_member(archive, name, _MAX_PUBLISHED_BYTES).decode()
            for file, name in published.items()
        }


@contextmanager
def _readable(jar: Path) -> Generator[Path, None, None]:
    """Raises EngineError for a jar that turns out to be damaged in the block."""
    try:
        yield jar
    except DamagedZip as failure:
        raise EngineError(
            f"{jar} is damaged: {failure}", hint="delete this file; it will be downloaded again"
        ) from None


def publish_folder(build: Path, target: Path) -> None:
    """Renames a folder that is complete. Raises OSError."""
    try:
        build.rename(target)
    except OSError:
        # Another race created it in the meantime. A folder without its marker is damaged and replaced.
        if exists(target / MARKER):
            return
        if not exists(target):
            raise
        delete_tree(target)
        build.rename(target)


def _create_folder(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o755)
    return path


def _link_all(artifacts: Iterable[MavenArtifact], jars: Path, folder: Path) -> None:
    for artifact in artifacts:
        link_file(artifact.path_in(jars), folder / artifact.file_name)


def _only_break_iterators(source: Path, target: Path) -> None:
    """Copies a jar without the services that it provides to Java, except word boundaries.

    Dates and numbers must be formatted with Java's own data, as in the official archive.
    """
    with opened_zip(source) as whole:
        unwanted = {name for name in whole.namelist() if _JAVA_SERVICES.match(name)}
        if not unwanted:
            link_file(source, target)
            return
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as kept:
            for entry in whole.infolist():
                if entry.filename not in unwanted:
                    kept.writestr(entry, read_member(whole, entry.filename, _MAX_MEMBER_BYTES))
    target.chmod(0o644)
