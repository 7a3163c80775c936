"""The dependencies of a jar follow from the POMs of a repository, which are within limits."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.maven import MavenArtifact, MavenRepository
from pacenote.provision.pom_resolver import PomResolver, Unresolvable
from support.http_server import ScriptedServer

NAMESPACE = "xmlns='http://maven.apache.org/POM/4.0.0'"


def needs(name: str, version: str = "", more: str = "") -> str:
    stated = f"<version>{version}</version>" if version else ""
    return f"<dependency><groupId>g</groupId><artifactId>{name}</artifactId>{stated}{more}</dependency>"


def parent(name: str) -> str:
    return f"<parent><groupId>g</groupId><artifactId>{name}</artifactId><version>1</version></parent>"


def imports(name: str) -> str:
    return managed(needs(name, "1", "<type>pom</type><scope>import</scope>"))


def managed(*dependencies: str) -> str:
    return (
        f"<dependencyManagement><dependencies>{''.join(dependencies)}</dependencies></dependencyManagement>"
    )


def listed(*dependencies: str) -> str:
    return f"<dependencies>{''.join(dependencies)}</dependencies>"


def pom(name: str, *content: str, version: str = "1") -> bytes:
    own = f"<groupId>g</groupId><artifactId>{name}</artifactId><version>{version}</version>"
    return f"<project {NAMESPACE}>{own}{''.join(content)}</project>".encode()


def put(server: ScriptedServer, name: str, *content: str, version: str = "1") -> None:
    server.put(f"/g/{name}/{version}/{name}-{version}.pom", pom(name, *content, version=version))


def resolved(server: ScriptedServer, name: str = "root") -> list[str]:
    resolver = PomResolver(MavenRepository(server.url))
    return [str(jar).removeprefix("g:") for jar in resolver.dependencies(MavenArtifact("g", name, "1"))]


def test_the_nearest_of_several_versions_is_taken(server: ScriptedServer) -> None:
    put(server, "root", listed(needs("a", "1"), needs("b", "1")))
    put(server, "a", listed(needs("c", "1"), needs("d", "1")))
    put(server, "b", listed(needs("c", "2")))
    put(server, "c", listed(needs("d", "9"), needs("root", "5")))
    put(server, "d")
    assert resolved(server) == ["a:1", "b:1", "c:1", "d:1"]


def test_versions_come_from_parents_properties_and_imported_lists(server: ScriptedServer) -> None:
    put(server, "root", parent("above"), listed(needs("a"), needs("b"), needs("c"), needs("d", "${own}")))
    put(
        server,
        "above",
        "<properties><own>7</own><of.a>${base}.1</of.a><base>3</base></properties>",
        managed(needs("a", "${of.a}"), needs("b", "${project.version}"), needs("c", "2")),
        imports("versions").replace("<dependencyManagement>", "<profiles/><dependencyManagement>"),
    )
    put(server, "versions", managed(needs("c", "9"), needs("e", "4")))
    put(server, "a", version="3.1")
    put(server, "b")
    put(server, "c", version="2")
    # The root's versions override those that others state.
    put(server, "d", listed(needs("e", "1")), version="7")
    put(server, "e", version="4")
    assert resolved(server) == ["a:3.1", "b:1", "c:2", "d:7", "e:4"]


def excludes(*names: str) -> str:
    listed_names = "".join(
        f"<exclusion><groupId>g</groupId><artifactId>{name}</artifactId></exclusion>" for name in names
    )
    return f"<exclusions>{listed_names}</exclusions>"


def test_what_the_root_manages_overrides_what_others_state_but_not_what_it_states_itself(
    server: ScriptedServer,
) -> None:
    # Maven 3.8 resolves the same jars.
    put(
        server,
        "root",
        managed(
            needs("b", "9", "<scope>test</scope>"),
            needs("c", "2"),
            needs("d", "1", "<scope>provided</scope>"),
            needs("e", "1", excludes("f")),
            needs("h", "1", excludes("f")),
            needs("k", "", excludes("f")),
            needs("q", "1", "<scope>compile</scope>"),
        ),
        listed(needs("a", "1"), needs("b", "1", "<scope>compile</scope>"), needs("h", "1", excludes("i"))),
    )
    put(
        server,
        "a",
        managed(needs("k", "7")),
        listed(
            needs("b", "3"),
            needs("c", "1"),
            needs("d", "1"),
            needs("e", "1", excludes("i")),
            needs("k"),
            needs("q", "1", "<scope>test</scope>"),
        ),
    )
    for name in ("e", "h"):
        put(server, name, listed(needs("f", "1"), needs("i", "1"), needs(f"of-{name}", "1")))
    put(server, "c", version="2")
    put(server, "k", version="7")
    for name in ("b", "of-e", "of-h"):
        put(server, name)
    assert resolved(server) == ["a:1", "b:1", "h:1", "c:2", "e:1", "k:7", "of-h:1", "of-e:1"]


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        *((f"${{{prefix}version}}", "3") for prefix in ("project.", "pom.", "")),
        *((f"${{{prefix}artifactId}}", "root") for prefix in ("project.", "pom.", "")),
        *((f"${{{prefix}parent.version}}", "1") for prefix in ("project.", "pom.", "")),
        *((f"${{{prefix}parent.artifactId}}", "above") for prefix in ("project.", "pom.", "")),
        *((f"${{{prefix}parent.groupId}}", "g") for prefix in ("project.", "pom.", "")),
        *((f"${{{prefix}packaging}}", "jar") for prefix in ("project.", "pom.", "")),
        # With a prefix, it is the value of the POM; without one, a property comes first.
        *((f"${{{prefix}groupId}}", "g") for prefix in ("project.", "pom.")),
        ("${groupId}", "property"),
        # In the properties of a parent, too, the POM is the one that is described.
        ("${described}", "root-3"),
    ],
)
def test_a_pom_refers_to_what_it_says_about_itself(
    server: ScriptedServer, reference: str, value: str
) -> None:
    own = "<groupId>property</groupId><project.groupId>other</project.groupId>"
    above = "<described>${project.artifactId}-${project.version}</described>"
    put(server, "above", f"<properties>{above}</properties>")
    # The group is that of the parent, and the version differs from it.
    coordinates = "<artifactId>root</artifactId><version>3</version>"
    content = f"{parent('above')}{coordinates}<properties>{own}</properties>{listed(needs('a', reference))}"
    server.put("/g/root/1/root-1.pom", f"<project {NAMESPACE}>{content}</project>".encode())
    put(server, "a", version=value)
    assert resolved(server) == [f"a:{value}"]


def test_what_is_not_needed_at_run_time_is_omitted(server: ScriptedServer) -> None:
    exclusion = (
        "<exclusions><exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion></exclusions>"
    )
    put(
        server,
        "root",
        listed(
            *(needs("x", "1", f"<scope>{scope}</scope>") for scope in ("test",)),
            needs("y", "${unknown}", "<scope>provided</scope>"),
            needs("z", "1", "<optional>true</optional>"),
            needs("n", "1", "<classifier>linux</classifier>"),
            needs("p", "1", "<type>pom</type>"),
            needs("r", "1", "<scope>runtime</scope>"),
            needs("a", "1", exclusion.format("g", "b")),
            needs("c", "1", exclusion.format("*", "*")),
        ),
    )
    for name in ("n", "p", "r", "d"):
        put(server, name)
    put(server, "a", listed(needs("b", "1"), needs("d", "1")))
    put(server, "c", listed(needs("b", "1")))
    assert resolved(server) == ["r:1", "a:1", "c:1", "d:1"]


def test_profiles_apply_if_they_are_active_by_default(server: ScriptedServer) -> None:
    profile = (
        "<profile><activation>{}</activation><properties><v>{}</v></properties>"
        + listed(needs("only-{}", "1"))
        + "</profile>"
    )
    put(
        server,
        "root",
        "<profiles>",
        profile.format("<file><missing>/none</missing></file>", "2", "missing"),
        profile.format("<os><family>unix</family></os>", "3", "unix"),
        profile.format("<activeByDefault>true</activeByDefault>", "4", "default"),
        "</profiles><properties><v>1</v></properties>",
        listed(needs("a", "${v}")),
    )
    put(server, "only-default")
    put(server, "a", version="4")
    assert resolved(server) == ["only-default:1", "a:4"]


def test_each_pom_is_requested_once(server: ScriptedServer) -> None:
    put(server, "root", parent("above"), listed(needs("a", "1"), needs("b", "1")))
    for name in ("a", "b"):
        put(server, name, parent("above"), imports("versions"))
    put(server, "above")
    put(server, "versions")
    assert resolved(server) == ["a:1", "b:1"]
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    "content",
    [
        listed(
            "<dependency><groupId>g</groupId><artifactId>{}</artifactId><version>1</version></dependency>"
        ),
        listed(
            "<dependency><groupId>{}</groupId><artifactId>a</artifactId><version>1</version></dependency>"
        ),
        listed(
            "<dependency><groupId>g</groupId><artifactId>a</artifactId><version>{}</version></dependency>"
        ),
        "<properties><p>{}</p></properties>" + listed(needs("${{p}}", "1")),
        imports("{}"),
        parent("{}"),
    ],
    ids=["artifact", "group", "version", "property", "import", "parent"],
)
@pytest.mark.parametrize("name", ["/tmp/owned", "../../owned", "..", "x/y", "x?y", "x#y", "x&#x9b;2J", ""])
def test_names_that_could_be_paths_are_not_requested(server: ScriptedServer, content: str, name: str) -> None:
    put(server, "root", content.format(name))
    with pytest.raises(Unresolvable, match=r"is not a valid name, in the POM of g:root:1$") as caught:
        resolved(server)
    assert str(caught.value).isprintable()
    assert [request.path for request in server.requests] == ["/g/root/1/root-1.pom"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (parent("root"), r"the POM of g:root:1 has more than 20 parents"),
        (imports("root"), r"the POM of g:root:1 imports lists of versions without end"),
        (
            "<properties><a>${b}</a><b>${a}</b></properties>" + listed(needs("${a}", "1")),
            "properties that contain each other without end",
        ),
        (
            "<properties><p0>0123456789</p0>"
            + "".join(f"<p{n}>{f'${{p{n - 1}}}' * 10}</p{n}>" for n in range(1, 15))
            + "</properties>"
            + listed(needs("${p14}", "1")),
            "a value with more than 1000 characters",
        ),
        (listed(needs("${" * 400_000, "1")), "a value with more than 1000 characters"),
        (listed(needs("gone", "1")), r"g:gone:1 is not in the Maven repository"),
        ("<", r"the POM of g:root:1 is not XML: "),
        ("<a>" * 100_000, r"the POM of g:root:1 is not XML: "),
        ("&lol;", r"the POM of g:root:1 is not XML: undefined entity"),
    ],
)
def test_a_pom_that_cannot_be_used_is_an_error_of_one_line(
    server: ScriptedServer, content: str, problem: str
) -> None:
    put(server, "root", content)
    with pytest.raises(Unresolvable, match=problem) as caught:
        resolved(server)
    assert len(str(caught.value)) < 500


def test_entities_are_not_read(server: ScriptedServer) -> None:
    server.put("/g/root/1/root-1.pom", b"<!DOCTYPE x [<!ENTITY lol 'lol'>]>" + pom("root"))
    with pytest.raises(Unresolvable, match=r"the POM of g:root:1 has a DTD"):
        resolved(server)


def test_a_large_pom_is_refused_before_it_is_read_to_its_end(server: ScriptedServer) -> None:
    put(server, "root", "<a/>" * 1_000_000)
    with pytest.raises(EngineError, match=r"root-1\.pom cannot be fetched .*: the response is larger than 1"):
        resolved(server)


@pytest.mark.parametrize(
    ("filler", "problem"),
    [
        ("<!--" + "x" * 900_000 + "-->", "too large together"),
        (imports("versions"), "more than 500,000"),
    ],
    ids=["text", "entries"],
)
def test_many_poms_are_limited_together(server: ScriptedServer, filler: str, problem: str) -> None:
    put(server, "versions", managed(*(needs(f"m{number}", "1") for number in range(9_000))))
    for number in range(100):
        name = f"a{number}" if number else "root"
        put(server, name, filler, listed(needs(f"a{number + 1}", "1")))
    with pytest.raises(Unresolvable, match=problem):
        resolved(server)
    assert len(server.requests) < 60


def test_redirects_of_poms_are_limited(server: ScriptedServer) -> None:
    for number in range(9):
        server.put(f"/at/{number}", b"", 302, location=f"/at/{number + 1}")
    server.put("/at/9", pom("root"))
    server.put("/g/root/1/root-1.pom", b"", 302, location="/at/0")
    with pytest.raises(EngineError, match="redirects more than 5 times"):
        resolved(server)


def test_nothing_is_written(server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    put(server, "root")
    assert resolved(server) == []
    assert not list(tmp_path.iterdir())
