"""The compose file configures an engine, limits it, and opens its port on loopback only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.provision.containers.compose import ContainerSpec, compose_document, compose_text

SPEC = ContainerSpec("elasticsearch", "9.5.3", 39200, heap="2g", jvm_options=("-XX:+UseZGC",))


def test_the_file_describes_one_engine() -> None:
    document = json.loads(compose_text(SPEC, Path("/home")))
    assert list(document) == ["services", "volumes", "x-pacenote-home"]
    assert document["x-pacenote-home"] == "/home"
    assert document["volumes"] == {"data": {}}
    (service,) = document["services"].values()
    assert service == {
        "image": "docker.elastic.co/elasticsearch/elasticsearch:9.5.3",
        "cap_add": ["IPC_LOCK"],
        "environment": {
            "xpack.security.enabled": "false",
            "cluster.name": "rally-benchmark",
            "node.name": "rally-node-0",
            "discovery.type": "single-node",
            "cluster.routing.allocation.disk.threshold_enabled": "false",
            "http.port": "9200",
            "ES_JAVA_OPTS": "-Xms2g -Xmx2g -XX:+UseZGC",
        },
        "ports": ["127.0.0.1:39200:9200"],
        "ulimits": {"memlock": {"soft": -1, "hard": -1}, "nofile": {"soft": 65536, "hard": 65536}},
        "volumes": ["data:/usr/share/elasticsearch/data"],
    }


def test_variables_of_the_car_select_the_image_and_the_limits() -> None:
    variables = {"docker_image": "localhost:5000/es", "docker_mem_limit": "4g", "docker_cpu_count": 2}
    (service,) = compose_document(replace(SPEC, variables=variables))["services"].values()
    assert (service["image"], service["mem_limit"], service["cpus"]) == ("localhost:5000/es:9.5.3", "4g", 2)
    tagged = replace(SPEC, variables={"docker_image": "es:mine"})
    assert compose_document(tagged)["services"]["engine"]["image"] == "es:mine"


def test_settings_and_environment_override_the_defaults() -> None:
    spec = ContainerSpec(
        "opensearch",
        "3.3.0",
        1,
        settings={"http.port": 7, "a.b": [1, True], "c.d": "$x"},
        environment={"DISABLE_SECURITY_PLUGIN": "false"},
    )
    values = compose_document(spec)["services"]["engine"]["environment"]
    assert (values["http.port"], values["a.b"], values["c.d"]) == ("9200", "1,true", "$$x")
    assert (values["DISABLE_SECURITY_PLUGIN"], values["OPENSEARCH_JAVA_OPTS"]) == ("false", "-Xms1g -Xmx1g")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"docker_image": "a b"}, "docker_image cannot be 'a b'"),
        ({"docker_mem_limit": "much"}, "docker_mem_limit cannot be 'much'"),
        ({"docker_cpu_count": "none"}, "docker_cpu_count cannot be 'none'"),
        ({"docker_cpu_count": -1}, "docker_cpu_count cannot be '-1'"),
    ],
)
def test_wrong_variables_are_refused(variables: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compose_document(replace(SPEC, variables=variables))
    with pytest.raises(EngineError, match="there is no image of solr"):
        compose_document(replace(SPEC, distribution="solr"))
