"""Which node manages the cluster (Rally's `master-node-stats`)."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_PATH = "/_nodes/_master/process?filter_path=nodes.*.name"


class MasterNodeStats(SampledDevice):
    """The node that manages the cluster, every 30 seconds: a change during a race explains pauses."""

    name = "master-node-stats"
    description = "The node that manages the cluster, every 30 seconds."
    interval = interval_parameter("master-node-stats", 30.0)
    parameters = (interval,)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the name of the node. Raises EngineError."""
        reply = connection.get(_PATH)
        with expected_form('"nodes" with the name of the managing node'):
            yield from (
                SampledValue("master_node", 1.0, labels={"node": name})
                for name in self._cluster.node_names.of(reply.get("nodes", {})).values()
            )
