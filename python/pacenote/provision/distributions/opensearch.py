"""OpenSearch 3.x: the parts of a node and the command that starts it.

Heap, garbage collector, direct memory and buffer recycling are those of the official archive. Comparisons
with published results must consider three differences:

- The security agent, which checks file and socket calls against policies, is not loaded, because the
  repository does not contain the policies.
- The bundled Java lacks the vector module, so Lucene's vector search and some of its decoding run without
  SIMD. A full JDK (--runtime-jdk) has the module, which is then used.
- With the bundled Java, word boundaries of languages other than the root locale come from ICU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.node_config import (
    UNDECLARED_ARTIFACTS,
    jvm_options,
    module_descriptor,
)
from pacenote.provision.distributions.parts import ModuleDefinition, NodePaths, RootArtifact
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime

GROUP = "org.opensearch"
"""The group id of the engine, and the Java package of its classes."""
_PLUGINS = "org.opensearch.plugin"


def _client_module(folder: str) -> ModuleDefinition:
    """Returns a module whose artifact id ends in `-client`."""
    return ModuleDefinition(_PLUGINS, f"{folder}-client", folder)


def _module(folder: str, *extends: str) -> ModuleDefinition:
    return ModuleDefinition(_PLUGINS, folder, folder, extends)


# Painless comes before the modules that extend it.
_MODULES = (
    replace(_client_module("transport-netty4"), required=True),
    _module("lang-painless"),
    _module("analysis-common", "lang-painless"),
    _client_module("mapper-extras"),
    _client_module("reindex"),
    _client_module("parent-join"),
    _client_module("aggs-matrix-stats"),
    _client_module("percolator"),
    _client_module("lang-mustache"),
    _module("geo"),
    _module("ingest-common", "lang-painless"),
    _module("lang-expression"),
    _client_module("rank-eval"),
    _module("ingest-user-agent"),
)


class OpenSearch(Distribution):
    """The description of OpenSearch 3.x."""

    name = "opensearch"
    java_package = GROUP
    default_version = "3.3.0"

    def supports(self, version: str) -> bool:
        """Returns whether this is a 3.x release."""
        return re.fullmatch(r"3\.\d+\.\d+", version) is not None

    def supported_versions(self) -> str:
        """Returns the supported versions as text for messages."""
        return f"3.x (default {self.default_version})"

    def java_range(self, version: str) -> JavaRange:
        """Returns Java 21 or newer."""
        return JavaRange(21)

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the server, and artifacts that it needs without declaring them as dependencies."""
        names = (
            "opensearch",
            "opensearch-cli",
            "opensearch-agent-bootstrap",
            "opensearch-plugin-classloader",
        )
        return (
            *(RootArtifact(GROUP, name, version) for name in names),
            *UNDECLARED_ARTIFACTS,
        )

    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns ICU, for the word boundaries of all languages."""
        return (RootArtifact("com.ibm.icu", "icu4j-localespi", "77.1"),)

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        """Returns the modules of the official archive that are published."""
        return _MODULES

    def unpublished_modules(self, version: str) -> tuple[str, ...]:
        """Returns the modules and plugins of the official archive that tracks use and that are not
        published.
        """
        return (
            "search-pipeline-common",
            "opensearch-knn",
            "opensearch-sql",
            "opensearch-asynchronous-search",
        )

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Returns the plugin descriptor."""
        properties = {"java.version": str(self.java_range(version).lowest)}
        return module_descriptor(self.name, version, module, properties)

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the options of the official archive, with a fixed heap."""
        # Lucene's vectorized code needs the module; a Java without it does not start with this option.
        vector = ("--add-modules=jdk.incubator.vector",) if "jdk.incubator.vector" in java.modules else ()
        return (
            *jvm_options(heap, paths, java),
            *vector,
            "--enable-native-access=ALL-UNNAMED",
            # The engine has its own calendar, with the weeks of ISO 8601; SPI must be the first provider.
            "-Djava.locale.providers=SPI,CLDR",
            "-Dopensearch.networkaddress.cache.ttl=60",
            "-Dopensearch.networkaddress.cache.negative.ttl=10",
        )

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """Returns no environment variables: the engine needs none."""
        return {}

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the bootstrap class with `lib/*` as its class path."""
        # Every new index creates all analyzers, including the Thai one, whose dictionary a trimmed Java
        # lacks.
        classes = (
            f"{paths.home}/lib/*:{paths.home}/locale/*" if java.trimmed_locales else f"{paths.home}/lib/*"
        )
        return (
            f"-Dopensearch.path.home={paths.home}",
            f"-Dopensearch.path.conf={paths.config}",
            "-Dopensearch.distribution.type=tar",
            "-cp",
            classes,
            "org.opensearch.bootstrap.OpenSearch",
        )
