"""The JDK that builds an engine: the one that the sources ask for, from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.provision.java import read_java
from pacenote.sources.recipes import MAX_PROPERTIES_BYTES, BuildRecipe
from pacenote.system.paths import exists
from pacenote.system.regular_files import read_regular_file

_VERSIONS_FILE = ".ci/java-versions.properties"


def build_java_home(recipe: BuildRecipe, sources: Path, env: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder of the JDK for a build: the one in JAVA<N>_HOME, or in JAVA_HOME.

    Raises EngineError if there is none.
    """
    major = required_major(recipe, sources)
    for name in filter(None, (f"JAVA{major}_HOME" if major else "", "JAVA_HOME")):
        home = env.get(name)
        if not home or not exists(Path(home) / "bin" / "javac"):
            continue
        if not major or str(read_java(Path(home), name).major) == major:
            return Path(home)
    needed = f"JDK {major}" if major else "JDK"
    raise EngineError(
        f"no {needed} to build the engine with: the Java that comes with Pacenote has no compiler",
        hint=f"set {f'JAVA{major}_HOME' if major else 'JAVA_HOME'} to a {needed}",
    )


def required_major(recipe: BuildRecipe, sources: Path) -> str:
    """Returns the major version of the JDK that the sources ask for, otherwise the one of the recipe; empty
    if neither says it.
    """
    file = sources / _VERSIONS_FILE
    try:
        text = read_regular_file(file, MAX_PROPERTIES_BYTES).decode("utf-8", "replace")
    except OSError:
        text = ""
    key = re.escape(recipe.jdk_variable)
    # Spaces without line breaks, so that each is read once.
    pattern = rf"^[ \t]*{key}[ \t]*=[ \t]*(?:open)?(?:java|jdk)([0-9]{{1,4}})(?![0-9])"
    match = re.search(pattern, text, re.MULTILINE) if key else None
    return match[1] if match else recipe.build_jdk
