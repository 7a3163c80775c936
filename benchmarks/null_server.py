"""A server that does nothing: nginx answers every request at once, like an empty Elasticsearch node.

It runs as one process on one core, with its own configuration and files, and ends with the benchmark. Replies
to searches and bulks are short; replies to control traffic contain the fields that Pacenote and Rally read.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import pinned, run, temporary_folder
from outcome import BenchmarkError

SEARCH_PATH = "/logs/_search"
SEARCH_BODY = '{"query":{"match":{"message":"error"}}}'

_HITS = [{"_index": "logs", "_id": f"hit-{number}", "_score": 1.0} for number in range(3)]
_SEARCHED = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 5, "successful": 5, "skipped": 0, "failed": 0},
    "hits": {"total": {"value": 10_000, "relation": "gte"}, "max_score": 1.0, "hits": _HITS},
}
_SHARDS = {"total": 0, "successful": 0, "failed": 0}
_ROOT = {
    "name": "null",
    "cluster_name": "null",
    "cluster_uuid": "none",
    "version": {
        "number": "8.15.0",
        "build_flavor": "default",
        "build_type": "tar",
        "build_hash": "none",
        "build_date": "2024-08-02T00:00:00Z",
        "build_snapshot": False,
        "lucene_version": "9.11.1",
        "minimum_wire_compatibility_version": "7.17.0",
        "minimum_index_compatibility_version": "7.0.0",
    },
    "tagline": "You Know, for Search",
}
_NODE = {
    "name": "null",
    "host": "127.0.0.1",
    "ip": "127.0.0.1",
    "version": "8.15.0",
    "build_hash": "none",
    "roles": ["data"],
    "os": {"name": "Linux", "version": "6", "allocated_processors": 1, "available_processors": 1},
    "jvm": {
        "version": "22",
        "vm_name": "none",
        "vm_vendor": "none",
        "uptime_in_millis": 1,
        "mem": {"heap_max_in_bytes": 1 << 30, "pools": {}},
        "gc": {"collectors": {"young": {"collection_count": 0, "collection_time_in_millis": 0}}},
    },
    "process": {"id": 1},
    "fs": {"data": []},
    "ingest": {"total": {}, "pipelines": {}},
    "plugins": [],
    "modules": [],
}
_BULK = {"took": 30, "errors": False, "items": [{"index": {"status": 201}}]}
# nginx locations: the longest matching prefix is used; `=` matches the exact path.
_REPLIES: Mapping[str, Any] = {
    "= /": _ROOT,
    "/": {"acknowledged": True},
    "/logs/_search": _SEARCHED,
    "/_bulk": _BULK,
    "/logs/_bulk": _BULK,
    "/_nodes": {"cluster_name": "null", "nodes": {"one": _NODE}},
    "/_all/_stats": {"_shards": _SHARDS, "_all": {"primaries": {}, "total": {}}, "indices": {}},
    "/_stats": {"_shards": _SHARDS, "_all": {"primaries": {}, "total": {}}, "indices": {}},
    "/_cluster/health": {"status": "green", "relocating_shards": 0, "number_of_nodes": 1},
    "/_cluster/stats": {"_nodes": {"total": 1, "successful": 1, "failed": 0}, "nodes": {}},
    "/_cat": [],
    "/_license": {"license": {"type": "basic", "status": "active"}},
}
_CERTIFICATE = """
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.3;
"""
_CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/json;
  add_header x-elastic-product Elasticsearch;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_max_body_size 64m;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_body_buffer_size 8m;
  server {{
    listen 127.0.0.1:{port}{secure} backlog=1024;
{certificate}
{locations}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class NullServer:
    """A running server."""

    port: int
    """The port on which the server listens."""

    pid: int
    """The process id of the server."""

    def cpu_s(self) -> float:
        """Returns the CPU time that the server has used, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def missing() -> str:
    """Returns the reason why the server cannot run, or an empty string."""
    return "" if _nginx() else "nginx, which the null server uses, is not installed (apt-get install nginx)"


def tls_missing() -> str:
    """Returns the reason why the server cannot run with TLS, or an empty string."""
    no_openssl = "openssl, which creates the certificate, is not installed (apt-get install openssl)"
    return missing() or ("" if shutil.which("openssl") else no_openssl)


def version() -> str:
    """Returns the version of nginx."""
    output = subprocess.run([_nginx() or "nginx", "-v"], capture_output=True, text=True, check=False).stderr
    return output.strip().rpartition("/")[2]


@contextmanager
def null_server(core: int, *, tls: bool = False) -> Iterator[NullServer]:
    """Runs a server on `core` until the end of the block, with `tls` only for connections over TLS 1.3, with
    a certificate of its own. Raises BenchmarkError if it does not start.
    """
    nginx = _nginx()
    if nginx is None:
        raise BenchmarkError(missing())
    with temporary_folder() as folder:
        port = _free_port()
        configuration = folder / "nginx.conf"
        certificate = _certificate(folder) if tls else ""
        text = _CONFIGURATION.format(
            folder=folder, port=port, secure=" ssl" * tls, certificate=certificate, locations=_locations()
        )
        configuration.write_text(text)
        command = pinned(core, [nginx, "-p", str(folder), "-c", str(configuration)])
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_for(port, process)
                yield NullServer(port, process.pid)
            finally:
                process.kill()


def _certificate(folder: Path) -> str:
    """Creates a certificate with a P-256 key; returns the configuration that uses it."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    run(command)
    return _CERTIFICATE.format(folder=folder)


def _locations() -> str:
    replies = _REPLIES.items()
    return "\n".join(f"    location {at} {{ return 200 '{json.dumps(reply)}'; }}" for at, reply in replies)


def _nginx() -> str | None:
    # nginx's folder is often not in the PATH of users other than root.
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise BenchmarkError("nginx did not start")
