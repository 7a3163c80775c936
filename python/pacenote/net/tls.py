"""TLS contexts of control traffic, made from `--client-options`."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.model.client_options import TlsOptions
from pacenote.net.hosts import HttpHost

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


def tls_context(tls: TlsOptions) -> ssl.SSLContext:
    """Returns the context for connections to hosts.

    Raises UsageError with the option and the unusable file.
    """
    if tls.ca_file:
        _read_pem("ca_certs", tls.ca_file, _CERTIFICATE)
    try:
        # Without verification, the system's certificates are not needed, and reading them takes time.
        context = (
            ssl.create_default_context(cafile=tls.ca_file)
            if tls.verify
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
    except OSError:
        raise _unusable("ca_certs", tls.ca_file or "", "its certificates cannot be read") from None
    # The same rules as in the driver, for all versions of Python: every certificate in `ca_file` is trusted,
    # not only self-signed ones, and deviations from RFC 5280 that do not affect trust are accepted.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    # In this order: check_hostname requires that certificates are verified.
    context.check_hostname = tls.verify and tls.verify_host
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.client_cert:
        _load_client_certificate(context, tls.client_cert, tls.client_key)
    return context


def proxy_context(tls: TlsOptions) -> ssl.SSLContext:
    """Returns the context for connections to a proxy, with the same rules as in the driver.

    The proxy's certificate is always verified, against the system's authorities and those in `ca_file`, and
    no client certificate is presented. Raises the same errors as `tls_context`.
    """
    context = tls_context(TlsOptions(ca_file=tls.ca_file))
    if tls.ca_file:
        context.load_default_certs()
    return context


def speaks_tls(host: HttpHost, timeout_s: float) -> bool:
    """Returns whether the port of a host answers a TLS handshake, successfully or not, within this time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host.host, host.port), timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=host.host),
        ):
            return True
    except ssl.SSLError as error:
        # Only a server that speaks TLS sends an alert.
        return "ALERT" in (error.reason or "")
    except (OSError, ValueError):
        return False


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    _read_pem("client_cert", certificate, _CERTIFICATE)
    option, file = ("client_key", key) if key else ("client_cert", certificate)
    text = _read_pem(option, file, "PRIVATE KEY-----")
    if "ENCRYPTED" in text:
        raise _unusable(option, file, "its key is encrypted; remove the passphrase with `openssl pkey`")
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        reason = getattr(error, "reason", "") or ""
        what = "it is not the key of client_cert" if "MISMATCH" in reason else "it cannot be read as PEM"
        raise _unusable(option, file, what) from None


def _read_pem(option: str, file: str, marker: str) -> str:
    try:
        text = Path(file).read_text("ascii", errors="replace")
    except OSError as error:
        raise _unusable(option, file, (error.strerror or "it cannot be read").lower()) from None
    if marker not in text:
        kind = "certificate" if marker == _CERTIFICATE else "private key"
        raise _unusable(option, file, f"it holds no {kind} in PEM format")
    return text


def _unusable(option: str, file: str, reason: str) -> UsageError:
    return UsageError(f"{option} of --client-options cannot be used: {file}: {reason}")
