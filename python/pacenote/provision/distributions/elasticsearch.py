"""Elasticsearch 7.17: the parts of a node and the command that starts it.

Comparisons with published results must consider the differences from the official archive:

- Painless, the analyzers beyond the server's own, ingest processors, geo_shape and all of X-Pack are not
  published: scripts, language analyzers, data streams, SQL and security are not available.
- Word boundaries and formats of languages other than the root locale are those of the Java runtime.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.node_config import (
    NETTY_PERMISSIONS,
    REFLECTION,
    REINDEX_PERMISSIONS,
    UNDECLARED_ARTIFACTS,
    jvm_options,
    module_descriptor,
    security_policy,
)
from pacenote.provision.distributions.parts import ModuleDefinition, NodePaths, RootArtifact
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime

_GROUP = "org.elasticsearch"
_PLUGINS = "org.elasticsearch.plugin"

_MODULES = (
    *("transport-netty4", "mapper-extras", "reindex", "parent-join", "aggs-matrix-stats"),
    *("percolator", "lang-mustache", "rank-eval"),
)

_UNPUBLISHED = (
    *("lang-painless", "lang-expression", "analysis-common", "legacy-geo", "spatial", "ingest-common"),
    *(
        "ingest-user-agent",
        "transform",
        "constant-keyword",
        "mapper-version",
        "unsigned-long",
        "vectors",
        "wildcard",
    ),
    *("x-pack-aggregate-metric", "x-pack-analytics", "x-pack-async-search", "x-pack-data-streams"),
    *("x-pack-enrich", "x-pack-eql", "x-pack-ilm", "x-pack-ml", "x-pack-rollup", "x-pack-security"),
    "x-pack-sql",
)

# Permissions that modules need under the Java security manager; those of the archive are not published.
_PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "transport-netty4": NETTY_PERMISSIONS,
    "lang-mustache": REFLECTION,
    "reindex": REINDEX_PERMISSIONS,
}


class Elasticsearch(Distribution):
    """The description of Elasticsearch 7.17."""

    name = "elasticsearch"
    java_package = _GROUP
    default_version = "7.17.28"

    def supports(self, version: str) -> bool:
        """Returns whether this is a 7.17 release."""
        return re.fullmatch(r"7\.17\.\d+", version) is not None

    def supported_versions(self) -> str:
        """Returns the supported versions as text for messages."""
        return f"7.17.x (default {self.default_version})"

    def java_range(self, version: str) -> JavaRange:
        """Returns Java 17 to 21: this engine needs the Java security manager, which Java 24 does not have."""
        return JavaRange(17, 21)

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the server, and artifacts that it needs without declaring them as dependencies."""
        return (
            *(
                RootArtifact(_GROUP, name, version)
                for name in ("elasticsearch", "elasticsearch-plugin-classloader")
            ),
            *UNDECLARED_ARTIFACTS,
        )

    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns no artifacts: the analyzers that need them are not published."""
        return ()

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        """Returns the modules of the official archive that are published."""
        return tuple(
            ModuleDefinition(_PLUGINS, f"{folder}-client", folder, required=folder == "transport-netty4")
            for folder in _MODULES
        )

    def unpublished_modules(self, version: str) -> tuple[str, ...]:
        """Returns the modules of the official archive that tracks use and that are not published."""
        return _UNPUBLISHED

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Returns the plugin descriptor."""
        properties = {"java.version": "1.8", "type": "isolated"}
        files = module_descriptor(self.name, version, module, properties)
        return {**files, **security_policy(_PERMISSIONS.get(module.name, ()))}

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the options of the official archive, with a fixed heap."""
        return (
            *jvm_options(heap, paths, java),
            "-Djava.security.manager=allow",
            "--add-opens=java.base/java.io=ALL-UNNAMED",
            # The engine has its own calendar, with the weeks of ISO 8601; SPI must be the first provider.
            "-Djava.locale.providers=SPI,COMPAT",
            "-Dlog4j2.formatMsgNoLookups=true",
            "-Des.networkaddress.cache.ttl=60",
            "-Des.networkaddress.cache.negative.ttl=10",
        )

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """Returns the folder of temporary files, including those of native code."""
        return {"ES_TMPDIR": str(paths.tmp), "LIBFFI_TMPDIR": str(paths.tmp)}

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the bootstrap class with `lib/*` as its class path."""
        return (
            f"-Des.path.home={paths.home}",
            f"-Des.path.conf={paths.config}",
            "-Des.distribution.flavor=oss",
            "-Des.distribution.type=tar",
            "-Des.bundled_jdk=false",
            "-cp",
            f"{paths.home}/lib/*",
            "org.elasticsearch.bootstrap.Elasticsearch",
        )
