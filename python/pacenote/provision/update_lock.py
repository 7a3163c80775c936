"""Creates lock files: resolves an engine version and downloads its jars to compute their checksums.

`python -m pacenote.provision.update_lock opensearch 3.3.0` updates the lock file in `locks/`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError, UsageError
from pacenote.model.printable import single_line
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.parts import ModuleDefinition, RootArtifact
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_lock import EngineLock, EngineModule, packaged_artifacts, save_lock
from pacenote.provision.install import DESCRIPTOR, published_files
from pacenote.provision.maven import (
    NETWORK_HINT,
    MavenArtifact,
    MavenRepository,
    fetch_artifacts,
    safe_name,
)
from pacenote.provision.pom_resolver import PomResolver, Unresolvable
from pacenote.provision.profiler import ARTIFACT as PROFILER
from pacenote.provision.published_versions import check_published
from pacenote.provision.zip_files import DamagedZip, opened_zip

_OTHER_VERSION = "use another version of the engine"


class LockSource(Struct, frozen=True):
    """The source of the jars."""

    cache_dir: Path
    """The cache of jars."""
    mirror: str | None = None
    """The URL of a Maven repository, or None for the default one."""


def resolve_lock(
    distribution: Distribution, version: str, source: LockSource, progress: ProgressCallback = no_progress
) -> EngineLock:
    """Resolves and downloads all jars of a version. Takes half a minute with a cold cache.

    Modules that the repository lacks in this version are omitted, unless the engine needs them. Raises
    EngineError if the version does not exist or the repository cannot be reached.
    """
    repository = MavenRepository(source.mirror)
    check_published(distribution, version, repository)
    assembly = tuple(
        MavenArtifact(artifact.group, artifact.name, artifact.version, artifact.sha256, artifact.size)
        for artifact in distribution.assembly_artifacts(version)
    )
    resolver = _Resolver(version, repository, _known_artifacts(assembly))
    assembly = tuple(map(resolver.with_checksum, assembly))
    definitions = distribution.module_definitions(version)
    label = f"resolving {distribution.name} {version}"
    progress(label, 0, len(definitions) + 1)
    lib = resolver.jars(distribution.root_artifacts(version))
    locale = resolver.jars(distribution.locale_artifacts(version))
    by_module: dict[str, tuple[MavenArtifact, ...]] = {}
    for number, definition in enumerate(definitions, 1):
        progress(label, number, len(definitions) + 1)
        inherited = [jar for name in definition.extends for jar in by_module.get(name, ())]
        present = {jar.group_and_name for jar in (*lib, *inherited)}
        resolved = resolver.module(definition)
        if resolved:
            # After the module's own jar. Jars of lib/ and of modules that it extends are omitted.
            others = (jar for jar in resolved[1:] if jar.group_and_name not in present)
            by_module[definition.folder] = (resolved[0], *others)
    for jars in (lib, locale, *by_module.values()):
        _check_file_names(jars)
    module_jars = (jar for jars in by_module.values() for jar in jars)
    artifacts = tuple(dict.fromkeys((*lib, *locale, *assembly, *module_jars)))
    fetched = dict(
        zip(
            artifacts,
            fetch_artifacts(artifacts, source.cache_dir, mirror=source.mirror, progress=progress),
            strict=True,
        )
    )
    modules = [
        EngineModule(
            name=definition.folder,
            main_class=plugin_class(fetched[by_module[definition.folder][0]].path_in(source.cache_dir)),
            extends=tuple(name for name in definition.extends if name in by_module),
            artifacts=tuple(fetched[jar] for jar in by_module[definition.folder]),
        )
        for definition in definitions
        if definition.folder in by_module
    ]
    return EngineLock(
        distribution=distribution.name,
        version=version,
        lib=tuple(fetched[jar] for jar in lib),
        modules=tuple(modules),
        locale=tuple(fetched[jar] for jar in locale),
        assembly=tuple(fetched[jar] for jar in assembly),
    )


def plugin_class(jar: Path) -> str:
    """Returns the plugin class of a module: the one in the descriptor of its jar, otherwise the top-level
    `*ModulePlugin` of its jar, otherwise its `*Plugin`.

    Raises EngineError if there is none, or more than one, or if the jar is damaged.
    """
    try:
        stated = re.search(r"^classname=(\S+)$", published_files(jar).get(DESCRIPTOR, ""), re.MULTILINE)
        classes = [stated[1]] if stated else _plugin_classes(jar)
        if len(classes) == 1:
            return safe_name(classes[0])
    except (DamagedZip, ValueError) as failure:
        raise EngineError(f"{jar.name} is not a module: {failure}", hint=_OTHER_VERSION) from None
    named = single_line(", ".join(classes)) or "none"
    raise EngineError(f"{jar.name} must have one plugin class, but has {named}", hint=_OTHER_VERSION)


def _plugin_classes(jar: Path) -> list[str]:
    """Returns the names of the classes that may be the plugin class, sorted. Raises DamagedZip."""
    with opened_zip(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith("Plugin.class") and "$" not in name]
    preferred = [name for name in names if name.endswith("ModulePlugin.class")] or names
    return sorted(name.removesuffix(".class").replace("/", ".") for name in preferred)


def _known_artifacts(pinned: Iterable[MavenArtifact]) -> Mapping[str, MavenArtifact]:
    """Returns all artifacts whose checksum Pacenote contains, by their coordinates: what a repository sends
    for one of them must have that checksum.
    """
    artifacts = (*packaged_artifacts(), PROFILER, *pinned)
    return {str(artifact): artifact for artifact in artifacts if artifact.sha256}


def _check_file_names(jars: Iterable[MavenArtifact]) -> None:
    """Raises EngineError if two jars of one folder have the same file name."""
    names: dict[str, MavenArtifact] = {}
    for jar in jars:
        if (other := names.setdefault(jar.file_name, jar)) is not jar:
            raise EngineError(
                f"{other} and {jar} cannot be in one folder: both are called {jar.file_name}",
                hint="use another version of the engine, or another --maven-mirror",
            )


class _Resolver:
    """Finds the jars of an engine, with the checksums that are known before they are downloaded."""

    def __init__(self, version: str, repository: MavenRepository, known: Mapping[str, MavenArtifact]) -> None:
        self._version = version
        self._known = known
        self._resolver = PomResolver(repository)

    def jars(self, roots: tuple[RootArtifact, ...]) -> tuple[MavenArtifact, ...]:
        """Returns the root artifacts with their dependencies.

        Each root is resolved separately, because the versions that one root manages do not affect the others.
        """
        resolved: dict[str, MavenArtifact] = {}
        for root in roots:
            if root.follows:
                jars: Iterable[MavenArtifact] = [_following(root, resolved.values())]
            else:
                jars = self._resolve(MavenArtifact(root.group, root.name, root.version))
            for jar in jars:
                resolved.setdefault(jar.group_and_name, self.with_checksum(jar))
        return tuple(sorted(resolved.values(), key=lambda jar: jar.file_name))

    def module(self, definition: ModuleDefinition) -> list[MavenArtifact]:
        """Returns a module's own jar and then its dependencies, or an empty list if this version has no such
        module.
        """
        module_jar = MavenArtifact(definition.group, definition.name, self._version)
        if not definition.required and not self._exists(module_jar):
            return []
        return [self.with_checksum(jar) for jar in self._resolve(module_jar)]

    def with_checksum(self, jar: MavenArtifact) -> MavenArtifact:
        """Returns an artifact with its checksum and size if they are known."""
        return self._known.get(str(jar), jar)

    def _exists(self, jar: MavenArtifact) -> bool:
        try:
            return self._resolver.exists(jar)
        except Unresolvable as failure:
            raise _unresolved(jar, failure) from None

    def _resolve(self, root: MavenArtifact) -> list[MavenArtifact]:
        try:
            needed = self._resolver.dependencies(root)
        except Unresolvable as failure:
            raise _unresolved(root, failure) from None
        return [root, *sorted(needed, key=lambda jar: jar.file_name)]


def _unresolved(artifact: MavenArtifact, failure: Unresolvable) -> EngineError:
    return EngineError(f"{artifact} cannot be resolved: {failure}", hint=NETWORK_HINT)


def _following(root: RootArtifact, resolved: Iterable[MavenArtifact]) -> MavenArtifact:
    """Returns an artifact in the version of another one. Raises EngineError if that is not resolved."""
    version = next((jar.version for jar in resolved if jar.name == root.follows), None)
    if version is None:
        raise EngineError(
            f"the version of {root.name} cannot be determined: by its POM in the repository, the engine "
            f"does not need {root.follows}",
            hint=NETWORK_HINT,
        )
    return MavenArtifact(root.group, root.name, version)


def main(arguments: list[str]) -> int:
    """Updates a lock file of the package: `DISTRIBUTION VERSION [MIRROR]`, in a writable checkout."""
    if len(arguments) not in (2, 3):
        raise UsageError("update_lock takes a distribution, a version and optionally a mirror")
    name, version, *mirror = arguments
    with tempfile.TemporaryDirectory(prefix="pacenote-lock-") as cache:
        source = LockSource(Path(cache), mirror[0] if mirror else None)
        lock = resolve_lock(find_distribution(name, version), version, source)
    save_lock(lock, Path(__file__).parent / "locks")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
