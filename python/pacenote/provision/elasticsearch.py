"""Elasticsearch 7.17: what a node is made of and how it wants to be started.

The last version whose parts are published for everybody to put together. It differs from the official archive
in what a comparison with published numbers must know of:

- Painless, the analyzers beyond the server's own, ingest processors and all of X-Pack are not published:
scripts, language analyzers, data streams, SQL and security are not there. - Word boundaries and formats of
languages other than the root locale follow what the Java in use knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pacenote.provision.distribution import ModuleRecipe, NodePaths, Root
from pacenote.provision.engine_lock import Module
from pacenote.provision.java import Java

_GROUP = "org.elasticsearch"
_PLUGINS = "org.elasticsearch.plugin"

_MODULES = (
    *("transport-netty4", "mapper-extras", "reindex", "parent-join", "aggs-matrix-stats"),
    *("percolator", "lang-mustache", "rank-eval"),
)

_REFLECTION = (
    'java.lang.RuntimePermission "accessDeclaredMembers"',
    'java.lang.RuntimePermission "getClassLoader"',
    'java.lang.RuntimePermission "setContextClassLoader"',
    'java.lang.reflect.ReflectPermission "suppressAccessChecks"',
)
# What a module does that the Java security manager would forbid; the archive's own lists are not published.
_PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "transport-netty4": (
        *_REFLECTION,
        'java.lang.RuntimePermission "accessClassInPackage.sun.nio.ch"',
        'java.net.SocketPermission "*", "accept,connect,listen,resolve"',
    ),
    "lang-mustache": _REFLECTION,
    "reindex": (
        'java.lang.RuntimePermission "setContextClassLoader"',
        'java.net.SocketPermission "*", "connect,resolve"',
    ),
}

# To the console only: our caller has opened the log file, so the node needs no access to the race folder.
_LOG4J = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.deprecation.name = org.elasticsearch.deprecation
logger.deprecation.level = warn
"""


class Elasticsearch:
    """Elasticsearch 7.17 as knowledge; see `Distribution` for what each member means."""

    name: str = "elasticsearch"
    default_version: str = "7.17.28"

    def supports(self, version: str) -> bool:
        """7.17 releases: of later ones the repository lacks parts that a node cannot start without."""
        return re.fullmatch(r"7\.17\.\d+", version) is not None

    def supported_words(self) -> str:
        """See `Distribution`."""
        return f"7.17.x (default {self.default_version})"

    def java_range(self, version: str) -> tuple[int, int | None]:
        """It needs the Java security manager, which Java 24 no longer has."""
        return 17, 21

    def roots(self, version: str) -> tuple[Root, ...]:
        """See `Distribution`."""
        return (
            *(Root(_GROUP, name, version) for name in ("elasticsearch", "elasticsearch-plugin-classloader")),
            # An optional dependency there, but the node does not start without it; must equal log4j-api.
            Root("org.apache.logging.log4j", "log4j-core", follows="log4j-api"),
            # Optional there; without them there is no geo_shape.
            Root("org.locationtech.spatial4j", "spatial4j", "0.7"),
            Root("org.locationtech.jts", "jts-core", "1.15.0"),
        )

    def locale_roots(self, version: str) -> tuple[Root, ...]:
        """None: the analyzers that would need it are not there."""
        return ()

    def recipes(self, version: str) -> tuple[ModuleRecipe, ...]:
        """See `Distribution`."""
        return tuple(
            ModuleRecipe(_PLUGINS, f"{folder}-client", folder, required=folder == "transport-netty4")
            for folder in _MODULES
        )

    def module_files(self, version: str, module: Module) -> Mapping[str, str]:
        """See `Distribution`."""
        lines = {
            "name": module.name,
            "description": f"{module.name} module",
            "version": version,
            "elasticsearch.version": version,
            "java.version": "1.8",
            "type": "isolated",
            "classname": module.main_class,
            "extended.plugins": ",".join(module.extends),
            "has.native.controller": "false",
        }
        files = {"plugin-descriptor.properties": "".join(f"{key}={value}\n" for key, value in lines.items())}
        if permissions := _PERMISSIONS.get(module.name):
            granted = "".join(f"  permission {each};\n" for each in permissions)
            files["plugin-security.policy"] = f"grant {{\n{granted}}};\n"
        return files

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        """See `Distribution`."""
        where = {"path.data": str(paths.data), "path.logs": str(paths.logs)}
        # JSON values are YAML values, quoted and escaped right without a YAML library.
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in {**settings, **where}.items()]
        return {"elasticsearch.yml": "".join(lines), "log4j2.properties": _LOG4J}

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
            "-Djava.security.manager=allow",
            "--add-opens=java.base/java.io=ALL-UNNAMED",
            "-Dfile.encoding=UTF-8",
            "-Djava.awt.headless=true",
            # The engine brings its own calendar, in which weeks are those of ISO 8601; it must come first.
            "-Djava.locale.providers=SPI,COMPAT",
            f"-Djava.io.tmpdir={paths.tmp}",
            "-Djna.nosys=true",
            f"-Djna.tmpdir={paths.tmp}",
            "-Dio.netty.noUnsafe=true",
            "-Dio.netty.noKeySetOptimization=true",
            "-Dio.netty.recycler.maxCapacityPerThread=0",
            "-Dio.netty.allocator.numDirectArenas=0",
            "-Dlog4j.shutdownHookEnabled=false",
            "-Dlog4j2.disable.jmx=true",
            "-Dlog4j2.formatMsgNoLookups=true",
            "-Des.networkaddress.cache.ttl=60",
            "-Des.networkaddress.cache.negative.ttl=10",
        )

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """See `Distribution`."""
        return {"ES_TMPDIR": str(paths.tmp), "LIBFFI_TMPDIR": str(paths.tmp)}

    def main(self, paths: NodePaths, java: Java) -> tuple[str, ...]:
        """See `Distribution`."""
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
