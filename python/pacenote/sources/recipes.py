"""How an engine is built: commands of its sources, and where the result is, as data.

A team repository has the same values as variables of its cars.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.engine import ELASTICSEARCH, OPENSEARCH
from pacenote.system.paths import is_file

MAX_PROPERTIES_BYTES = 1 << 20
"""Size of the largest file with versions that is read of the sources."""


class BuildRecipe(Struct, frozen=True):
    """How the archive of an engine is built from its sources."""

    url: str
    """The repository of the sources."""
    branch: str
    """The main branch."""
    clean_command: str
    """The shell command that removes earlier results; empty if there is none."""
    build_command: str
    """The shell command that builds the archive."""
    artifact_pattern: str
    """The pattern of the archive's path in the sources."""
    version_file: str
    """The file of the sources that contains the version of the engine."""
    build_jdk: str = ""
    """The major version of the JDK that the build needs; empty if the sources say it."""
    in_rally_ini: bool = False
    """Whether `remote.repo.url` of `rally.ini` names its repository."""
    jdk_variable: str = ""
    """The key of `.ci/java-versions.properties` with the JDK that the build needs."""


_ARM = os.uname().machine == "aarch64"
_TASK = "./gradlew --no-daemon :distribution:archives:{folder}:assemble"
_PATTERN = "distribution/archives/{folder}/build/distributions/*.tar.gz"


def _recipe(url: str, arm_folder: str, version_file: str, jdk_variable: str) -> BuildRecipe:
    folder = arm_folder if _ARM else "linux-tar"
    return BuildRecipe(
        url=url,
        branch="main",
        clean_command="./gradlew --no-daemon clean",
        build_command=_TASK.format(folder=folder),
        artifact_pattern=_PATTERN.format(folder=folder),
        version_file=version_file,
        jdk_variable=jdk_variable,
    )


RECIPES: Mapping[str, BuildRecipe] = {
    ELASTICSEARCH: replace(
        _recipe(
            "https://github.com/elastic/elasticsearch.git",
            "linux-aarch64-tar",
            "build-tools-internal/version.properties",
            "ES_BUILD_JAVA",
        ),
        in_rally_ini=True,
    ),
    OPENSEARCH: _recipe(
        "https://github.com/opensearch-project/OpenSearch.git",
        "linux-arm64-tar",
        "buildSrc/version.properties",
        "OPENSEARCH_BUILD_JAVA",
    ),
}
"""The recipe of each distribution."""

_RELEASE = "-Dbuild.snapshot=false"


def recipe_for(distribution: str, variables: Mapping[str, str], *, release: bool) -> BuildRecipe:
    """Returns how an engine is built; variables of a car override what Pacenote knows.

    Raises EngineError for a distribution that cannot be built.
    """
    recipe = RECIPES.get(distribution)
    if recipe is None:
        raise EngineError(
            f"{distribution} cannot be built from sources", hint=f"one of {', '.join(sorted(RECIPES))} can"
        )
    suffix = ".arch" if _ARM else ""
    command = _variable(variables, f"system.build_command{suffix}{'.no-snapshot' if release else ''}")
    if not command:
        build = recipe.build_command
        command = build.replace("--no-daemon", f"--no-daemon {_RELEASE}") if release else build
    return replace(
        recipe,
        clean_command=_variable(variables, "clean_command") or recipe.clean_command,
        build_command=command,
        artifact_pattern=_variable(variables, f"system.artifact_path_pattern{suffix}")
        or recipe.artifact_pattern,
        build_jdk=_variable(variables, "build.jdk"),
    )


def _variable(variables: Mapping[str, str], name: str) -> str:
    text = str(variables.get(name, ""))
    return text.replace("{{OSNAME}}", "linux").replace("{{ARCH}}", os.uname().machine)


def source_distribution(revision: str | None, source_path: str | None) -> str:
    """Returns the distribution whose sources are meant: the one of the checkout, or the one that the options
    name; otherwise Elasticsearch, as in Rally.
    """
    for name, recipe in RECIPES.items():
        # Path.expanduser raises for unknown users.
        if source_path and is_file(Path(os.path.expanduser(source_path), recipe.version_file)):  # noqa: PTH111
            return name
    stated = f"{revision} {source_path}".lower()
    return next((name for name in RECIPES if name in stated), next(iter(RECIPES)))
