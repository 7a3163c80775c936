"""Creates lock files: resolves an engine version with jgo and downloads its jars to compute their checksums.

`python -m pacenote.provision.update_lock opensearch 3.3.0` updates the lock file in `locks/`.
"""

from __future__ import annotations

import re
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacenote.errors import EngineError, UsageError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.parts import ModuleDefinition, RootArtifact
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_lock import EngineLock, EngineModule, save_lock
from pacenote.provision.install import DESCRIPTOR, published_files
from pacenote.provision.maven import NETWORK_HINT, MavenArtifact, MavenRepository, fetch_artifacts
from pacenote.provision.published_versions import check_published

_RESOLVE_TIMEOUT_S = 600.0
"""Seconds in which jgo must have resolved a dependency: it limits only the silence of a server."""


@dataclass(frozen=True, slots=True)
class LockSource:
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
    check_published(distribution, version, MavenRepository(source.mirror))
    resolver = _Resolver(version, source)
    definitions = distribution.module_definitions(version)
    label = f"resolving {distribution.name} {version}"
    progress(label, 0, len(definitions) + 1)
    lib = resolver.jars(distribution.root_artifacts(version))
    locale = resolver.jars(distribution.locale_artifacts(version))
    assembly = tuple(
        MavenArtifact(artifact.group, artifact.name, artifact.version, artifact.sha256, artifact.size)
        for artifact in distribution.assembly_artifacts(version)
    )
    by_module: dict[str, tuple[MavenArtifact, ...]] = {}
    for number, definition in enumerate(definitions, 1):
        progress(label, number, len(definitions) + 1)
        inherited = [jar for name in definition.extends for jar in by_module.get(name, ())]
        present = {jar.group_and_name for jar in (*lib, *inherited)}
        resolved = resolver.module(definition)
        if resolved:
            # The first is the module's own jar. Jars of lib/ and of modules that it extends are omitted.
            by_module[definition.folder] = tuple(jar for jar in resolved if jar.group_and_name not in present)
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

    Raises EngineError if there is none, or more than one.
    """
    if stated := re.search(r"^classname=(\S+)$", published_files(jar).get(DESCRIPTOR, ""), re.MULTILINE):
        return stated[1]
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith("Plugin.class") and "$" not in name]
    preferred = [name for name in names if name.endswith("ModulePlugin.class")] or names
    if len(preferred) != 1:
        plugin_classes = ", ".join(sorted(preferred)) or "none"
        raise EngineError(
            f"{jar.name} must have one plugin class, but has {plugin_classes}",
            hint="use another version of the engine",
        )
    return preferred[0].removesuffix(".class").replace("/", ".")


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """Returns the result of a call, or raises its error. Raises TimeoutError after some seconds; the call
    then goes on until the process ends.
    """
    result: Future[Any] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, name="pacenote-resolve", daemon=True).start()
    return result.result(seconds)


class _Resolver:
    """Resolves dependencies with jgo."""

    def __init__(self, version: str, source: LockSource) -> None:
        from jgo.maven import MavenContext

        self._version = version
        self._repository = MavenRepository(source.mirror)
        self._context = MavenContext(
            repo_cache=source.cache_dir / "poms",
            remote_repos={"central": self._repository.location},
            timeout=20,
        )

    def jars(self, roots: tuple[RootArtifact, ...]) -> tuple[MavenArtifact, ...]:
        """Returns the root artifacts with their dependencies.

        Each root is resolved separately, because in jgo the versions that one root pins affect the others.
        """
        resolved: dict[str, MavenArtifact] = {}
        for root in roots:
            if root.follows:
                version = next(jar.version for jar in resolved.values() if jar.name == root.follows)
                jars: Iterable[MavenArtifact] = [MavenArtifact(root.group, root.name, version)]
            else:
                jars = self._resolve(MavenArtifact(root.group, root.name, root.version))
            for jar in jars:
                resolved.setdefault(jar.group_and_name, jar)
        return tuple(sorted(resolved.values(), key=lambda jar: jar.file_name))

    def module(self, definition: ModuleDefinition) -> list[MavenArtifact]:
        """Returns a module's own jar and then its dependencies, or an empty list if this version has no such
        module.
        """
        module_jar = MavenArtifact(definition.group, definition.name, self._version)
        if not definition.required and not self._repository.exists(
            module_jar.repository_path.removesuffix(".jar") + ".pom"
        ):
            return []
        return self._resolve(module_jar)

    def _resolve(self, root: MavenArtifact) -> list[MavenArtifact]:
        import requests

        def transitive_dependencies() -> Any:
            dependency = self._context.create_dependency(str(root))
            return self._context.resolver.resolve([dependency])[1]

        try:
            transitive = _within(_RESOLVE_TIMEOUT_S, transitive_dependencies)
        except TimeoutError:
            raise EngineError(
                f"{root} cannot be resolved: the repository takes longer than {_RESOLVE_TIMEOUT_S:.4g} s",
                hint=NETWORK_HINT,
            ) from None
        except requests.RequestException:
            raise EngineError(
                f"{root} cannot be resolved: the repository is unreachable", hint=NETWORK_HINT
            ) from None
        except (RuntimeError, ValueError, AssertionError):
            raise EngineError(
                f"{root} cannot be resolved from the Maven repository {self._repository.url}",
                hint="check that this version exists; " + NETWORK_HINT,
            ) from None
        # A classifier marks native code for one platform (QUIC of netty), which engines do not need.
        plain = (artifact for artifact in transitive if not artifact.classifier and artifact.type == "jar")
        return [root, *sorted((_artifact(artifact) for artifact in plain), key=lambda jar: jar.file_name)]


def _artifact(dependency: Any) -> MavenArtifact:
    return MavenArtifact(dependency.groupId, dependency.artifactId, dependency.version)


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
