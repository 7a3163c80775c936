"""Builds archives with the layout of the official ones; the engine in them is a Python script.

With security, it demands the certificates and the users of its settings and files, over real TLS.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pwd
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

_START = """\
#!/bin/sh
cd "$(dirname "$0")/.." || exit 1
exec "{python}" -I -S lib/{program} "$0"
"""

# Like the launcher of Elasticsearch 8 and later, it starts the engine as a child, which ends when it
# closes its end of the pipe.
_LAUNCHER = """\
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "lib/engine.py"], stdin=subprocess.PIPE)
def stop(*_):
    child.stdin.close()
signal.signal(signal.SIGTERM, stop)
sys.exit(child.wait())
"""

_ENGINE = """\
import json, os, socket, sys, threading
prefix = "{prefix}"
folder = os.environ[prefix + "_PATH_CONF"]
settings = dict(line.rstrip("\\n").split(": ", 1) for line in open(os.path.join(folder, "{name}.yml")))
settings = {{key: json.loads(value) for key, value in settings.items()}}
own = {{name: value for name, value in os.environ.items() if name.startswith((prefix, "JAVA"))}}
report = {{"environment": own, "settings": settings, "folder": os.getcwd(), "pid": os.getpid()}}
json.dump(report, open("logs/report.json", "w"))
print("engine says started", flush=True)
if {launched}:
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
joined = len(settings.get("cluster.initial_master_nodes", "1"))
answer = {{"status": "green", "number_of_nodes": joined, "cluster_name": "c", "took": 1, "errors": False}}
answer.update(timed_out=False, indices={{}}, items=[{{"index": {{}}}}], _shards={{"failed": 0}})
answer["version"] = {{"number": "{version}", "build_hash": "0", "build_flavor": "default"}}
def read(name):
    return open(os.path.join(folder, name)).read().split()
def wrap(connection):
    return connection
def may_pass(head):
    return True
if settings.get("xpack.security.enabled") in (True, "true"):
    import base64, hashlib, ssl
    ssl_settings = "xpack.security.http.ssl."
    if settings[ssl_settings + "enabled"] in (True, "true"):
        bundle = settings.get(ssl_settings + "keystore.path")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(bundle or settings[ssl_settings + "certificate"],
                                bundle or settings[ssl_settings + "key"])
        wrap = lambda connection: context.wrap_socket(connection, server_side=True)
    users, roles = (dict(line.split(":") for line in read(name)) for name in ("users", "users_roles"))
    def may_pass(head):
        lines = [line for line in head.split("\\r\\n") if line.lower().startswith("authorization: basic ")]
        if not lines:
            return False
        name, _, password = base64.b64decode(lines[0].split()[-1]).decode().partition(":")
        prefix, salt, digest = users.get(name, "{{PBKDF2}}10000$$").split("$")
        assert prefix == "{{PBKDF2}}10000", prefix
        found = hashlib.pbkdf2_hmac("sha512", password.encode(), base64.b64decode(salt), 10000, 32)
        return found == base64.b64decode(digest) and name in roles["superuser"].split(",")
def respond(connection):
    with connection, wrap(connection) as stream:
        request = b""
        while b"\\r\\n\\r\\n" not in request:
            received = stream.recv(4096)
            if not received:
                return
            request += received
        head, _, rest = request.partition(b"\\r\\n\\r\\n")
        text = head.decode()
        left = next((int(line[15:]) for line in text.lower().split("\\r\\n") if "content-length:" in line), 0)
        while left > len(rest):
            rest += stream.recv(65536)
        process = "/process" in text.split()[1]
        document = {{**answer, "nodes": {{"n": {{"process": {{"id": os.getpid()}}}}}} if process else {{}}}}
        passes = may_pass(text)
        body = json.dumps(document if passes else {{"error": {{"reason": "no such user"}}}}).encode()
        start = b"HTTP/1.1 " + (b"200 OK" if passes else b"401 No") + b"\\r\\nconnection: close\\r\\n"
        kind = b"content-type: application/json\\r\\nx-elastic-product: Elasticsearch\\r\\n"
        stream.sendall(start + kind + b"content-length: %d\\r\\n\\r\\n" % len(body) + body)
server = socket.create_server(("127.0.0.1", settings["http.port"]))
while True:
    threading.Thread(target=respond, args=(server.accept()[0],), daemon=True).start()
"""

# As the tool of the engines, it refuses what is not a plugin.
_PLUGIN_TOOL = """\
#!{python} -IS
import os, sys, zipfile
assert sys.argv[1:3] == ["install", "--batch"], sys.argv
assert os.environ["{prefix}_PATH_CONF"].endswith("/config")
print("-> Installing", sys.argv[3])
with zipfile.ZipFile(sys.argv[3].removeprefix("file://")) as archive:
    if "plugin-descriptor.properties" not in archive.namelist():
        print("ERROR: `plugin-descriptor.properties` not found in plugin zip")
        sys.exit(65)
    lines = archive.read("plugin-descriptor.properties").decode().splitlines()
    name = dict(line.split("=") for line in lines)["name"]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    archive.extractall(os.path.join(home, "plugins", name))
"""

_JVM_OPTIONS = """\
## the options of the archive
-XX:+UseG1GC
9-:-Xlog:gc*,gc+age=trace:file=logs/gc.log
-Djava.io.tmpdir=${ES_TMPDIR}
"""


@functools.cache
def _interpreter() -> str:
    """Returns a Python that the user of an engine may start; root's own may lie in a folder only for root."""
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    candidates = [sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"]
    for candidate in candidates:
        try:
            done = subprocess.run([candidate, "-IS", "-c", "import json, zipfile"], user=user, cwd="/")
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    pytest.skip(f"the engine's user (`nobody`) has no permission to start any of {', '.join(candidates)}")


def official_files(
    name: str = "elasticsearch",
    version: str = "8.17.0",
    *,
    launcher: bool = True,
    watches: bool = True,
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Returns the files of an archive: path below its folder to text. Paths that end in `/` are folders.

    `watches` is whether an engine with a launcher ends when its launcher does.
    """
    prefix = {"elasticsearch": "ES", "opensearch": "OPENSEARCH"}[name]
    program = "launcher.py" if launcher else "engine.py"
    return {
        f"bin/{name}": _START.format(python=_interpreter(), program=program),
        f"bin/{name}-plugin": _PLUGIN_TOOL.format(python=_interpreter(), prefix=prefix),
        "config/jvm.options": _JVM_OPTIONS,
        "config/jvm.options.d/": "",
        "config/log4j2.properties": "status = error\n",
        f"config/{name}.yml": "# nothing is set\n",
        f"lib/{name}-{version}.jar": "jar",
        "lib/launcher.py": _LAUNCHER,
        "lib/engine.py": _ENGINE.format(
            prefix=prefix, name=name, version=version, launched=launcher and watches
        ),
        "plugins/": "",
        "logs/": "",
        **(more or {}),
    }


def secured_files(**more: str | bytes) -> dict[str, str | bytes]:
    """Returns the files of an archive whose engine has Java, security and settings with names; `more` are
    those of `bin`, with `_` for a dash.
    """
    names = ("xpack.security.enabled", "xpack.security.authc.token.enabled", "xpack.security.authc.realms.")
    return {
        **official_files(more={"jdk/bin/java": "#!/bin/sh\n", "jdk/release": 'JAVA_VERSION="21.0.1"\n'}),
        "lib/elasticsearch-8.17.0.jar": jar_with("indices.memory.index_buffer_size", "script.cache.max_size"),
        "modules/x-pack-security/x-pack-security.jar": jar_with(*names),
        **{f"bin/{name.replace('_', '-')}": text for name, text in more.items()},
    }


def python_program(text: str) -> str:
    """Returns a program in Python that the user of an engine may start."""
    return f"#!{_interpreter()} -IS\n{text}"


def jar_with(*texts: str) -> bytes:
    """Returns a jar with one class whose constant pool has these texts."""
    constants = b"".join(b"\x01" + len(text).to_bytes(2, "big") + text.encode() for text in texts)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("org/opensearch/A.class", b"\xca\xfe\xba\xbe" + constants + b"\x07\x00\x01")
    return buffer.getvalue()


def pack(files: Mapping[str, str | bytes], folder: str = "elasticsearch-8.17.0") -> bytes:
    """Returns a tar.gz archive with files in a folder; those in `bin` are programs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}".rstrip("/"))
            if name.endswith("/"):
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            else:
                content = text if isinstance(text, bytes) else text.encode()
                member.size, member.mode = len(content), 0o755 if "bin/" in name else 0o644
                archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def plugin_zip(name: str, version: str, **more: str) -> bytes:
    """Returns the archive of a plugin; `more` are further lines of its descriptor, with `_` for a dot."""
    lines = {
        "name": name,
        "elasticsearch.version": version,
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        text = "".join(f"{key}={value}\n" for key, value in lines.items())
        archive.writestr("plugin-descriptor.properties", text)
        archive.writestr(f"{name}.jar", "jar")
    return buffer.getvalue()


def sha512_line(content: bytes, name: str) -> bytes:
    """Returns the checksum file that a vendor publishes beside an archive."""
    return f"{hashlib.sha512(content).hexdigest()}  {name}\n".encode()


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files of an archive into a folder, as if it were unpacked."""
    for name, text in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            path.chmod(0o755 if "bin/" in name else 0o644)
    return folder
