"""The files and the command of an OpenSearch 2 node."""

from __future__ import annotations

from pathlib import Path

from pacenote.provision.distributions.opensearch_2 import OpenSearch2
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.engine_lock import find_lock
from pacenote.provision.java import JavaRuntime
from pacenote.provision.java_wheel import downloadable_majors


def test_modules_have_only_the_permissions_they_need(tmp_path: Path) -> None:
    lock = find_lock("opensearch", "2.19.6", tmp_path)
    assert lock is not None
    files = {module.name: OpenSearch2().module_files("2.19.6", module) for module in lock.modules}
    assert '"createClassLoader"' in files["lang-painless"]["plugin-security.policy"]
    assert (
        "org.apache.lucene.expressions.js.ExpressionMath"
        in files["lang-expression"]["plugin-security.policy"]
    )
    assert "AllPermission" not in str(files)
    assert "plugin-security.policy" not in files["percolator"]
    assert "opensearch.version=2.19.6\n" in files["percolator"]["plugin-descriptor.properties"]


def test_a_trimmed_java_gets_locale_data_with_all_permissions(tmp_path: Path) -> None:
    (tmp_path / "locale").mkdir()
    (tmp_path / "locale" / "icu.jar").touch()
    paths = NodePaths(tmp_path, *(tmp_path / name for name in ("config", "data", "logs", "tmp")))
    full = JavaRuntime(Path("/java"), "17.0.1", "", frozenset(), "test")
    trimmed = JavaRuntime(Path("/java"), "17.0.1", "", frozenset(), "test", trimmed_locales=True)
    option = f"-Xbootclasspath/a:{tmp_path}/locale/icu.jar"
    assert option in OpenSearch2().main_arguments(paths, trimmed)
    assert option not in OpenSearch2().main_arguments(paths, full)
    assert f"{tmp_path}/lib/*" in OpenSearch2().main_arguments(paths, trimmed)


def test_it_runs_on_the_versions_of_java_with_a_security_manager() -> None:
    majors = OpenSearch2().java_range("2.19.6")
    assert (17 in majors, 21 in majors, 25 in majors) == (True, True, False)


def test_the_java_of_the_official_archive_is_downloaded() -> None:
    first = {
        version: downloadable_majors(OpenSearch2().java_range(version)) for version in ("2.9.0", "2.19.6")
    }
    assert first == {"2.9.0": (17, 21), "2.19.6": (21, 17)}
