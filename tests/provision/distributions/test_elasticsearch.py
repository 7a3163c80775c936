"""The files that Pacenote writes for an Elasticsearch node."""

from __future__ import annotations

from pathlib import Path

from pacenote.provision.distributions.elasticsearch import Elasticsearch
from pacenote.provision.engine_lock import find_lock


def test_modules_have_only_the_permissions_they_need() -> None:
    lock = find_lock("elasticsearch", "7.17.28", Path("/nowhere"))
    assert lock is not None
    files = {module.name: Elasticsearch().module_files("7.17.28", module) for module in lock.modules}
    assert 'SocketPermission "*", "accept,' in files["transport-netty4"]["plugin-security.policy"]
    assert "AllPermission" not in str(files)
    assert "plugin-security.policy" not in files["percolator"]
    assert "elasticsearch.version=7.17.28\n" in files["percolator"]["plugin-descriptor.properties"]
