"""How the driver connects to a cluster (`--client-options`), as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacenote.model.work import Headers


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How TLS connections are made. Files are PEM."""

    ca_file: str | None = None
    """Certificate authorities accepted for the hosts; None means those of the system."""

    client_cert: str | None = None
    """The client certificate, None for none."""

    client_key: str | None = None
    """Its private key; None if it is in `client_cert`."""

    verify: bool = True
    """Whether the certificates of hosts are verified."""

    verify_host: bool = True
    """Whether their host names are verified."""

    server_name: str | None = None
    """The host name to verify; None means the host's own."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The client options of one cluster (`--client-options`)."""

    timeout_s: float = 60.0
    """Timeout of requests without their own, in seconds."""

    use_ssl: bool | None = None
    """Whether connections use TLS; None means as the address of each host says."""

    tls: TlsOptions = TlsOptions()
    """How TLS connections are made."""

    authorization: str | None = field(default=None, repr=False)
    """The value of the authorization header; secret."""

    headers: Headers = field(default=(), repr=False)
    """Headers of every request; they may be secret."""

    compress: bool = False
    """Whether bodies are sent compressed with gzip, and requested so."""

    remarks: tuple[str, ...] = ()
    """Sentences about options that have no effect."""


@dataclass(frozen=True, slots=True)
class AdditionalCluster:
    """A cluster beside the one under test, as `--target-hosts` names it."""

    name: str
    """Its name in `--target-hosts`."""

    hosts: tuple[str, ...] = field(repr=False)
    """Its hosts; they may hold credentials."""

    client: ClientOptions = ClientOptions()
    """Its client options."""
