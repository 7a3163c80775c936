"""A checkout of the sources of an engine: a git repository with a small `gradlew`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_GRADLEW = """\
#!/bin/sh
set -e
echo "gradlew $* with $JAVA_HOME"
case "$*" in
  *clean*) rm -rf distribution/archives/*/build ;;
  *:distribution:archives:*)
    echo built >> ../built.txt
    [ ! -e broken ] || { echo "* What went wrong:"; echo "Compilation failed"; exit 7; }
    [ ! -e slow ] || { sleep 60 & echo $! > ../sleeping; wait; }
    folder=$(ls distribution/archives)
    mkdir -p "distribution/archives/$folder/build/distributions"
    cp "${ENGINE_ARCHIVE:-engine.txt}" "distribution/archives/$folder/build/distributions/engine-1.tar.gz" ;;
  *:plugins:analysis-icu:assemble)
    mkdir -p plugins/analysis-icu/build/distributions
    cp "${PLUGIN_ARCHIVE:-engine.txt}" plugins/analysis-icu/build/distributions/analysis-icu-1.zip ;;
esac
"""

_IDENTITY = {
    **{f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(folder: Path, *arguments: str, at: str = "2026-01-01T00:00:00Z") -> str:
    """Runs git in a folder, with a fixed date."""
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **_IDENTITY, **dates},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, text: str, at: str = "2026-01-01T00:00:00Z") -> str:
    """Commits a change of the engine, and returns the commit."""
    (folder / "engine.txt").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", text, at=at)
    return git(folder, "rev-parse", "HEAD")


def write_checkout(folder: Path, version: str = "8.19.99") -> Path:
    """Creates the sources of Elasticsearch with one commit, and returns their folder."""
    archives = "linux-aarch64-tar" if os.uname().machine == "aarch64" else "linux-tar"
    (folder / "distribution" / "archives" / archives).mkdir(parents=True)
    (folder / "distribution" / "archives" / archives / "build.gradle").write_text("")
    plugin = folder / "plugins" / "analysis-icu"
    plugin.mkdir(parents=True)
    (plugin / "build.gradle").write_text("")
    (folder / "gradlew").write_text(_GRADLEW)
    (folder / "gradlew").chmod(0o755)
    (folder / ".gitignore").write_text("build/\n")
    properties = folder / "build-tools-internal" / "version.properties"
    properties.parent.mkdir()
    properties.write_text(f"elasticsearch     = {version}\nlucene            = 9.12.0\n")
    (folder / ".ci").mkdir()
    (folder / ".ci" / "java-versions.properties").write_text(
        "ES_BUILD_JAVA=openjdk21\nES_RUNTIME_JAVA=java17\n"
    )
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "one")
    return folder


def write_jdk(folder: Path, version: str = "21.0.1") -> Path:
    """Creates a folder that looks like a JDK."""
    (folder / "bin").mkdir(parents=True)
    for name in ("java", "javac"):
        (folder / "bin" / name).write_text("#!/bin/sh\n")
        (folder / "bin" / name).chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder
