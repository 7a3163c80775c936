"""OpenSearch 3: what a node is made of and how it wants to be started.

Heap, garbage collector, direct memory and recycling follow the official archive's defaults. It differs from
the archive in three points, which a comparison with published numbers must know of:

- The security agent, which checks file and socket calls against policies the repository does not hold, is not
loaded. - The bundled Java lacks the vector module, so Lucene's vector search and some of its decoding run
without SIMD. A full JDK (--runtime-jdk) has it, and it is used then. - With the bundled Java, word boundaries
of languages other than the root locale come from ICU.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pacenote.provision.distribution import ModuleRecipe, NodePaths, Root
from pacenote.provision.engine_lock import Module
from pacenote.provision.java import Java

_GROUP = "org.opensearch"
_PLUGINS = "org.opensearch.plugin"

# Folder name, whether the coordinate ends in -client, and what it extends. Painless first: others extend it.
_MODULES: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("transport-netty4", True, ()),
    ("lang-painless", False, ()),
    ("analysis-common", False, ("lang-painless",)),
    ("mapper-extras", True, ()),
    ("reindex", True, ()),
    ("parent-join", True, ()),
    ("aggs-matrix-stats", True, ()),
    ("percolator", True, ()),
    ("lang-mustache", True, ()),
    ("geo", False, ()),
    ("ingest-common", False, ("lang-painless",)),
    ("lang-expression", False, ()),
    ("rank-eval", True, ()),
    ("ingest-user-agent", False, ()),
)

# To the console only: our caller has opened the log file, so the node needs no access to the race folder.
_LOG4J = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.deprecation.name = org.opensearch.deprecation
logger.deprecation.level = warn
"""


class OpenSearch:
    """OpenSearch 3.x as knowledge; see `Distribution` for what each member means."""

    name: str = "opensearch"
    default_version: str = "3.3.0"

    def supports(self, version: str) -> bool:
        """3.x releases: 2.x needs the Java security manager, which the bundled Java no longer has."""
        return re.fullmatch(r"3\.\d+\.\d+", version) is not None

    def supported_words(self) -> str:
        """See `Distribution`."""
        return f"3.x (default {self.default_version})"

    def java_range(self, version: str) -> tuple[int, int | None]:
        """See `Distribution`."""
        return 21, None

    def roots(self, version: str) -> tuple[Root, ...]:
        """See `Distribution`."""
        ours = ("opensearch", "opensearch-cli", "opensearch-agent-bootstrap", "opensearch-plugin-classloader")
        return (
            *(Root(_GROUP, name, version) for name in ours),
            # An optional dependency there, but the node does not start without it; must equal log4j-api.
            Root("org.apache.logging.log4j", "log4j-core", follows="log4j-api"),
            # Optional there too; without them there is no geo_shape.
            Root("org.locationtech.spatial4j", "spatial4j", "0.7"),
            Root("org.locationtech.jts", "jts-core", "1.15.0"),
        )

    def locale_roots(self, version: str) -> tuple[Root, ...]:
        """See `Distribution`."""
        return (Root("com.ibm.icu", "icu4j-localespi", "77.1"),)

    def recipes(self, version: str) -> tuple[ModuleRecipe, ...]:
        """See `Distribution`."""
        return tuple(
            ModuleRecipe(
                group=_PLUGINS,
                name=f"{folder}-client" if client else folder,
                folder=folder,
                extends=extends,
                required=folder == "transport-netty4",
            )
            for folder, client, extends in _MODULES
        )

    def module_files(self, version: str, module: Module) -> Mapping[str, str]:
        """See `Distribution`."""
        lines = {
            "name": module.name,
            "description": f"{module.name} module",
            "version": version,
            "opensearch.version": version,
            "java.version": str(self.java_range(version)[0]),
            "classname": module.main_class,
            "extended.plugins": ",".join(module.extends),
            "has.native.controller": "false",
        }
        return {"plugin-descriptor.properties": "".join(f"{key}={value}\n" for key, value in lines.items())}

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        """See `Distribution`."""
        where = {"path.data": str(paths.data), "path.logs": str(paths.logs)}
        # JSON values are YAML values, quoted and escaped right without a YAML library.
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in {**settings, **where}.items()]
        return {"opensearch.yml": "".join(lines), "log4j2.properties": _LOG4J}

    def settings(self, http_port: int, transport_port: int) -> Mapping[str, object]:
        """See `Distribution`."""
        return {
            "network.host": "127.0.0.1",
            "http.port": http_port,
            "transport.port": transport_port,
            "discovery.type": "single-node",
            # Free disk is checked before the start. On a large disk that is 95 % full the engine would
            # otherwise make its indices read-only in the middle of a race, with tens of gigabytes to spare.
            "cluster.routing.allocation.disk.threshold_enabled": False,
        }

    def jvm_options(self, heap: int, paths: NodePaths, java: Java) -> tuple[str, ...]:
        """See `Distribution`."""
        # Lucene's vectorised code needs it; a Java without the module refuses to start when asked for it.
        vector = ("--add-modules=jdk.incubator.vector",) if "jdk.incubator.vector" in java.modules else ()
        return (
            f"-Xms{heap}",
            f"-Xmx{heap}",
            f"-XX:MaxDirectMemorySize={heap // 2}",
            # All heap pages are touched before the first request, so that page faults do not show up as
            # latency.
            "-XX:+AlwaysPreTouch",
            "-Xss1m",
            "-XX:-OmitStackTraceInFastThrow",
            f"-XX:ErrorFile={paths.logs}/hs_err_pid%p.log",
            *vector,
            "--enable-native-access=ALL-UNNAMED",
            "-Dfile.encoding=UTF-8",
            "-Djava.awt.headless=true",
            # The engine brings its own calendar, in which weeks are those of ISO 8601; it must come first.
            "-Djava.locale.providers=SPI,CLDR",
            f"-Djava.io.tmpdir={paths.tmp}",
            "-Djna.nosys=true",
            f"-Djna.tmpdir={paths.tmp}",
            "-Dio.netty.noUnsafe=true",
            "-Dio.netty.noKeySetOptimization=true",
            "-Dio.netty.recycler.maxCapacityPerThread=0",
            "-Dio.netty.allocator.numDirectArenas=0",
            "-Dlog4j.shutdownHookEnabled=false",
            "-Dlog4j2.disable.jmx=true",
            "-Dopensearch.networkaddress.cache.ttl=60",
            "-Dopensearch.networkaddress.cache.negative.ttl=10",
        )

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """See `Distribution`."""
        return {}

    def main(self, paths: NodePaths, java: Java) -> tuple[str, ...]:
        """See `Distribution`."""
        # Every new index tries every analyzer, Thai among them, which needs a dictionary that a trimmed Java
        # lacks.
        classes = f"{paths.home}/lib/*:{paths.home}/locale/*" if java.trimmed else f"{paths.home}/lib/*"
        return (
            f"-Dopensearch.path.home={paths.home}",
            f"-Dopensearch.path.conf={paths.config}",
            "-Dopensearch.distribution.type=tar",
            "-cp",
            classes,
            "org.opensearch.bootstrap.OpenSearch",
        )
