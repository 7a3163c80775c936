"""Making a lock: resolve an engine version with jgo, fetch its jars, note what they are.

`python -m pacenote.provision.update_lock opensearch 3.3.0` remakes the checked-in lock in `locks/`.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacenote.errors import EngineError, UsageError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.distribution import Distribution, ModuleRecipe, Root
from pacenote.provision.distributions import find_distribution
from pacenote.provision.engine_lock import Lock, Module, save_lock
from pacenote.provision.maven import NETWORK_HINT, MavenArtifact, MavenRepository, fetch_artifacts

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a lock is made from: a folder for what is fetched, and a mirror when one is set."""

    cache_dir: Path
    mirror: str | None = None


def make_lock(
    distribution: Distribution, version: str, source: Source, progress: ProgressCallback = no_progress
) -> Lock:
    """Resolve and fetch everything `version` is made of. Takes half a minute with a cold cache.

    Modules that this version does not have in the repository are left out, unless the engine cannot run
    without. Raises EngineError when the version does not exist or the repository cannot be reached.
    """
    resolver = _Resolver(version, source)
    recipes = distribution.recipes(version)
    label = f"resolving {distribution.name} {version}"
    progress(label, 0, len(recipes) + 1)
    lib = resolver.jars(distribution.roots(version))
    locale = resolver.jars(distribution.locale_roots(version))
    jars: dict[str, tuple[MavenArtifact, ...]] = {}
    for number, recipe in enumerate(recipes, 1):
        progress(label, number, len(recipes) + 1)
        taken = {_key(jar) for jar in (*lib, *(jar for name in recipe.extends for jar in jars.get(name, ())))}
        found = resolver.module(recipe)
        if found:
            # The first is the module's own. What lib/ or an extended module has already, it must not bring
            # again.
            jars[recipe.folder] = tuple(jar for jar in found if _key(jar) not in taken)
    wanted = tuple(dict.fromkeys((*lib, *locale, *(jar for own in jars.values() for jar in own))))
    fetched = dict(
        zip(
            wanted,
            fetch_artifacts(wanted, source.cache_dir, mirror=source.mirror, progress=progress),
            strict=True,
        )
    )
    modules = [
        Module(
            name=recipe.folder,
            main_class=plugin_class(fetched[jars[recipe.folder][0]].path_in(source.cache_dir)),
            extends=tuple(name for name in recipe.extends if name in jars),
            artifacts=tuple(fetched[jar] for jar in jars[recipe.folder]),
        )
        for recipe in recipes
        if recipe.folder in jars
    ]
    return Lock(
        distribution=distribution.name,
        version=version,
        lib=tuple(fetched[jar] for jar in lib),
        modules=tuple(modules),
        locale=tuple(fetched[jar] for jar in locale),
    )


def plugin_class(jar: Path) -> str:
    """The class a module starts with: the one top-level `*Plugin.class` in its jar, `*ModulePlugin` before
    others.

    Raises EngineError when there is none, or no single best one.
    """
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith("Plugin.class") and "$" not in name]
    best = [name for name in names if name.endswith("ModulePlugin.class")] or names
    if len(best) != 1:
        found = ", ".join(sorted(best)) or "none"
        raise EngineError(
            f"{jar.name} should have one plugin class, found {found}",
            hint="use another version of the engine",
        )
    return best[0].removesuffix(".class").replace("/", ".")


def _key(jar: MavenArtifact) -> Key:
    return jar.group, jar.name


class _Resolver:
    """jgo, spoken to in our words."""

    def __init__(self, version: str, source: Source) -> None:
        from jgo.maven import MavenContext

        self._version = version
        self._repository = MavenRepository(source.mirror)
        self._context = MavenContext(
            repo_cache=source.cache_dir / "poms",
            remote_repos={"central": self._repository.location},
            timeout=20,
        )

    def jars(self, roots: tuple[Root, ...]) -> tuple[MavenArtifact, ...]:
        """The roots with all they need. Each root is resolved on its own: jgo lets the roots' own pins act on
        one another.
        """
        found: dict[Key, MavenArtifact] = {}
        for root in roots:
            if root.follows:
                version = next(jar.version for jar in found.values() if jar.name == root.follows)
                jars: Iterable[MavenArtifact] = [MavenArtifact(root.group, root.name, version)]
            else:
                jars = self._resolve(MavenArtifact(root.group, root.name, root.version))
            for jar in jars:
                found.setdefault(_key(jar), jar)
        return tuple(sorted(found.values(), key=lambda jar: jar.file_name))

    def module(self, recipe: ModuleRecipe) -> list[MavenArtifact]:
        """A module's own jar and then what it needs; empty when this version has no such module."""
        own = MavenArtifact(recipe.group, recipe.name, self._version)
        if not recipe.required and not self._repository.exists(
            own.repository_path.removesuffix(".jar") + ".pom"
        ):
            return []
        return self._resolve(own)

    def _resolve(self, root: MavenArtifact) -> list[MavenArtifact]:
        import requests

        try:
            dependency = self._context.create_dependency(str(root))
            _, transitive = self._context.resolver.resolve([dependency])
        except requests.RequestException:
            raise EngineError(
                f"{root} cannot be resolved: the repository is unreachable", hint=NETWORK_HINT
            ) from None
        except (RuntimeError, ValueError, AssertionError):
            raise EngineError(
                f"{root} cannot be resolved from the Maven repository {self._repository.url}",
                hint="check that this version exists; " + NETWORK_HINT,
            ) from None
        # A classifier marks native code for one platform (netty's QUIC), which engines can do without.
        plain = (each for each in transitive if not each.classifier and each.type == "jar")
        return [root, *sorted((_artifact(each) for each in plain), key=lambda jar: jar.file_name)]


def _artifact(dependency: Any) -> MavenArtifact:
    return MavenArtifact(dependency.groupId, dependency.artifactId, dependency.version)


def main(arguments: list[str]) -> int:
    """Remake a checked-in lock: `DISTRIBUTION VERSION [MIRROR]`. Needs a checkout that can be written."""
    if len(arguments) not in (2, 3):
        raise UsageError("relock takes a distribution, a version and optionally a mirror")
    name, version, *mirror = arguments
    with tempfile.TemporaryDirectory(prefix="pacenote-relock-") as cache:
        source = Source(Path(cache), mirror[0] if mirror else None)
        lock = make_lock(find_distribution(name, version), version, source)
    save_lock(lock, Path(__file__).parent / "locks")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
