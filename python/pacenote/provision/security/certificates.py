"""The certificates of a cluster: an authority of its own, and a certificate for each node.

They are made with `openssl`, within a second. The tool of Elasticsearch would start a JVM for each of them.
Keys are like those of that tool, RSA with 2048 bits, so that TLS costs the engine the same. The key of the
authority is not kept: nothing else can be signed with it.
"""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.printable import single_line

_PROGRAM = "openssl"
_TIMEOUT_S = 60.0
_VALID_DAYS = "3650"
_SERIAL_BITS = 63
_MAX_NAME = 64
"""Maximum length of a common name."""

# A file of its own, so that the configuration of the system has no effect. Nodes only listen on loopback.
_CONFIGURATION = """\
[req]
prompt = no
distinguished_name = name
[name]
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[node]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1, IP:::1, DNS:localhost
"""


@dataclass(frozen=True, slots=True)
class NodeCertificate:
    """The certificate of a node."""

    certificate: str
    """The certificate, in PEM format."""
    key: str = field(repr=False)
    """Its private key, in PEM format and not encrypted."""


class ClusterCertificates(Struct, frozen=True):
    """The certificates of a cluster."""

    authority: str
    """The certificate of the authority that has signed the others, in PEM format."""
    nodes: Mapping[str, NodeCertificate]
    """Name of the node → its certificate."""


def check_openssl() -> None:
    """Raises EngineError if certificates cannot be made here."""
    if shutil.which(_PROGRAM) is None:
        raise EngineError(
            f"the program {_PROGRAM} is not installed, which makes the certificates of nodes with security",
            hint=f"install {_PROGRAM}, or leave security off",
        )


def make_certificates(names: Iterable[str]) -> ClusterCertificates:
    """Returns certificates for nodes with these names, valid for 127.0.0.1, ::1 and localhost.

    Raises EngineError if `openssl` fails.
    """
    # Only this user can read the folder.
    with tempfile.TemporaryDirectory(prefix="pacenote-certificates-") as name:
        folder = Path(name)
        _configure(folder, "Pacenote")
        _request(folder, "ca", "-x509", "-extensions", "authority", "-days", _VALID_DAYS, "-out", "ca.crt")
        nodes = {name: _make_node(folder, name) for name in names}
        return ClusterCertificates((folder / "ca.crt").read_text("ascii"), nodes)


def _make_node(folder: Path, name: str) -> NodeCertificate:
    _configure(folder, re.sub(r"[^A-Za-z0-9._-]", "-", name)[:_MAX_NAME] or "node")
    _request(folder, "node", "-out", "node.csr")
    _openssl(
        folder,
        *("x509", "-req", "-sha256", "-in", "node.csr", "-out", "node.crt", "-days", _VALID_DAYS),
        *("-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", str(secrets.randbits(_SERIAL_BITS) + 1)),
        *("-extfile", "openssl.cnf", "-extensions", "node"),
    )
    return NodeCertificate(
        certificate=(folder / "node.crt").read_text("ascii"), key=(folder / "node.key").read_text("ascii")
    )


def _configure(folder: Path, name: str) -> None:
    (folder / "openssl.cnf").write_text(_CONFIGURATION.format(name=name), "ascii")


def _request(folder: Path, key: str, *options: str) -> None:
    """Makes a key, and a request for a certificate or a self-signed one."""
    _openssl(
        folder,
        *("req", "-config", "openssl.cnf", "-newkey", "rsa:2048", "-nodes", "-sha256"),
        *("-keyout", f"{key}.key", *options),
    )


def _openssl(folder: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(
            (_PROGRAM, *arguments),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(
            f"{_PROGRAM} cannot make a certificate: {single_line(str(error))}",
            hint=f"check that `{_PROGRAM} version` runs",
        ) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it gives no reason"]
        raise EngineError(
            f"{_PROGRAM} cannot make a certificate: {single_line(lines[-1])}",
            hint=f"check that `{_PROGRAM} version` is 1.1.1 or later",
        )
