"""How clients reach the nodes that Pacenote starts."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from pacenote.net.http_pool import ClientConfig


class ClusterAccess(Struct, frozen=True):
    """What clients of a cluster that Pacenote starts have to send, and what they may trust."""

    scheme: str = "http"
    """`http` or `https`."""
    starting: ClientConfig = ClientConfig()
    """The headers and TLS settings of requests while the nodes start."""
    clients: ClientConfig = ClientConfig()
    """Those of all later requests, in which the client options of the user override those of Pacenote."""
    is_own_certificate: bool = True
    """Whether Pacenote has made the certificates, so that only another engine presents others."""
    options_file: Path | None = None
    """The file with the client options for other programs; None if there is none."""
