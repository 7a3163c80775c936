"""Rally's searchable-snapshots-stats and blob-store-stats."""

from pacenote.telemetry.snapshot_stats import BlobStoreStats, SearchableSnapshotsStats
from telemetry.sampling import run_device

FILES = [{"file_ext": "fdt", "num_files": 3, "cached_bytes_read": {"count": 2, "sum": 4096}}]


def test_reads_are_of_the_cluster_or_of_the_given_indices():
    path = "/_searchable_snapshots/stats"
    run = run_device(SearchableSnapshotsStats, {path: {"total": FILES}})
    assert run.lines[0] == f"GET {path}?level=cluster"
    assert run.values() == {
        ("num_files", "cluster", "fdt"): 3,
        ("cached_bytes_read.count", "cluster", "fdt"): 2,
        ("cached_bytes_read.sum", "cluster", "fdt"): 4096,
    }
    reply = {"total": FILES, "indices": {"mounted": {"total": FILES}}}
    params = {"searchable-snapshots-stats-indices": "mount*"}
    run = run_device(SearchableSnapshotsStats, {f"/mount*{path}": reply}, params)
    assert run.lines[0] == f"GET /mount*{path}?level=indices"
    assert ("num_files", "index", "mounted", "fdt") in run.values()


def test_requests_to_object_stores_are_of_the_cluster_and_its_nodes():
    stats = {"object_store_stats": {"request_counts": {"GetObject": 6}}}
    backups = {**stats, "operational_backup_service_stats": {"request_counts": {"PutObject": 1}}}
    run = run_device(
        BlobStoreStats, {"/_internal/blob_store/stats": {"_all": stats, "nodes": {"n1": backups}}}
    )
    assert run.values() == {
        ("object_store_request_counts_GetObject", "cluster"): 6,
        ("object_store_request_counts_GetObject", "node", "n1"): 6,
        ("operational_backup_request_counts_PutObject", "node", "n1"): 1,
    }
