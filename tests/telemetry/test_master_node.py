"""Which node manages the cluster."""

from pacenote.telemetry.master_node import MasterNodeStats
from telemetry.sampling import run_device


def test_the_managing_node_is_recorded_by_name():
    run = run_device(MasterNodeStats, {"/_nodes/_master/process": {"nodes": {"id": {"name": "node-2"}}}})
    assert run.result.errors == ()
    assert run.values() == {("master_node", "node-2"): 1.0}


def test_a_cluster_without_a_managing_node_has_no_row():
    assert run_device(MasterNodeStats, {"/_nodes/_master/process": {}}).samples == []
