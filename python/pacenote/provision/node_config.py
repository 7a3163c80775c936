"""Parts of a node's configuration that are the same for Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pacenote.provision.distributions.base import NodePaths


def single_node_settings(http_port: int, transport_port: int) -> Mapping[str, object]:
    """Settings of a node that listens on loopback and forms a cluster alone."""
    return {
        "network.host": "127.0.0.1",
        "http.port": http_port,
        "transport.port": transport_port,
        "discovery.type": "single-node",
        # Free disk is checked before the start. On a large disk that is 95 % full the engine would
        # otherwise make its indices read-only in the middle of a race, with tens of gigabytes to spare.
        "cluster.routing.allocation.disk.threshold_enabled": False,
    }


def settings_yaml(paths: NodePaths, settings: Mapping[str, object]) -> str:
    """The text of `elasticsearch.yml` or `opensearch.yml`."""
    folders = {"path.data": str(paths.data), "path.logs": str(paths.logs)}
    # JSON values are valid YAML, quoted and escaped without a YAML library.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**settings, **folders}.items())


def log4j_properties(package: str) -> str:
    """The text of `log4j2.properties`; `package` is the Java package of the engine.

    The node logs to the console only: Pacenote opens the log file, so that the node's user needs no access to
    the race folder.
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
    """The text of a Java properties file."""
    return "".join(f"{key}={value}\n" for key, value in values.items())
