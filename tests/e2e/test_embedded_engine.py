"""A real OpenSearch: assembled, started, used, stopped, and terminated when its owner ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.provision.cars import compose_car
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import create_layout
from pacenote.provision.node_registry import cleanup_orphans, registered_nodes
from pacenote.system.process import process_identity

pytestmark = pytest.mark.engine

HEAP = {"heap_size": "512m"}


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    request = EngineRequest(home, tmp_path_factory.mktemp("artifacts"), car=compose_car([], HEAP))
    with start_cluster(request) as running:
        yield running


def test_the_engine_reports_its_version(cluster: EmbeddedCluster) -> None:
    info = cluster.info()
    assert (info.distribution, info.version, info.flavor) == ("opensearch", "3.3.0", "tar")
    assert info.build_hash
    (node,) = info.nodes
    assert node.heap_max_bytes == 512 << 20
    assert node.cpus == len(os.sched_getaffinity(0))
    assert {"analysis-common", "geo", "lang-painless", "percolator", "reindex"} <= set(node.modules)
    assert cluster.local_nodes()[0].exit_reason() is None


def test_indexes_scripts_and_searches(cluster: EmbeddedCluster) -> None:
    rest = cluster.rest()
    rest.request(
        "PUT", "/books/_doc/1", {"title": "pace notes", "pages": 7, "at": "2026-01-02"}, {"refresh": True}
    )
    doubled = {"source": "doc['pages'].value * 2"}
    script = {"script_score": {"query": {"match": {"title": "notes"}}, "script": doubled}}
    months = {"months": {"date_histogram": {"field": "at", "calendar_interval": "month"}}}
    response = rest.request("POST", "/books/_search", {"query": script, "aggs": months})
    assert response["hits"]["hits"][0]["_score"] == 14
    assert response["aggregations"]["months"]["buckets"][0]["doc_count"] == 1
    expression = {"expression": {"script": {"lang": "expression", "source": "doc['pages'] + 1"}}}
    response = rest.request("POST", "/books/_search", {"script_fields": expression})
    assert response["hits"]["hits"][0]["fields"]["expression"] == [8]


def test_every_kind_of_module_works(cluster: EmbeddedCluster) -> None:
    rest = cluster.rest()
    mapping = {"query": {"type": "percolator"}, "rank": {"type": "rank_feature"}, "title": {"type": "text"}}
    rest.request("PUT", "/modules", {"mappings": {"properties": mapping}})
    pipeline = {
        "processors": [{"grok": {"field": "m", "patterns": ["%{WORD:w}"]}}, {"user_agent": {"field": "u"}}]
    }
    rest.request("PUT", "/_ingest/pipeline/p", pipeline)
    template = {"source": {"query": {"match_all": {}}, "size": "{{n}}"}, "params": {"n": 1}}
    assert rest.request("POST", "/books/_search/template", template)["hits"]["total"]["value"] == 1
    reindexed = rest.request("POST", "/_reindex", {"source": {"index": "books"}, "dest": {"index": "copy"}})
    assert reindexed["created"] == 1
    words = rest.request("POST", "/_analyze", {"analyzer": "english", "text": "running notes"})
    assert [token["token"] for token in words["tokens"]] == ["run", "note"]


def test_the_engine_runs_on_loopback_without_privileges(cluster: EmbeddedCluster) -> None:
    status = Path(f"/proc/{cluster.local_nodes()[0].pid}/status").read_text()
    uids = next(line.split()[1:] for line in status.splitlines() if line.startswith("Uid:"))
    groups = next(line.split()[1:] for line in status.splitlines() if line.startswith("Groups:"))
    assert len(set(uids)) == 1
    assert uids[0] != "0"
    if os.geteuid() == 0:
        assert groups == []
    settings = cluster.rest().get("/_nodes/http,transport")["nodes"]
    bound = [
        each
        for node in settings.values()
        for kind in ("http", "transport")
        for each in node[kind]["bound_address"]
    ]
    assert bound
    assert all(address.startswith("127.0.0.1:") for address in bound)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the node as another user")
def test_the_node_cannot_change_what_it_runs(cluster: EmbeddedCluster, home: Path) -> None:
    layout = create_layout(home)
    files = [
        *layout.installs.rglob("*"),
        *layout.jars.rglob("*"),
        *layout.java.rglob("*"),
        cluster.local_nodes()[0].folder,
    ]
    assert files
    assert all(file.stat().st_uid == 0 and not file.stat().st_mode & 0o022 for file in files)


def test_the_second_start_reuses_everything(cluster: EmbeddedCluster, home: Path, tmp_path: Path) -> None:
    # The mirror does not exist, so any download would fail.
    request = EngineRequest(home, tmp_path, maven_mirror="http://127.0.0.1:1", offline=True)
    before = {folder: folder.stat().st_ino for folder in create_layout(home).installs.iterdir()}
    installation = install_engine(request)
    assert (installation.program.home / "lib").is_dir()
    assert installation.program.home in before
    assert {folder: folder.stat().st_ino for folder in before} == before


_OWNER = """
import sys, time
from pathlib import Path
from pacenote.provision.cars import compose_car
from pacenote.provision.engine_request import EngineRequest
from pacenote.cluster.cluster import start_cluster
car = compose_car([], {"heap_size": "512m"})
cluster = start_cluster(EngineRequest(Path(sys.argv[1]), Path(sys.argv[2]), car=car))
sys.stdout.write(str(cluster.local_nodes()[0].pid)); sys.stdout.flush()
time.sleep(300)
"""


def test_kill_9_of_the_owner_leaves_no_node(cluster: EmbeddedCluster, home: Path, tmp_path: Path) -> None:
    cluster.stop()
    assert process_identity(cluster.local_nodes()[0].pid) is None
    assert (cluster.local_nodes()[0].log_file.parent / "gc.log").stat().st_size > 0
    layout = create_layout(home)
    with subprocess.Popen([sys.executable, "-c", _OWNER, home, tmp_path], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(os.read(owner.stdout.fileno(), 20) or 0)
        (node,) = (each for each in registered_nodes(layout) if each.owner.pid == owner.pid)
        assert node.process is not None
        assert node.process.pid == pid
        owner.kill()
    deadline = time.monotonic() + 10
    while process_identity(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process_identity(pid) is None
    # Another command may clean up before this one, or at the same time.
    while node.folder.exists() and time.monotonic() < deadline:
        cleanup_orphans(layout)
        time.sleep(0.05)
    assert not node.folder.exists()
    assert not node.file(layout).exists()
    assert node.id not in {each.id for each in registered_nodes(layout)}
