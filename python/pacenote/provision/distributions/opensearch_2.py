"""OpenSearch 2.x: like 3.x, but with the Java security manager and the permissions that modules need.

The permissions are Pacenote's own, because those of the official archive are not published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from pacenote.provision.distributions.node_config import (
    CLASS_LOADER,
    NETTY_PERMISSIONS,
    REFLECTION,
    REINDEX_PERMISSIONS,
    UNDECLARED_ARTIFACTS,
    jvm_options,
    security_policy,
)
from pacenote.provision.distributions.opensearch import GROUP, OpenSearch
from pacenote.provision.distributions.parts import NodePaths, RootArtifact
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime

_FIRST_WITH_JAVA_21 = (2, 12)
"""The first version whose official archive contains Java 21."""

_EXPRESSION_CLASSES = (
    *("java.lang.String", "java.lang.Math", "org.apache.lucene.expressions.Expression"),
    *("org.apache.lucene.search.DoubleValues", "org.apache.lucene.util.MathUtil"),
    *("org.apache.lucene.util.SloppyMath", "org.apache.lucene.expressions.js.ExpressionMath"),
)
_GENERATED_CLASSES = ('java.lang.RuntimePermission "createClassLoader"', CLASS_LOADER)
_PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "transport-netty4": NETTY_PERMISSIONS,
    "reindex": REINDEX_PERMISSIONS,
    "lang-mustache": REFLECTION,
    "lang-painless": _GENERATED_CLASSES,
    "lang-expression": (
        *_GENERATED_CLASSES,
        *(f'org.opensearch.script.ClassPermission "{name}"' for name in _EXPRESSION_CLASSES),
    ),
}


class OpenSearch2(OpenSearch):
    """The description of OpenSearch 2.x."""

    default_version = "2.19.6"

    def supports(self, version: str) -> bool:
        """Returns whether this is a 2.x release."""
        return re.fullmatch(r"2\.\d+\.\d+", version) is not None

    def supported_versions(self) -> str:
        """Returns the supported versions as text for messages."""
        return "2.x"

    def java_range(self, version: str) -> JavaRange:
        """Returns Java 17 to 21: this engine needs the Java security manager, which Java 24 does not have."""
        bundles_java_21 = tuple(map(int, version.split("."))) >= _FIRST_WITH_JAVA_21
        return JavaRange(17, 21, preferred=21 if bundles_java_21 else 17)

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the server, and artifacts that it needs without declaring them as dependencies."""
        names = ("opensearch", "opensearch-cli", "opensearch-plugin-classloader")
        return (*(RootArtifact(GROUP, name, version) for name in names), *UNDECLARED_ARTIFACTS)

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Returns the plugin descriptor, and the permissions of the module."""
        return {**super().module_files(version, module), **security_policy(_PERMISSIONS.get(module.name, ()))}

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the options of the official archive, with a fixed heap."""
        return (
            *jvm_options(heap, paths, java),
            "-Djava.security.manager=allow",
            # The engine has its own calendar, with the weeks of ISO 8601; SPI must be the first provider.
            "-Djava.locale.providers=SPI,COMPAT",
            "-Dopensearch.networkaddress.cache.ttl=60",
            "-Dopensearch.networkaddress.cache.negative.ttl=10",
        )

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the bootstrap class with `lib/*` as its class path."""
        # Under the security manager, only classes of Java itself may always provide locale data.
        jars = ":".join(str(jar) for jar in sorted((paths.home / "locale").glob("*.jar")))
        locale = (f"-Xbootclasspath/a:{jars}",) if java.trimmed_locales and jars else ()
        return (*locale, *super().main_arguments(paths, replace(java, trimmed_locales=False)))
