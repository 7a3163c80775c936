"""The jars that a jar of a Maven repository needs at run time, by the descriptions (POM) in the repository.

Parents, properties, managed versions, scopes and exclusions, imported lists of versions, and the nearest
of several versions count as in Maven. Of profiles, only those that are active by default apply, so that the
result does not depend on this machine. Coordinates become paths only when they have been checked, and the
size, number and time of POMs are limited.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from xml.etree import ElementTree

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.retry import cancelled_after
from pacenote.provision.maven import MavenArtifact, MavenRepository

TIME_LIMIT_S = 600.0
"""Seconds in which the repository must have sent all POMs of an engine."""

_MAX_TEXT = 16 << 20
"""Characters of all POMs of an engine together; OpenSearch 3.3.0 has 146 POMs with 1.3 million."""

_MAX_ENTRIES = 500_000
"""Dependencies, managed versions, properties and exclusions of all POMs, counted wherever they apply;
those of OpenSearch 3.3.0 have 5,500.
"""

_MAX_PARENTS = 20
_MAX_NESTED = 20
"""Levels of properties in properties, and of lists of versions that import others."""
_MAX_VALUE = 1_000
"""Characters of a value in which properties were replaced."""

_REFERENCE = re.compile(r"\$\{([^{}]+)\}")
_RUNTIME_SCOPES = ("compile", "runtime")
_ANY = "*"

_PROJECT_PREFIXES = ("project.", "pom.")
"""What names of values of the POM itself begin with; they come before properties with the same names."""


class Unresolvable(Exception):
    """The dependencies of an artifact cannot be determined; the text says why."""


class _Key(Struct, frozen=True):
    """What a dependency has in common with those of which only the nearest counts, whatever their version."""

    group: str
    name: str
    classifier: str
    kind: str
    """The type, such as `jar`."""


class _Dependency(Struct, frozen=True):
    """A dependency as a POM states it."""

    key: _Key
    version: str
    scope: str
    optional: bool
    exclusions: frozenset[tuple[str, str]]


class _Model(Struct):
    """What a POM and its parents state together."""

    artifact: MavenArtifact
    dependencies: dict[_Key, _Dependency] = field(default_factory=dict)
    managed: dict[_Key, _Dependency] = field(default_factory=dict)


class PomResolver:
    """Finds the dependencies of artifacts, and keeps the POMs that it has read."""

    def __init__(self, repository: MavenRepository, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._repository = repository
        self._time_limit_s = time_limit_s
        self._end = time.monotonic() + time_limit_s
        self._cancellation = Cancellation()
        self._poms: dict[str, ElementTree.Element | None] = {}
        self._models: dict[str, _Model] = {}
        self._text = 0
        self._entries = 0

    def exists(self, artifact: MavenArtifact) -> bool:
        """Returns whether the repository has an artifact. Raises Unresolvable and EngineError."""
        return self._pom(artifact) is not None

    def dependencies(self, root: MavenArtifact) -> list[MavenArtifact]:
        """Returns the jars that an artifact needs, without itself, in the order of their distance.

        Jars with a classifier are omitted: it marks native code for one platform (QUIC of netty), which
        engines do not need. Raises Unresolvable, and EngineError if the repository cannot be read.
        """
        model = self._model(root)
        fixed, is_direct = model.managed, True
        artifacts = {_Key(root.group, root.name, "", "jar"): root}
        level: list[tuple[_Model, frozenset[tuple[str, str]]]] = [(model, frozenset())]
        while level:
            next_level = []
            for model, excluded in level:
                # A model counts wherever it applies: many artifacts may have the same one.
                self._count(len(model.dependencies))
                for stated in model.dependencies.values():
                    dependency = _completed(stated, model.managed.get(stated.key))
                    # Management brings nothing back that is not needed where it is stated.
                    if dependency.key in artifacts or not _applies(dependency, excluded):
                        continue
                    dependency = _overridden(dependency, fixed.get(dependency.key), is_direct=is_direct)
                    if not _is_for_run_time(dependency):
                        continue
                    artifact = _artifact(dependency, model)
                    artifacts[dependency.key] = artifact
                    exclusions = excluded | dependency.exclusions
                    self._count(len(exclusions))
                    next_level.append((self._model(artifact), exclusions))
            level, is_direct = next_level, False
        return [
            artifact
            for key, artifact in artifacts.items()
            if artifact is not root and not key.classifier and key.kind == "jar"
        ]

    def _model(self, artifact: MavenArtifact, depth: int = 0) -> _Model:
        """Returns what a POM states with its parents, and with the lists of versions that it imports."""
        if depth > _MAX_NESTED:
            raise Unresolvable(f"the POM of {artifact} imports lists of versions without end")
        if (cached := self._models.get(str(artifact))) is not None:
            return cached
        model, chain = _Model(artifact), self._with_parents(artifact)
        properties = _Properties(model, chain)
        self._count(len(properties))
        for section in (part for pom in chain for part in _sections(pom)):
            for target, path in (
                (model.dependencies, "{*}dependencies/{*}dependency"),
                (model.managed, "{*}dependencyManagement/{*}dependencies/{*}dependency"),
            ):
                for element in section.iterfind(path):
                    dependency = _read(element, properties)
                    self._count(1 + len(dependency.exclusions))
                    target.setdefault(dependency.key, dependency)
        for dependency in list(model.managed.values()):
            if dependency.scope == "import" and dependency.key.kind == "pom":
                imported = self._model(_artifact(dependency, model), depth + 1).managed
                self._count(len(imported))
                model.managed = {**imported, **model.managed}
        self._models[str(artifact)] = model
        return model

    def _with_parents(self, artifact: MavenArtifact) -> list[ElementTree.Element]:
        """Returns the POM of an artifact, its parent, the parent of that, and so on."""
        poms: list[ElementTree.Element] = []
        current: MavenArtifact | None = artifact
        while current is not None:
            if len(poms) > _MAX_PARENTS:
                raise Unresolvable(f"the POM of {artifact} has more than {_MAX_PARENTS} parents")
            pom = self._pom(current)
            if pom is None:
                raise Unresolvable(f"{current} is not in the Maven repository {self._repository.url}")
            poms.append(pom)
            parent = pom.find("{*}parent")
            names = (_text(parent, name) for name in ("groupId", "artifactId", "version"))
            current = None if parent is None else _checked(artifact, *names)
        return poms

    def _pom(self, artifact: MavenArtifact) -> ElementTree.Element | None:
        """Returns a POM, or None if the repository does not have it."""
        if artifact.pom_path in self._poms:
            return self._poms[artifact.pom_path]
        try:
            with cancelled_after(self._cancellation, max(self._end - time.monotonic(), 0)):
                text = self._repository.read_text(artifact.pom_path, self._cancellation)
        except EngineError:
            if not self._cancellation.cancelled:
                raise
            raise Unresolvable(f"the repository takes longer than {self._time_limit_s:.4g} s") from None
        self._text += len(text or "")
        if self._text > _MAX_TEXT:
            raise Unresolvable(f"the POM of {artifact} is one too many: they are too large together")
        pom = None if text is None else _parse(text, artifact)
        self._poms[artifact.pom_path] = pom
        return pom

    def _count(self, entries: int) -> None:
        self._entries += entries
        if self._entries > _MAX_ENTRIES:
            raise Unresolvable(f"the POMs state more than {_MAX_ENTRIES:,} dependencies and versions")


class _Properties:
    """The values that a POM can refer to: its coordinates, and the properties of it and its parents, of which
    its own come first.
    """

    def __init__(self, model: _Model, chain: Sequence[ElementTree.Element]) -> None:
        self._of = model.artifact
        self._values: dict[str, str] = {}
        coordinates = _coordinates(chain[0])
        self._texts = {
            f"{prefix}{name}": text for prefix in _PROJECT_PREFIXES for name, text in coordinates.items()
        }
        for section in (part for pom in chain for part in _sections(pom)):
            for element in section.iterfind("{*}properties/*"):
                self._texts.setdefault(element.tag.rpartition("}")[2], (element.text or "").strip())
        # Without a prefix, a property with the same name comes first.
        self._texts = {**coordinates, **self._texts}

    def __len__(self) -> int:
        return len(self._texts)

    def expanded(self, text: str, depth: int = 0) -> str:
        """Returns a text with values in place of `${name}`, except of names without a property."""
        if "${" not in text:
            return text
        if depth > _MAX_NESTED:
            raise Unresolvable(f"the POM of {self._of} has properties that contain each other without end")
        expanded = _REFERENCE.sub(lambda match: self._value(match[1], match[0], depth + 1), text)
        if len(expanded) > _MAX_VALUE:
            raise Unresolvable(f"the POM of {self._of} has a value with more than {_MAX_VALUE} characters")
        return expanded

    def _value(self, name: str, otherwise: str, depth: int) -> str:
        if name not in self._values:
            if name not in self._texts:
                return otherwise
            self._values[name] = self.expanded(self._texts[name], depth)
        return self._values[name]


def _parse(text: str, artifact: MavenArtifact) -> ElementTree.Element:
    # Entities, which can make a short text a long one, are defined in a DTD.
    if "<!DOCTYPE" in text:
        raise Unresolvable(f"the POM of {artifact} has a DTD")
    try:
        return ElementTree.fromstring(text)  # noqa: S314  # without entities
    except (ElementTree.ParseError, ValueError) as failure:
        raise Unresolvable(f"the POM of {artifact} is not XML: {failure}") from None


def _sections(pom: ElementTree.Element) -> list[ElementTree.Element]:
    """Returns the profiles of a POM that are active by default, and the POM: what comes first applies."""
    profiles = pom.iterfind("{*}profiles/{*}profile")
    return [
        *(each for each in profiles if _text(each.find("{*}activation"), "activeByDefault") == "true"),
        pom,
    ]


def _coordinates(pom: ElementTree.Element) -> dict[str, str]:
    """Returns what a POM says about itself, by the names that references to it have after a prefix."""
    parent = pom.find("{*}parent")
    texts = {
        "groupId": _text(pom, "groupId") or _text(parent, "groupId"),
        "artifactId": _text(pom, "artifactId"),
        "version": _text(pom, "version") or _text(parent, "version"),
        "packaging": _text(pom, "packaging") or "jar",
        "parent.groupId": _text(parent, "groupId"),
        "parent.artifactId": _text(parent, "artifactId"),
        "parent.version": _text(parent, "version"),
    }
    return {name: text for name, text in texts.items() if text}


def _text(element: ElementTree.Element | None, name: str) -> str:
    return "" if element is None else (element.findtext(f"{{*}}{name}") or "").strip()


def _read(element: ElementTree.Element, properties: _Properties) -> _Dependency:
    def value(name: str) -> str:
        return properties.expanded(_text(element, name))

    return _Dependency(
        _Key(value("groupId"), value("artifactId"), value("classifier"), value("type") or "jar"),
        value("version"),
        value("scope"),
        value("optional") == "true",
        frozenset(
            (_text(exclusion, "groupId"), _text(exclusion, "artifactId"))
            for exclusion in element.iterfind("{*}exclusions/{*}exclusion")
        ),
    )


def _completed(stated: _Dependency, managed: _Dependency | None) -> _Dependency:
    """Returns a dependency with what its POM manages, as far as it does not state it itself."""
    if managed is None:
        return stated
    return replace(
        stated,
        version=stated.version or managed.version,
        scope=stated.scope or managed.scope,
        exclusions=stated.exclusions or managed.exclusions,
    )


def _overridden(dependency: _Dependency, fixed: _Dependency | None, *, is_direct: bool) -> _Dependency:
    """Returns a dependency with what the root manages: its version and scope override those of dependencies
    of others, not those that the root states itself, and its exclusions are added to any.
    """
    if fixed is None:
        return dependency
    return replace(
        dependency,
        version=dependency.version if is_direct else fixed.version or dependency.version,
        scope=dependency.scope if is_direct else fixed.scope or dependency.scope,
        exclusions=dependency.exclusions | fixed.exclusions,
    )


def _applies(dependency: _Dependency, excluded: frozenset[tuple[str, str]]) -> bool:
    """Returns whether a dependency of a dependency is needed at run time."""
    group, name = dependency.key.group, dependency.key.name
    names = ((group, name), (group, _ANY), (_ANY, name), (_ANY, _ANY))
    return _is_for_run_time(dependency) and not dependency.optional and excluded.isdisjoint(names)


def _is_for_run_time(dependency: _Dependency) -> bool:
    scope = dependency.scope or ("test" if dependency.key.classifier == "tests" else "compile")
    return scope in _RUNTIME_SCOPES


def _artifact(dependency: _Dependency, model: _Model) -> MavenArtifact:
    return _checked(model.artifact, dependency.key.group, dependency.key.name, dependency.version)


def _checked(named_by: MavenArtifact, *coordinates: str) -> MavenArtifact:
    """Returns the artifact that a POM names. Raises Unresolvable for names that cannot be part of a path."""
    try:
        group, name, version = coordinates
        return MavenArtifact(group, name, version)
    except ValueError as failure:
        raise Unresolvable(f"{failure}, in the POM of {named_by}") from None
