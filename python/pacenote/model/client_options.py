"""How a cluster is talked to (`--client-options`), as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacenote.model.work import Headers


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How hosts are trusted over TLS, and what they are shown. Files are PEM; None is what the system trusts,
    no certificate, the key beside the certificate, and the host's own name.
    """

    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    verify: bool = True
    verify_host: bool = True
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What `--client-options` says about one cluster.

    `timeout_s` is how long a request may take that does not say so itself. `use_ssl` None: as each host's
    address says. `authorization` is the whole value of that header; it is secret, as other `headers` may be.
    `compress` sends and asks for bodies in gzip. `remarks` say, a sentence each, what was given and has no
    effect.
    """

    timeout_s: float = 60.0
    use_ssl: bool | None = None
    tls: TlsOptions = TlsOptions()
    authorization: str | None = field(default=None, repr=False)
    headers: Headers = field(default=(), repr=False)
    compress: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdditionalCluster:
    """A cluster beside the one under test, as `--target-hosts` names it. Hosts may hold credentials."""

    name: str
    hosts: tuple[str, ...] = field(repr=False)
    client: ClientOptions = ClientOptions()
