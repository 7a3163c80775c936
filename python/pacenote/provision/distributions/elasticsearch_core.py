"""Elasticsearch 8.19 and 9: the published core, without most modules of the official archive.

The repository has the server and its HTTP module. Pacenote supplies what the server cannot start or be raced
without: the agent of the entitlement checks, the console loader and the answer to `GET /`, whose sources are
in `provision/supplied`. Comparisons with published results must consider the differences from the official
archive:

- Scripts, language analyzers, scaled_float and other fields of mapper-extras, reindex, join and percolator
  fields, data streams, ES|QL and all of X-Pack are missing.
- The library of vector functions is not published, so vector search uses Java code.
- zstd is the library of another package.
"""

from __future__ import annotations

import platform
import re
import struct
from collections.abc import Mapping, Sequence

from pacenote.errors import EngineError
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.node_config import (
    LOG4J_CORE,
    jvm_options,
    properties,
)
from pacenote.provision.distributions.parts import (
    AssemblyStep,
    CompiledJar,
    ExtractedFile,
    ModuleDefinition,
    NodePaths,
    OptionalModules,
    PlacedJar,
    RootArtifact,
    WrittenFile,
)
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRange, JavaRuntime

_KEYSTORE_CLASS = "org.elasticsearch.common.settings.KeyStoreWrapper"
_KEYSTORE_FORMAT = 7
_TEXT, _LIST = 0, 7
"""Kinds of values of settings."""
_NULL = b"\xff"

_GROUP = "org.elasticsearch"
_PLUGINS = "org.elasticsearch.plugin"

_BRIDGE = "elasticsearch-entitlement-bridge"
_AGENT = "lib/entitlement-agent/pacenote-agent.jar"
_BRIDGE_FOLDER = "lib/entitlement-bridge"
_ENTITLEMENT = "elasticsearch-entitlement"
_SOFTENED = "lib-trimmed-java"
_ROOT_MODULE = "modules/pacenote-root"

# The compiler runs as the user of Pacenote, who may be root, so its checksum is known in advance.
_COMPILER = RootArtifact(
    "org.eclipse.jdt",
    "ecj",
    "3.40.0",
    sha256="05cc22a24e7982970f63a405fc6c820bc80b806f27f3c5a6236fc475f8f7152b",
    size=3_312_549,
)
_NATIVE_CODE = RootArtifact(
    "io.airlift",
    "aircompressor-v3",
    "3.14",
    sha256="50b2c38aa5921290b89dd38a6e424ac878480f345519bddb6a10d714c7efcd41",
    size=2_479_704,
)

_HANDLERS_CHANGED = (9, 2)
"""The version in which plugins register their paths with other parameters."""

# The entitlement checks intercept calls to these modules of Java, which a trimmed Java lacks.
_INTERCEPTED_MODULES = ("jdk.jdi", "jdk.jlink")
_BRIDGE_USERS = (
    *("org.elasticsearch.entitlement", "org.elasticsearch.logging", "org.elasticsearch.server"),
    *("java.net.http", "java.naming", "jdk.net"),
)

# The server reads the sizes of vectors from these packages of Lucene; not every version has all of them.
_OPENED_PACKAGES = (
    "org.apache.lucene.core/org.apache.lucene.codecs.lucene99",
    "org.apache.lucene.core/org.apache.lucene.internal.vectorization",
    *(
        f"org.apache.lucene.backward_codecs/org.apache.lucene.backward_codecs.lucene{number}"
        for number in (90, 91, 92, 94, 95)
    ),
)

# Processor architecture as Python names it: as Elasticsearch names it, as the package of zstd names it.
_PLATFORMS = {"x86_64": ("linux-x64", "linux-amd64"), "aarch64": ("linux-aarch64", "linux-aarch64")}

_UNPUBLISHED = (
    *("lang-painless", "lang-expression", "lang-mustache", "analysis-common", "mapper-extras"),
    *("reindex", "parent-join", "percolator", "aggregations", "aggs-matrix-stats", "rank-eval"),
    *("data-streams", "ingest-common", "ingest-user-agent", "legacy-geo", "spatial", "transform"),
    *(
        "constant-keyword",
        "mapper-version",
        "unsigned-long",
        "wildcard",
        "x-pack-aggregate-metric",
        "x-pack-analytics",
    ),
    *("x-pack-async-search", "x-pack-downsample", "x-pack-enrich", "x-pack-eql", "x-pack-esql"),
    *("x-pack-ilm", "x-pack-ml", "x-pack-security", "x-pack-sql"),
)


class ElasticsearchCore(Distribution):
    """The description of the published core of Elasticsearch 8.19 and 9."""

    name = "elasticsearch"
    java_package = _GROUP
    default_version = "9.5.3"
    modules_describe_themselves = True

    def supports(self, version: str) -> bool:
        """Returns whether this is an 8.19 or 9 release; few of them are complete enough to start."""
        return re.fullmatch(r"8\.19\.\d+|9\.\d+\.\d+", version) is not None

    def supported_versions(self) -> str:
        """Returns the supported versions as text for messages."""
        return "core 8.19.x and 9.x, such as 8.19.21 and 9.5.3"

    def title(self, version: str) -> str:
        """Returns what the engine is, because it must not be mistaken for the official distribution."""
        return f"Elasticsearch core {version}, assembled: not the official distribution"

    def java_range(self, version: str) -> JavaRange:
        """Returns Java 17 or newer for 8.19, and 21 or newer for 9."""
        return JavaRange(_lowest_java(version))

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the server, and the logger that it needs without declaring it as a dependency."""
        return (RootArtifact(_GROUP, "elasticsearch", version), LOG4J_CORE)

    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns no artifacts: the analyzers that need them are not published."""
        return ()

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        """Returns the published modules."""
        return (ModuleDefinition(_PLUGINS, "transport-netty4", "transport-netty4", required=True),)

    def unpublished_modules(self, version: str) -> tuple[str, ...]:
        """Returns the modules of the official archive that tracks use and that are not published."""
        return _UNPUBLISHED

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        """Returns no files: the jars of the modules contain them."""
        return {}

    def assembly_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        """Returns the bridge of the entitlement checks, a compiler, and the package with zstd."""
        return (RootArtifact(_GROUP, _BRIDGE, version), _COMPILER, _NATIVE_CODE)

    def assembly_steps(self, version: str) -> tuple[AssemblyStep, ...]:
        """Returns the parts that the server expects in `lib/`, and the module for `GET /`."""
        package = _platform()[1]
        agent = {
            "Agent-Class": "supplied.EntitlementAgent",
            "Can-Redefine-Classes": "true",
            "Can-Retransform-Classes": "true",
        }
        numbers = tuple(map(int, version.split(".")))
        handlers = "root_until_9_1" if numbers < _HANDLERS_CHANGED else "root_since_9_2"
        return (
            PlacedJar(_BRIDGE, _BRIDGE_FOLDER),
            ExtractedFile(
                _NATIVE_CODE.name, f"aircompressor/{package}/libzstd.so", f"{_native_folder()}/libzstd.so"
            ),
            OptionalModules(_ENTITLEMENT, _SOFTENED, _INTERCEPTED_MODULES),
            CompiledJar(_AGENT, ("agent",), agent),
            CompiledJar("lib/tools/ansi-console/pacenote-ansi.jar", ("ansi",)),
            CompiledJar(f"{_ROOT_MODULE}/pacenote-root.jar", ("root", handlers)),
            WrittenFile(f"{_ROOT_MODULE}/plugin-descriptor.properties", _root_descriptor(version)),
        )

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the options of the official archive, with a fixed heap."""
        # Lucene uses the module only on versions of Java that it knows, unless it is told otherwise.
        newest = f"-Dorg.apache.lucene.vectorization.upperJavaFeatureVersion={java.major}"
        has_vector = "jdk.incubator.vector" in java.modules
        vector = ("--add-modules=jdk.incubator.vector", newest) if has_vector else ()
        return (
            *jvm_options(heap, paths, java),
            *vector,
            *(f"--add-opens={package}=org.elasticsearch.server" for package in _OPENED_PACKAGES),
            "--enable-native-access=org.elasticsearch.nativeaccess,org.apache.lucene.core",
            "-Djava.locale.providers=CLDR",
            "-Dlog4j2.formatMsgNoLookups=true",
            "-Des.networkaddress.cache.ttl=60",
            "-Des.networkaddress.cache.negative.ttl=10",
            # The library is not published.
            "-Dorg.elasticsearch.nativeaccess.enableVectorLibrary=false",
            "-XX:+EnableDynamicAgentLoading",
            "-Djdk.attach.allowAttachSelf=true",
        )

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        """Returns the folder of temporary files, including those of native code."""
        return {"ES_TMPDIR": str(paths.tmp), "LIBFFI_TMPDIR": str(paths.tmp)}

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        """Returns the bootstrap class with `lib/` as its module path, in which the first of two modules with
        the same name is used.
        """
        trimmed = bool(java.modules) and not java.modules.issuperset(_INTERCEPTED_MODULES)
        module_path = f"{paths.home}/{_SOFTENED}:{paths.home}/lib" if trimmed else f"{paths.home}/lib"
        (bridge,) = (paths.home / _BRIDGE_FOLDER).glob("*.jar")
        return (
            f"-Des.path.home={paths.home}",
            f"-Des.path.conf={paths.config}",
            "-Des.distribution.type=tar",
            "-Des.java.type=ES_JAVA_HOME",
            # Older versions look for these below the working directory, which is not the installation.
            f"-Des.entitlement.agentJar={paths.home}/{_AGENT}",
            f"-Des.nativelibs.path={paths.home}/{_native_folder()}",
            f"--patch-module=java.base={bridge}",
            f"--add-exports=java.base/org.elasticsearch.entitlement.bridge={','.join(_BRIDGE_USERS)}",
            f"--module-path={module_path}",
            *(f"--add-modules={name}" for name in ("jdk.net", "jdk.management.agent", "ALL-MODULE-PATH")),
            *("-m", "org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch"),
        )

    def standard_input(self, paths: NodePaths, settings: Mapping[str, object]) -> bytes:
        """Returns the arguments of the server with all settings: it does not read the settings file."""
        folders = {
            "path.home": str(paths.home),
            "path.data": paths.data_setting,
            "path.logs": str(paths.logs),
        }
        return server_arguments({**settings, **folders}, str(paths.config), str(paths.logs))


def _platform() -> tuple[str, str]:
    machine = platform.machine()
    if machine not in _PLATFORMS:
        raise EngineError(
            f"the core of Elasticsearch cannot be assembled for {machine}, only for "
            f"{' and '.join(_PLATFORMS)}",
            hint="use --distribution-version=7.17.28, or an existing cluster",
        )
    return _PLATFORMS[machine]


def _native_folder() -> str:
    return f"lib/platform/{_platform()[0]}"


def _lowest_java(version: str) -> int:
    return 17 if version.startswith("8.") else 21


def _root_descriptor(version: str) -> str:
    return properties({
        "name": "pacenote-root",
        "description": "GET / of an assembled core",
        "version": version,
        "elasticsearch.version": version,
        "java.version": str(_lowest_java(version)),
        "classname": "supplied.RootPlugin",
        "extended.plugins": "",
        "has.native.controller": "false",
        "licensed": "false",
    })


def server_arguments(settings: Mapping[str, object], config: str, logs: str) -> bytes:
    """Returns the arguments of a server in the foreground without a keystore password or process id file."""
    keystore = _text(_KEYSTORE_CLASS) + struct.pack(">i", _KEYSTORE_FORMAT)
    # It has no password, no data and no entries, and is not closed.
    keystore += b"\0\0" + _vint(0) + b"\0"
    values = b"".join(_text(key) + _value(settings[key]) for key in sorted(settings))
    # Daemonize, quiet, and the absence of a process id file come first.
    return b"\0\0\0" + keystore + _vint(len(settings)) + values + _text(config) + _text(logs)


def _value(value: object) -> bytes:
    if value is None:
        return _NULL
    if isinstance(value, Sequence) and not isinstance(value, str):
        return bytes([_LIST]) + _vint(len(value)) + b"".join(_value(item) for item in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return bytes([_TEXT]) + _text(text)


def _text(text: str) -> bytes:
    """Returns a text as its number of UTF-16 units and each unit in 1 to 3 bytes."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]
    return _vint(len(units)) + b"".join(chr(unit).encode("utf-8", "surrogatepass") for unit in units)


def _vint(number: int) -> bytes:
    """Returns a number in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while number > 127:  # what fits into 7 bits
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
