"""How the driver connects to a cluster (`--client-options`), as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pacenote.model.work import Headers


NO_TIMEOUT_S = 86_400.0
"""The timeout of requests without one, in seconds: the longest time that histograms can hold."""

ACCEPT_ENCODING = "accept-encoding"
"""The header that states which content encodings of replies the driver decodes."""


class TlsOptions(Struct, frozen=True):
    """The settings of TLS connections. All files are in PEM format."""

    ca_file: str | None = None
    """Certificate authorities accepted for the hosts; None means those of the system."""

    client_cert: str | None = None
    """The client certificate; None means that none is sent."""

    client_key: str | None = None
    """The private key of the client certificate, or None if it is in `client_cert`."""

    verify: bool = True
    """Whether the certificates of hosts are verified."""

    verify_host: bool = True
    """Whether the host names in the certificates are verified."""

    server_name: str | None = None
    """The host name to verify; None means that of the host's URL."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The client options of one cluster (`--client-options`)."""

    timeout_s: float = 60.0
    """Timeout of requests that do not set their own, in seconds; `NO_TIMEOUT_S` if there is none."""

    use_ssl: bool | None = None
    """Whether connections use TLS; None means that the URL of each host determines this."""

    tls: TlsOptions = TlsOptions()
    """The settings of TLS connections."""

    authorization: str | None = field(default=None, repr=False)
    """The value of the authorization header; secret."""

    headers: Headers = field(default=(), repr=False)
    """Headers of every request; they may be secret."""

    compress: bool = False
    """Whether request bodies are compressed with gzip."""

    api_key_per_client: bool = False
    """Whether each client of a race sends an API key of its own, which the race creates and deletes."""

    remarks: tuple[str, ...] = ()
    """Warnings about options that have no effect, one sentence each."""


@dataclass(frozen=True, slots=True)
class AdditionalCluster:
    """A further cluster of `--target-hosts`, in addition to the one under test."""

    name: str
    """The name of the cluster in `--target-hosts`."""

    hosts: tuple[str, ...] = field(repr=False)
    """The hosts of the cluster; they may contain credentials."""

    client: ClientOptions = ClientOptions()
    """The client options of the cluster."""
