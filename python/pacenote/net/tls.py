"""TLS of control traffic: whom to trust and what to show, checked before anything starts; and what a failed
handshake means, in plain words.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.model.client_options import TlsOptions

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"

_CA_HINT = "give the certificate of its authority as --client-options=ca_certs:FILE, or verify_certs:false"
_NAME_HINT = (
    "use a name that is in the certificate, or --client-options=ssl_assert_hostname:NAME, or "
    "ssl_assert_hostname:false"
)
_CLIENT_HINT = "give one that the cluster trusts: --client-options=client_cert:FILE,client_key:FILE"

_REJECTED = (
    *("unknown ca", "bad certificate", "certificate expired", "certificate revoked"),
    *("certificate unknown", "unsupported certificate", "access denied"),
)
"""Alerts of a server that does not like the client's certificate, in OpenSSL's words."""


def tls_context(tls: TlsOptions) -> ssl.SSLContext:
    """What Python's TLS needs to know. Raises UsageError naming the option and the file that is wrong."""
    if tls.ca_file:
        _readable("ca_certs", tls.ca_file, _CERTIFICATE)
    try:
        # Reading all that the system trusts takes time.
        context = (
            ssl.create_default_context(cafile=tls.ca_file)
            if tls.verify
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
    except OSError:
        raise _unusable("ca_certs", tls.ca_file or "", "its certificates cannot be read") from None
    # As the driver does, whatever the version of Python: any certificate given is trusted, not roots only,
    # and what makes no difference to trust is not insisted on.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    # In this order: a context that looks at names insists on looking at certificates.
    context.check_hostname = tls.verify and tls.verify_host
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.client_cert:
        _show(context, tls.client_cert, tls.client_key)
    return context


def proxy_context(tls: TlsOptions) -> ssl.SSLContext:
    """The same for a proxy before the hosts, as the driver has it: always verified, by those whom the system
    trusts or `ca_file` names, and shown nothing. Raises as `tls_context`.
    """
    context = tls_context(TlsOptions(ca_file=tls.ca_file))
    if tls.ca_file:
        context.load_default_certs()
    return context


def _show(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    _readable("client_cert", certificate, _CERTIFICATE)
    name, file = ("client_key", key) if key else ("client_cert", certificate)
    text = _readable(name, file, "PRIVATE KEY-----")
    if "ENCRYPTED" in text:
        raise _unusable(name, file, "its key is encrypted; take the passphrase off with `openssl pkey`")
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        reason = getattr(error, "reason", "") or ""
        what = "it is not the key of client_cert" if "MISMATCH" in reason else "it cannot be read as PEM"
        raise _unusable(name, file, what) from None


def _readable(name: str, file: str, mark: str) -> str:
    try:
        text = Path(file).read_text("ascii", errors="replace")
    except OSError as error:
        raise _unusable(name, file, (error.strerror or "it cannot be read").lower()) from None
    if mark not in text:
        kind = "certificate" if mark == _CERTIFICATE else "private key"
        raise _unusable(name, file, f"it holds no {kind} in PEM format")
    return text


def _unusable(name: str, file: str, why: str) -> UsageError:
    return UsageError(f"{name} of --client-options cannot be used: {file}: {why}")


def tls_failure(failure: BaseException) -> tuple[str, str] | None:
    """Why a handshake failed, and what to do; None when it was something else."""
    found = next((each for each in _causes(failure) if isinstance(each, ssl.SSLError)), None)
    if found is None:
        return None
    if isinstance(found, ssl.SSLCertVerificationError):
        return _distrust(found)
    reason = (found.reason or "").replace("_", " ").lower()
    if "certificate required" in reason or "handshake failure" in reason:
        return "it asks for a client certificate", _CLIENT_HINT
    if any(f"alert {words}" in reason for words in _REJECTED):
        return "it does not accept our client certificate", _CLIENT_HINT
    if reason in ("wrong version number", "record layer failure", "packet length too long", "http request"):
        return "the port does not speak TLS", "write http:// in --target-hosts, or leave use_ssl out"
    if isinstance(found, ssl.SSLEOFError):
        # A server that refuses us may have gone before its reason was read.
        return "it cut the TLS connection off", f"if it wants a certificate of ours, {_CLIENT_HINT}"
    return f"the TLS handshake failed: {reason or 'no reason given'}", "check that the port speaks TLS"


def _distrust(error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    """The certificate of the host was refused by us."""
    said = (error.verify_message or "it cannot be verified").rstrip(".")
    if "ismatch" in said:
        # As OpenSSL says it: "Hostname mismatch, certificate is not valid for 'es'".
        return f"its TLS certificate is for another name: {said}", _NAME_HINT
    if "expired" in said or "not yet valid" in said:
        return f"its TLS certificate is not valid now: {said}", (
            "renew it, check the clock of this host, or give --client-options=verify_certs:false"
        )
    return f"its TLS certificate is not trusted: {said}", _CA_HINT


def _causes(failure: BaseException) -> Iterator[BaseException]:
    """An error and all it was made of; libraries wrap them as arguments and as causes."""
    waiting, seen = [failure], set[int]()
    while waiting:
        error = waiting.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        linked = (error.__cause__, error.__context__, *error.args)
        waiting += [each for each in linked if isinstance(each, BaseException)]
