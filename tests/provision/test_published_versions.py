"""Versions that a repository lacks are reported with the nearest ones that can be assembled."""

from __future__ import annotations

import pytest

from pacenote.errors import EngineError
from pacenote.provision.distributions.parts import ModuleDefinition, RootArtifact
from pacenote.provision.maven import MavenRepository
from pacenote.provision.published_versions import check_published, nearest_versions, published_versions
from support.http_server import ScriptedServer

from .conftest import FakeEngine


class Published(FakeEngine):
    def supports(self, version: str) -> bool:
        return version.startswith(("1.", "2."))

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return RootArtifact("g", "core", version), RootArtifact("g", "logger", follows="core")

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        return ModuleDefinition("g", "net", "net", required=True), ModuleDefinition("g", "more", "more")


def publish(server: ScriptedServer, name: str, *versions: str) -> None:
    listed = "".join(f"<version>{version}</version>" for version in versions)
    server.put(f"/g/{name}/maven-metadata.xml", f"<metadata>{listed}</metadata>".encode())
    for version in versions:
        server.put(f"/g/{name}/{version}/{name}-{version}.pom", b"<project/>")


@pytest.fixture
def repository(server: ScriptedServer) -> MavenRepository:
    publish(server, "core", "1.2.0", "1.9.0", "1.10.0", "2.0.0", "3.0.0")
    publish(server, "net", "1.2.0", "1.10.0", "2.0.0", "3.0.0")
    return MavenRepository(server.url)


def test_versions_with_all_required_parts_are_listed_in_order(repository: MavenRepository) -> None:
    assert published_versions(Published(), repository) == ("1.2.0", "1.10.0", "2.0.0")


def test_a_version_of_thousands_of_digits_is_left_out(server: ScriptedServer) -> None:
    for name in ("core", "net"):
        publish(server, name, "1.2.0", f"1.{'9' * 5000}.0")
    assert published_versions(Published(), MavenRepository(server.url)) == ("1.2.0",)


def test_a_complete_version_passes(repository: MavenRepository) -> None:
    check_published(Published(), "1.10.0", repository)


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("1.9.1", "fake 1.9.1 is not in the Maven repository URL"),
        ("1.9.0", "fake 1.9.0 cannot be assembled: g:net:1.9.0 is not published"),
    ],
)
def test_the_error_names_the_nearest_versions(
    repository: MavenRepository, version: str, problem: str
) -> None:
    with pytest.raises(EngineError) as caught:
        check_published(Published(), version, repository)
    assert caught.value.message.replace(repository.url, "URL") == problem
    assert caught.value.hint == "the nearest versions that can be assembled are 1.2.0, 1.10.0, 2.0.0"


def test_the_nearest_versions_share_the_most_numbers() -> None:
    versions = ("1.0.0", "2.18.0", "2.19.1", "2.19.5", "2.19.6", "3.0.0", "3.19.0")
    assert nearest_versions("2.19.4", versions) == ("2.18.0", "2.19.1", "2.19.5", "2.19.6", "3.19.0")
