"""The archive of an engine is selected, installed with plugins, and recorded."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DownloadError, EngineError, PacenoteError, UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.progress import ProgressCallback
from pacenote.provision.archives.addresses import ArchiveSource
from pacenote.provision.archives.archive_cache import FetchSettings, fetch_archive
from pacenote.provision.archives.archive_install import cache_limits, check_requested_archive, unpack
from pacenote.provision.archives.archive_program import ArchiveProgram
from pacenote.provision.cars import Car
from pacenote.provision.engine_checks import check_engine_request
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import expected_absent_modules
from pacenote.provision.layout import EngineLayout, node_user, plan_layout
from provision.conftest import use_own_layout
from support.http_server import ScriptedServer
from support.official_archive import official_files, pack, plugin_zip, sha512_line

NAME = "elasticsearch-8.17.0.tar.gz"
JAVA = {"jdk/bin/java": "#!/bin/sh\n", "jdk/release": 'JAVA_VERSION="21.0.1"\n'}


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineRequest:
    use_own_layout(monkeypatch)
    car = Car(heap_size="128m")
    return EngineRequest(tmp_path / "home", tmp_path, distribution="elasticsearch", version="8.17.0", car=car)


def put(server: ScriptedServer, content: bytes, name: str = NAME, *, checksum: bool = True) -> None:
    server.put(f"/{name}", content)
    if checksum:
        server.put(f"/{name}.sha512", sha512_line(content, name))


def from_server(
    request: EngineRequest, server: ScriptedServer, more: Mapping[str, str] | None = None
) -> EngineRequest:
    section = {"release.url": f"{server.url}/elasticsearch-{{{{VERSION}}}}.tar.gz", **(more or {})}
    return dataclasses.replace(request, archive=ArchiveOptions(distributions=section))


def test_a_version_that_cannot_be_assembled_is_installed_from_its_archive(
    request_: EngineRequest, server: ScriptedServer
) -> None:
    put(server, pack(official_files(more=JAVA)))
    request = from_server(request_, server)
    assert check_engine_request(request) == request
    assert expected_absent_modules(request) == ()
    said: list[str] = []
    installation = install_engine(request, lambda text, *_: said.append(text))
    assert said[0] == "elasticsearch 8.17.0 cannot be assembled: using its official archive"
    assert isinstance(installation.program, ArchiveProgram)
    assert installation.java.home == installation.program.home / "jdk"
    assert installation.archive is not None
    assert installation.archive.origin.address == f"{server.url}/{NAME}"
    assert installation.file.name == NAME
    assert install_engine(dataclasses.replace(request, offline=True)).program == installation.program
    assert server.count(f"/{NAME}") == 1


@pytest.mark.process
def test_an_archive_without_java_runs_on_the_one_that_is_chosen(
    request_: EngineRequest, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(pack(official_files()))
    request = dataclasses.replace(request_, archive=ArchiveOptions(location=str(tmp_path / NAME)))
    said: list[str] = []
    installation = install_engine(request, lambda text, *_: said.append(text))
    assert installation.java.major >= 17
    assert f"{NAME} has no checksum beside it: it is used as it is" in said
    assert not any("cannot be assembled" in text for text in said)
    with pytest.raises(EngineError, match="no Java in /no/jdk"):
        check_engine_request(dataclasses.replace(request, runtime_jdk="/no/jdk"))


def replaces(file: Path, content: bytes, moment: str, said: list[str]) -> ProgressCallback:
    """Returns a callback that renames another file over a file when a text begins so for the first time."""

    def report(text: str, *_: int) -> None:
        if text.startswith(moment) and not any(earlier.startswith(moment) for earlier in said):
            other = file.with_name("other")
            other.write_bytes(content)
            other.replace(file)
        said.append(text)

    return report


def test_an_archive_that_is_replaced_after_its_checksum_was_compared_is_not_installed(
    request_: EngineRequest, layout: EngineLayout, tmp_path: Path
) -> None:
    genuine, evil = (pack(official_files(more={**JAVA, "lib/kind": text})) for text in ("genuine", "evil"))
    file, own = tmp_path / "shared" / NAME, tmp_path / "own" / NAME
    for path in (file, own):
        path.parent.mkdir()
        path.write_bytes(genuine)
    file.with_name(f"{NAME}.sha512").write_bytes(sha512_line(genuine, NAME))
    source = ArchiveSource("elasticsearch", "8.17.0", str(file))
    archive = fetch_archive(source, layout.archives)
    assert archive.origin.verified
    replaces(file, evil, "", [])("", 0, 0)
    with pytest.raises(EngineError, match="it was changed or replaced after its checksum was computed"):
        unpack(archive, source, layout)
    assert list(layout.installs.iterdir()) == []
    assert file.read_bytes() == evil, "it is the user's file"
    # The genuine one from another place has the same checksum.
    request = dataclasses.replace(request_, archive=ArchiveOptions(location=str(own)))
    assert (install_engine(request).program.home / "lib" / "kind").read_text() == "genuine"


def test_an_archive_that_is_replaced_during_an_installation_is_not_installed(
    request_: EngineRequest, tmp_path: Path
) -> None:
    genuine, evil = (pack(official_files(more={**JAVA, "lib/kind": text})) for text in ("genuine", "evil"))
    (tmp_path / NAME).write_bytes(genuine)
    request = dataclasses.replace(request_, archive=ArchiveOptions(location=str(tmp_path / NAME)))
    with pytest.raises(EngineError, match="it was changed or replaced after its checksum was computed"):
        install_engine(request, replaces(tmp_path / NAME, evil, f"{NAME} has no checksum", []))
    # What was found later is an archive like others.
    assert (install_engine(request).program.home / "lib" / "kind").read_text() == "evil"
    (tmp_path / NAME).write_bytes(genuine)
    assert (install_engine(request).program.home / "lib" / "kind").read_text() == "genuine"


def test_a_damaged_archive_in_the_cache_is_not_unpacked_but_downloaded_again(
    request_: EngineRequest, layout: EngineLayout, server: ScriptedServer
) -> None:
    genuine, other = (pack(official_files(more={**JAVA, "lib/kind": text})) for text in ("genuine", "other"))
    put(server, genuine)
    request = from_server(request_, server)
    archive = fetch_archive(ArchiveSource("elasticsearch", "8.17.0", f"{server.url}/{NAME}"), layout.archives)
    archive.path.write_bytes(other)
    with pytest.raises(EngineError, match="it was changed or replaced"):
        install_engine(request)
    assert (install_engine(request).program.home / "lib" / "kind").read_text() == "genuine"


@pytest.fixture
def open_home(tmp_path: Path) -> Iterator[Path]:
    """A home folder that the engine's user can enter."""
    # Other users cannot enter the folders of tests.
    with tempfile.TemporaryDirectory(prefix="pacenote-test-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder, "home")


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts engines as another user")
@pytest.mark.parametrize("states_version", [True, False])
def test_the_java_of_an_archive_runs_as_the_user_of_the_engine(
    tmp_path: Path, open_home: Path, monkeypatch: pytest.MonkeyPatch, *, states_version: bool
) -> None:
    seen = open_home.parent / "seen"
    seen.mkdir()
    seen.chmod(0o777)
    script = f"""#!/bin/sh
n=$(ls {seen} | wc -l)
{{ id -u; id -G; pwd; stat -c %u .; env; }} > {seen}/$n
echo 'openjdk version "21.0.1"' >&2
"""
    java = {"jdk/bin/java": script} | ({"jdk/release": JAVA["jdk/release"]} if states_version else {})
    (tmp_path / NAME).write_bytes(pack(official_files(more=java)))
    monkeypatch.setenv("PACENOTE_CLIENT_OPTIONS", "basic_auth_password:'hunter22'")
    monkeypatch.chdir(tmp_path)
    car, archive = Car(heap_size="128m"), ArchiveOptions(location=str(tmp_path / NAME))
    install_engine(
        EngineRequest(
            open_home,
            tmp_path,
            distribution="elasticsearch",
            version="8.17.0",
            car=car,
            archive=archive,
        )
    )
    runs = [file.read_text().splitlines() for file in seen.iterdir()]
    assert len(runs) == (1 if states_version else 2)
    uid, gid = str(node_user().uid), str(node_user().gid)
    for user, groups, folder, owner, *environment in runs:
        assert (user, groups, owner) == (uid, gid, uid)
        assert not Path(folder).exists()
        assert {line.partition("=")[0] for line in environment} <= {
            "LANG",
            "HOME",
            "PWD",
            "OLDPWD",
            "_",
            "SHLVL",
        }


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            official_files(version="8.17.1"),
            "is the archive of elasticsearch 8.17.1, not of elasticsearch 8.17.0",
        ),
        (official_files("opensearch", "3.3.0"), "is the archive of opensearch 3.3.0, not of"),
        ({"README": "other"}, "is not the archive of an engine: it has no bin/"),
        ({"../outside": "x"}, "would be written outside of its folder"),
    ],
)
def test_an_archive_of_something_else_is_refused_and_not_kept(
    request_: EngineRequest, server: ScriptedServer, files: Mapping[str, str], problem: str
) -> None:
    put(server, pack(files))
    with pytest.raises(EngineError) as caught:
        install_engine(from_server(request_, server))
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


def test_a_damaged_download_is_not_used_again(request_: EngineRequest, server: ScriptedServer) -> None:
    put(server, pack(official_files(more=JAVA))[:-20], checksum=False)
    with pytest.raises(EngineError, match="is damaged"):
        install_engine(from_server(request_, server))
    assert not list((request_.home / "engines" / "archives").rglob("*.tar.gz"))


def test_a_version_that_the_vendor_does_not_have_is_refused_with_the_nearest_ones(
    server: ScriptedServer, tmp_path: Path
) -> None:
    versions = "".join(f"<version>{each}</version>" for each in ("8.16.1", "8.17.1", "9.0.0-rc1"))
    server.put("/org/elasticsearch/elasticsearch/maven-metadata.xml", versions.encode())
    source = ArchiveSource("elasticsearch", "8.17.0", f"{server.url}/{NAME}", checked=True)
    layout = plan_layout(tmp_path, root=False)
    with pytest.raises(DownloadError, match=r"elasticsearch 8\.17\.0 cannot be downloaded") as caught:
        check_requested_archive(source, layout, FetchSettings(), server.url)
    assert caught.value.hint == "the nearest versions are 8.16.1, 8.17.1"
    with pytest.raises(DownloadError) as caught:
        check_requested_archive(
            dataclasses.replace(source, version="8.16.1"), layout, FetchSettings(), server.url
        )
    assert "--archive-mirror" in (caught.value.hint or "")
    put(server, b"archive")
    check_requested_archive(source, layout, FetchSettings(), server.url)
    assert list(tmp_path.iterdir()) == []


def test_an_old_version_whose_archive_has_another_form_is_refused(request_: EngineRequest) -> None:
    request = dataclasses.replace(request_, version="6.8.0", archive=ArchiveOptions(repository="release"))
    with pytest.raises(UsageError, match=r"elasticsearch 6\.8\.0 cannot be started .* another form"):
        check_engine_request(request)


@pytest.mark.parametrize(
    ("distribution", "version", "setting", "problem"),
    [
        ("elasticsearch", "8.19.21", "xpack.security.enabled", "has security only in its official archive"),
        (
            "opensearch",
            "3.3.0",
            "plugins.security.disabled",
            "Pacenote cannot start opensearch with security",
        ),
    ],
)
def test_an_engine_that_cannot_have_security_is_refused(
    request_: EngineRequest, distribution: str, version: str, setting: str, problem: str
) -> None:
    for value in ("true", True) if distribution == "elasticsearch" else ("false", False):
        car = replace(request_.car, settings={setting: value})
        request = dataclasses.replace(request_, distribution=distribution, version=version, car=car)
        with pytest.raises(EngineError, match=rf"{setting}=\w+: .*{problem}"):
            check_engine_request(request)


def test_limits_of_the_cache_are_configured() -> None:
    limits = cache_limits(ArchiveOptions(distributions={"cache.days": "3", "cache.size": "2g"}))
    assert (limits.days, limits.size) == (3, 2 << 30)
    for key, value in (("cache.days", "0"), ("cache.size", "lots")):
        with pytest.raises(UsageError, match=rf"\[distributions\] {key} must be"):
            cache_limits(ArchiveOptions(distributions={key: value}))


def test_an_engine_that_was_not_used_is_removed(request_: EngineRequest, server: ScriptedServer) -> None:
    put(server, pack(official_files(more=JAVA)))
    request = from_server(request_, server)
    old = install_engine(request).program.home
    long_ago = time.time() - 31 * 86400
    os.utime(old / "complete", (long_ago, long_ago))
    install_engine(request)
    (old / "left").touch()
    install_engine(request)
    assert (old / "left").exists()
    os.utime(old / "complete", (long_ago, long_ago))
    install_engine(request)
    assert not (old / "left").exists()


def with_plugins(request: EngineRequest, *names: str) -> EngineRequest:
    return dataclasses.replace(request, car=replace(request.car, plugins=names))


@pytest.mark.process
def test_plugins_are_installed_with_the_tool_of_the_engine(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    put(server, pack(official_files(more=JAVA)))
    put(server, plugin_zip("mapper", "8.17.0"), "mapper-8.17.0.zip")
    (tmp_path / "own.zip").write_bytes(plugin_zip("own", "8.17.0"))
    section = {"plugin.mapper.release.url": f"{server.url}/mapper-{{{{VERSION}}}}.zip"}
    request = from_server(request_, server, section)
    plain = install_engine(request).program.home
    both = with_plugins(request, "mapper", str(tmp_path / "own.zip"))
    home = install_engine(both).program.home
    assert (home / "plugins" / "mapper" / "mapper.jar").exists()
    assert (home / "plugins" / "own" / "plugin-descriptor.properties").exists()
    assert not list((plain / "plugins").iterdir())
    assert install_engine(dataclasses.replace(both, offline=True)).program.home == home
    assert server.count("/mapper-8.17.0.zip") == 1


@pytest.mark.process
def test_a_plugin_that_is_replaced_after_its_checksum_was_computed_is_not_installed(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    put(server, pack(official_files(more=JAVA)))
    genuine, evil = (plugin_zip("own", "8.17.0", description=text) for text in ("genuine", "evil"))
    own = tmp_path / "own.zip"
    own.write_bytes(genuine)
    request = with_plugins(from_server(request_, server), str(own))
    for moment in ("own.zip has no checksum", "installing own.zip"):
        said: list[str] = []
        with pytest.raises(EngineError, match=r"own\.zip is not used: it was changed or replaced"):
            install_engine(request, replaces(own, evil, moment, said))
        own.write_bytes(genuine)
    descriptor = install_engine(request).program.home / "plugins" / "own" / "plugin-descriptor.properties"
    assert "description=genuine" in descriptor.read_text()


@pytest.mark.process
def test_plugins_whose_archives_have_one_name_are_installed(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    put(server, pack(official_files(more=JAVA)))
    files = [tmp_path / name / "home" for name in ("first", "second")]
    for file in files:
        file.parent.mkdir()
        file.write_bytes(plugin_zip(file.parent.name, "8.17.0"))
    home = install_engine(with_plugins(from_server(request_, server), *map(str, files))).program.home
    assert sorted(path.name for path in (home / "plugins").iterdir()) == ["first", "second"]


@pytest.mark.process
def test_a_plugin_that_the_tool_refuses_is_reported_with_its_reason(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    put(server, pack(official_files(more=JAVA)))
    (tmp_path / "own.zip").write_bytes(plugin_zip("own", "8.17.0").replace(b"plugin-desc", b"plugin_desc"))
    with pytest.raises(EngineError) as caught:
        install_engine(with_plugins(from_server(request_, server), str(tmp_path / "own.zip")))
    assert caught.value.message == (
        "plugin own.zip cannot be installed into elasticsearch 8.17.0: "
        "`plugin-descriptor.properties` not found in plugin zip"
    )


@pytest.mark.process
def test_the_last_line_of_a_tool_that_fails_in_another_way_is_reported(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    put(server, pack(official_files(more=JAVA)))
    (tmp_path / "own.zip").write_bytes(b"no zip archive")
    with pytest.raises(EngineError, match=r"into elasticsearch 8\.17\.0: zipfile\.BadZipFile: File is not"):
        install_engine(with_plugins(from_server(request_, server), str(tmp_path / "own.zip")))


@pytest.mark.process
def test_what_a_tool_wrote_is_read_from_the_end_only(
    request_: EngineRequest, server: ScriptedServer, tmp_path: Path
) -> None:
    # The tool runs as the user of the engine. A hole of 1 TB takes no space on the disk.
    tool = "#!/bin/sh\ntruncate -s 1T /proc/self/fd/1\nprintf '\\nERROR: refused\\n'\nexit 1\n"
    put(server, pack(official_files(more={**JAVA, "bin/elasticsearch-plugin": tool})))
    (tmp_path / "own.zip").write_bytes(plugin_zip("own", "8.17.0"))
    with pytest.raises(EngineError, match=r"into elasticsearch 8\.17\.0: "):
        install_engine(with_plugins(from_server(request_, server), str(tmp_path / "own.zip")))


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        ("no/such.zip", "the archive .*/no/such.zip does not exist"),
        ("mapper", r"plugin mapper for elasticsearch 8\.17\.0 \(.*\) does not exist on the server"),
    ],
)
def test_a_plugin_that_does_not_exist_is_reported(
    request_: EngineRequest, server: ScriptedServer, plugin: str, problem: str
) -> None:
    put(server, pack(official_files(more=JAVA)))
    section = {"plugin.mapper.release.url": f"{server.url}/no.zip"}
    with pytest.raises(PacenoteError, match=problem) as caught:
        install_engine(with_plugins(from_server(request_, server, section), plugin))
    assert "\n" not in caught.value.message
