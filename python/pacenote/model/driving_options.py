"""What determines how the driver of a race sends requests: its pacing, its connections, and target rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RaceRecord, RecordedClient
from pacenote.model.target_rate import TargetRate


def driving_options(record: RaceRecord) -> Mapping[str, str]:
    """Returns these options by their names in messages, without those that are not set.

    The addresses of hosts and proxies are not among them: they say where an engine is, not what it is sent.
    """
    options = [*_pacing(record.pacing), *_client(record.client)]
    for cluster, client in record.other_clients.items():
        options += [(f"{name} of cluster {cluster}", value) for name, value in _client(client)]
    return {name: _text(value) for name, value in options if value not in (None, ())}


def target_text(target: TargetRate | None, *, with_arrivals: bool = True) -> str:
    """Returns a target rate in words; arrivals are named unless they are regular."""
    if target is None:
        return "no target rate"
    rate = f"{target.value:,.10g} {target.unit}/s"
    is_regular = target.arrivals == "deterministic"
    return rate if is_regular or not with_arrivals else f"{rate} with {target.arrivals} arrivals"


def _pacing(pacing: PacingOptions) -> Iterator[tuple[str, object]]:
    for name in pacing.__struct_fields__:
        yield pacing.titles.get(name, name.replace("_", " ")), getattr(pacing, name)


def _client(client: RecordedClient) -> Iterator[tuple[str, object]]:
    yield "TLS", client.tls
    yield "certificates verified", client.certificates_verified
    yield "host names verified", client.host_names_verified
    yield "client certificate", client.client_certificate
    yield "authentication", client.authentication
    yield "compressed requests", client.compress
    # Older records lack it if it follows from the compression of requests.
    yield "accepted encoding", client.accept_encoding or ("gzip" if client.compress else "identity")
    yield "timeout in seconds", client.timeout_s
    yield "headers", client.headers


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
