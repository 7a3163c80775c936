"""The container images of the engines: their names, and how they are configured."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class EngineImage(Struct, frozen=True):
    """The image of one engine."""

    name: str
    """The name of the distribution."""
    image: str
    """The vendor's image, without a tag."""
    java_variable: str
    """The environment variable with JVM options."""
    data: str
    """The folder of the data in a container."""
    environment: Mapping[str, str]
    """Environment variables with which the engine needs no certificates and credentials, as in Rally."""


ENGINE_IMAGES: Mapping[str, EngineImage] = {
    image.name: image
    for image in (
        EngineImage(
            "elasticsearch",
            "docker.elastic.co/elasticsearch/elasticsearch",
            "ES_JAVA_OPTS",
            "/usr/share/elasticsearch/data",
            {"xpack.security.enabled": "false"},
        ),
        EngineImage(
            "opensearch",
            "opensearchproject/opensearch",
            "OPENSEARCH_JAVA_OPTS",
            "/usr/share/opensearch/data",
            {"DISABLE_SECURITY_PLUGIN": "true", "DISABLE_INSTALL_DEMO_CONFIG": "true"},
        ),
    )
}
"""The image of each engine, by the name of the distribution."""
