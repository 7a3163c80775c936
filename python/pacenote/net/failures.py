"""Plain descriptions of network failures, without the HTTP library's class names and memory addresses."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from urllib3.exceptions import ProxyError

PROXY_CREDENTIALS_HINT = "give the proxy's credentials in its URL: http://user:password@host:port"
"""The next step if a proxy responds with status 407."""

HTTPS_HINT = "write https:// in --target-hosts, or use_ssl:true in --client-options"
"""The next step if a host was addressed with http, but its port speaks TLS."""

_CA_HINT = "give the certificate of its authority as --client-options=ca_certs:FILE, or verify_certs:false"
_NAME_HINT = (
    "use a name that is in the certificate, or --client-options=ssl_assert_hostname:NAME, or "
    "ssl_assert_hostname:false"
)
_CLIENT_HINT = "give one that the cluster trusts: --client-options=client_cert:FILE,client_key:FILE"

_REJECTING_ALERTS = (
    *("unknown ca", "bad certificate", "certificate expired", "certificate revoked"),
    *("certificate unknown", "unsupported certificate", "access denied"),
)
"""TLS alerts from a server that does not accept the client's certificate, in OpenSSL's words."""


class FailureDescription(Struct, frozen=True):
    """The reason why a request failed, and what to do."""

    reason: str
    """The cause, as one clause."""
    hint: str = ""
    """The next step; empty if the reason is sufficient."""
    may_be_foreign: bool = False
    """Whether the server accepted the connection but did not answer in HTTP, so that it may expect a
    different protocol.
    """
    is_untrusted: bool = False
    """Whether the certificate of the server was rejected."""


def describe_failure(failure: BaseException) -> FailureDescription:
    """Describes a failure of urllib3 or of TLS."""
    if (tls := _tls_failure(failure)) is not None:
        return tls
    hint = PROXY_CREDENTIALS_HINT if "407" in str(failure) else ""
    return FailureDescription(_reason(failure), hint, _may_be_foreign(failure))


def _may_be_foreign(failure: BaseException) -> bool:
    import http.client

    import urllib3

    # RemoteDisconnected, for a connection that was closed instead of answered, is a ConnectionResetError too.
    kinds = (http.client.BadStatusLine, ConnectionResetError, urllib3.exceptions.ReadTimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(failure))


def _reason(failure: BaseException) -> str:
    import urllib3

    exceptions = urllib3.exceptions
    if isinstance(failure, exceptions.MaxRetryError) and failure.reason is not None:
        return _reason(failure.reason)
    if isinstance(failure, exceptions.ProxyError) and (reason := _tunnel_reason(failure)):
        return reason
    # The order matters: in urllib3, NameResolutionError is a subclass of NewConnectionError, which is a
    # subclass of ConnectTimeoutError.
    known: tuple[tuple[type[Exception], str | None], ...] = (
        (exceptions.NameResolutionError, "the host name cannot be resolved"),
        (exceptions.NewConnectionError, None),
        (exceptions.ConnectTimeoutError, "connecting timed out"),
        (exceptions.ReadTimeoutError, "the response timed out"),
        (exceptions.ProxyError, "the proxy does not answer"),
        (exceptions.IncompleteRead, "the response ended early"),
        (exceptions.DecodeError, "the response cannot be decompressed"),
    )
    known_reason = next((text for kind, text in known if isinstance(failure, kind)), None)
    return known_reason or _root_reason(failure)


def _tunnel_reason(failure: ProxyError) -> str:
    """Returns the response of a proxy that refused to open a tunnel, or an empty string for other
    failures.
    """
    _, mark, answer = str(failure.original_error).partition("Tunnel connection failed: ")
    return f"the proxy refused to open a tunnel: {answer}" if mark else ""


def _root_reason(failure: BaseException) -> str:
    import http.client

    root = failure
    while (cause := root.__cause__ or root.__context__) is not None:
        root = cause
    if isinstance(root, OSError) and root.strerror:
        return root.strerror.lower()
    if isinstance(root, http.client.IncompleteRead):
        return "the response ended early"
    if isinstance(root, http.client.HTTPException):
        return "the response is not HTTP"
    return str(root)


def _tls_failure(failure: BaseException) -> FailureDescription | None:
    """Returns the reason why a TLS handshake failed, or None for other failures."""
    error = next((cause for cause in _causes(failure) if isinstance(cause, ssl.SSLError)), None)
    if error is None:
        return None
    if isinstance(error, ssl.SSLCertVerificationError):
        return _rejected_certificate(error)
    reason = (error.reason or "").replace("_", " ").lower()
    if "certificate required" in reason or "handshake failure" in reason:
        return FailureDescription("it asks for a client certificate", _CLIENT_HINT)
    if any(f"alert {alert}" in reason for alert in _REJECTING_ALERTS):
        return FailureDescription("it does not accept the client certificate", _CLIENT_HINT)
    if reason in ("wrong version number", "record layer failure", "packet length too long", "http request"):
        return FailureDescription(
            "the port does not speak TLS", "write http:// in --target-hosts, or omit use_ssl"
        )
    if isinstance(error, ssl.SSLEOFError):
        # A server that rejects the handshake may close the connection before its alert is read.
        return FailureDescription(
            "it closed the connection during the TLS handshake",
            f"if it asks for a client certificate, {_CLIENT_HINT}",
        )
    return FailureDescription(
        f"the TLS handshake failed: {reason or 'no reason given'}", "check that the port speaks TLS"
    )


def _rejected_certificate(error: ssl.SSLCertVerificationError) -> FailureDescription:
    """Returns the reason why the client rejected the certificate of a host."""
    reason = (error.verify_message or "it cannot be verified").rstrip(".")
    if "ismatch" in reason:
        # OpenSSL's message is "Hostname mismatch, certificate is not valid for 'es'".
        return FailureDescription(
            f"its TLS certificate is for another name: {reason}", _NAME_HINT, is_untrusted=True
        )
    if "expired" in reason or "not yet valid" in reason:
        return FailureDescription(
            f"its TLS certificate is not valid now: {reason}",
            "renew it, check the clock of this host, or give --client-options=verify_certs:false",
            is_untrusted=True,
        )
    return FailureDescription(f"its TLS certificate is not trusted: {reason}", _CA_HINT, is_untrusted=True)


def _causes(failure: BaseException) -> Iterator[BaseException]:
    """Yields an error and all errors that caused it, which libraries store as arguments and as causes."""
    waiting, seen = [failure], set[int]()
    while waiting:
        error = waiting.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        linked = (error.__cause__, error.__context__, *error.args)
        waiting += [cause for cause in linked if isinstance(cause, BaseException)]
