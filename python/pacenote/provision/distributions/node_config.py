"""The parts of installations and configurations that Elasticsearch and OpenSearch have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pacenote.provision.distributions.parts import NodePaths, RootArtifact
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_options import crash_report_options

LOG4J_CORE = RootArtifact("org.apache.logging.log4j", "log4j-core", follows="log4j-api")
"""Declared as optional, but required to start; it must have the same version as log4j-api."""

UNDECLARED_ARTIFACTS = (
    LOG4J_CORE,
    # Declared as optional; geo_shape requires them.
    RootArtifact("org.locationtech.spatial4j", "spatial4j", "0.7"),
    RootArtifact("org.locationtech.jts", "jts-core", "1.15.0"),
)
"""Artifacts that the server needs without declaring them as dependencies."""


CLASS_LOADER = 'java.lang.RuntimePermission "getClassLoader"'
"""A permission under the Java security manager."""

REFLECTION = (
    'java.lang.RuntimePermission "accessDeclaredMembers"',
    CLASS_LOADER,
    'java.lang.RuntimePermission "setContextClassLoader"',
    'java.lang.reflect.ReflectPermission "suppressAccessChecks"',
)
"""Permissions for code that reads classes and objects at run time."""

NETTY_PERMISSIONS = (
    *REFLECTION,
    'java.lang.RuntimePermission "accessClassInPackage.sun.nio.ch"',
    'java.net.SocketPermission "*", "accept,connect,listen,resolve"',
)
"""Permissions of the module transport-netty4."""

REINDEX_PERMISSIONS = (
    'java.lang.RuntimePermission "setContextClassLoader"',
    'java.net.SocketPermission "*", "connect,resolve"',
)
"""Permissions of the module reindex."""


def jvm_options(heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
    """Returns the JVM options of both official archives, with a fixed heap of `heap` bytes.

    Those that OpenJ9 does not have are left out for it.
    """
    return (
        f"-Xms{heap}",
        f"-Xmx{heap}",
        f"-XX:MaxDirectMemorySize={heap // 2}",
        # All heap pages are touched before the first request so that page faults do not add to latency.
        "-XX:+AlwaysPreTouch",
        "-Xss1m",
        *(() if java.is_openj9 else ("-XX:-OmitStackTraceInFastThrow",)),
        *crash_report_options(java, paths.logs),
        "-Dfile.encoding=UTF-8",
        "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={paths.tmp}",
        "-Djna.nosys=true",
        f"-Djna.tmpdir={paths.tmp}",
        "-Dio.netty.noUnsafe=true",
        "-Dio.netty.noKeySetOptimization=true",
        "-Dio.netty.recycler.maxCapacityPerThread=0",
        "-Dio.netty.allocator.numDirectArenas=0",
        "-Dlog4j.shutdownHookEnabled=false",
        "-Dlog4j2.disable.jmx=true",
    )


def module_descriptor(
    distribution: str, version: str, module: EngineModule, more: Mapping[str, str]
) -> Mapping[str, str]:
    """Returns the `plugin-descriptor.properties` of a module, with the entries `more` of one engine."""
    descriptor = {
        "name": module.name,
        "description": f"{module.name} module",
        "version": version,
        f"{distribution}.version": version,
        **more,
        "classname": module.main_class,
        "extended.plugins": ",".join(module.extends),
        "has.native.controller": "false",
    }
    return {"plugin-descriptor.properties": properties(descriptor)}


def security_policy(permissions: Iterable[str]) -> Mapping[str, str]:
    """Returns the `plugin-security.policy` of a module, or no file without permissions."""
    granted = "".join(f"  permission {permission};\n" for permission in permissions)
    return {"plugin-security.policy": f"grant {{\n{granted}}};\n"} if granted else {}


def loopback_settings(http_port: int, transport_port: int) -> Mapping[str, object]:
    """Returns the settings of a node that listens on loopback; those of its cluster are not among them."""
    return {
        "network.host": "127.0.0.1",
        "http.port": http_port,
        "transport.port": transport_port,
        # Pacenote checks free disk space before startup. On a large disk that is 95 % full, the engine would
        # otherwise make its indices read-only during a race, although tens of gigabytes are free.
        "cluster.routing.allocation.disk.threshold_enabled": False,
    }


def settings_yaml(paths: NodePaths, settings: Mapping[str, object]) -> str:
    """Returns the text of `elasticsearch.yml` or `opensearch.yml`."""
    folders = {"path.data": paths.data_setting, "path.logs": str(paths.logs)}
    # JSON values are valid YAML, quoted and escaped without a YAML library.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**settings, **folders}.items())


def log4j_properties(package: str) -> str:
    """Returns the text of `log4j2.properties`; `package` is the Java package of the engine.

    The node logs only to the console. Pacenote opens the log file, so the node's user needs no access to the
    race folder.
    """
    return f"""\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d{{ISO8601}}][%-5p][%c{{1.}}] %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.deprecation.name = {package}.deprecation
logger.deprecation.level = warn
"""


def properties(values: Mapping[str, str]) -> str:
    """Returns the text of a Java properties file."""
    return "".join(f"{key}={value}\n" for key, value in values.items())
