"""What Rally stores about the cluster and its nodes."""

import pytest

from pacenote.telemetry.environment_info import ClusterEnvironmentInfo, NodeEnvironmentInfo
from telemetry.sampling import run_device

ROOT = {"cluster_name": "c", "version": {"number": "9.5.3", "build_hash": "abc", "build_flavor": "default"}}


@pytest.mark.parametrize(
    ("facts", "platform", "authentication"),
    [
        ({"hosts": ("127.0.0.1",), "authentication": "basic"}, "on-prem", "basic"),
        ({"hosts": ("x.es.eu.elastic-cloud.com",), "authentication": "api-key"}, "hosted", "api_key"),
        ({"hosts": ("x.elastic.cloud", "10.0.0.1")}, "on-prem", "none"),
        ({"hosts": ("x.elastic.cloud",), "is_serverless": True}, "serverless", "none"),
    ],
)
def test_the_kind_of_cluster_is_recorded(facts, platform, authentication):
    assert run_device(ClusterEnvironmentInfo, {"/": ROOT}, **facts).result.values == {
        "cluster.source_revision": "abc",
        "cluster.distribution_version": "9.5.3",
        "cluster.distribution_flavor": "default",
        "cluster.target_id": "c",
        "cluster.target_platform": platform,
        "cluster.target_auth_type": authentication,
    }


def test_the_facts_of_each_node_are_recorded():
    node = {
        "name": "node-0",
        "host": "10.0.0.1",
        "os": {"name": "Linux", "version": "6.1", "available_processors": 2},
        "jvm": {"vm_vendor": "Eclipse Adoptium", "version": "25"},
        "plugins": [{"name": "b"}, {"name": "a"}],
        "attributes": {"zone": "z1"},
    }
    run = run_device(NodeEnvironmentInfo, {"/_nodes/os,jvm,plugins": {"nodes": {"id": node}}})
    assert run.result.values == {
        "node.node-0.host_name": "10.0.0.1",
        "node.node-0.os_name": "Linux",
        "node.node-0.os_version": "6.1",
        "node.node-0.cpu_logical_cores": 2,
        "node.node-0.jvm_vendor": "Eclipse Adoptium",
        "node.node-0.jvm_version": "25",
        "node.node-0.plugins": ["a", "b"],
        "node.node-0.attribute_zone": "z1",
    }
