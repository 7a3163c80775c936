"""The files and options that Pacenote creates for an OpenSearch node."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.java import JavaRuntime


def test_the_configuration_and_options_are_created() -> None:
    distribution = find_distribution("opensearch", "3.3.0")
    paths = NodePaths(*(Path("/", name) for name in ("home", "config", "data", "logs", "tmp")))
    module = EngineModule("m", "a.M", ("x", "y"), ())
    descriptor = distribution.module_files("3.3.0", module)["plugin-descriptor.properties"]
    assert "classname=a.M\nextended.plugins=x,y\n" in descriptor
    settings = {**distribution.settings(1, 2), "a": "b: c", "n": True}
    text = distribution.config_files(paths, settings)["opensearch.yml"]
    assert 'network.host: "127.0.0.1"\nhttp.port: 1\ntransport.port: 2\n' in text
    assert 'a: "b: c"\nn: true\npath.data: "/data"' in text
    full = JavaRuntime(Path("/java"), "25", "", frozenset({"jdk.incubator.vector"}), "JAVA_HOME")
    options = distribution.jvm_options(1 << 30, paths, full)
    assert {"-Xms1073741824", "-Xmx1073741824", "--add-modules=jdk.incubator.vector"} <= set(options)
    bundled = replace(full, modules=frozenset(), trimmed_locales=True)
    assert not any("vector" in each for each in distribution.jvm_options(1, paths, bundled))
    assert distribution.main_arguments(paths, full)[-2:] == (
        "/home/lib/*",
        "org.opensearch.bootstrap.OpenSearch",
    )
    assert distribution.main_arguments(paths, bundled)[-2] == "/home/lib/*:/home/locale/*"
