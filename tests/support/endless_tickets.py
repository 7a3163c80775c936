"""A server of TLS 1.3 that answers a request with session tickets without end.

Python's `ssl` cannot send tickets at will: the records are encrypted with libcrypto.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import hmac
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.secure import CERTIFICATES

_TICKET = b"\x04" + (14).to_bytes(3, "big") + struct.pack(">II", 7200, 1) + b"\0\0\1T\0\0"
_HANDSHAKE = b"\x16"
_TAG_BYTES = 16
_GET_TAG = 0x10


@contextmanager
def endless_tickets(folder: Path) -> Iterator[int]:
    """Yields the port of a server with the certificate of the tests' engine; `folder` gets its secrets.

    The test is skipped without a libcrypto.
    """
    name = ctypes.util.find_library("crypto")
    if name is None:
        pytest.skip("there is no libcrypto")
    crypto = ctypes.CDLL(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, crypto, folder / "secrets"), daemon=True).start()
        yield listener.getsockname()[1]


def _serve(listener: socket.socket, crypto: ctypes.CDLL, secrets: Path) -> None:
    with suppress(OSError):
        while True:
            with suppress(ConnectionError), listener.accept()[0] as connection:
                _flood(connection, crypto, secrets)


def _flood(connection: socket.socket, crypto: ctypes.CDLL, secrets: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    secrets.write_text("")
    context.keylog_filename = str(secrets)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)

    def step(action: str) -> bytes:
        while True:
            try:
                result = tls.read(65536) if action == "read" else tls.do_handshake()
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                received = connection.recv(65536)
                if not received:
                    raise ConnectionError from None
                incoming.write(received)
            else:
                connection.sendall(outgoing.read())
                return result or b""

    step("handshake")
    step("read")
    cipher = tls.cipher()
    assert cipher is not None
    lines = [line.split() for line in secrets.read_text().splitlines()]
    secret = next(bytes.fromhex(line[2]) for line in lines if line[0] == "SERVER_TRAFFIC_SECRET_0")
    for record in _records(crypto, secret, 32 if "AES_256" in cipher[0] else 16):
        connection.sendall(record)


def _records(crypto: ctypes.CDLL, secret: bytes, key_bytes: int) -> Iterator[bytes]:
    """Yields records of tickets, encrypted with AES-GCM."""
    digest = "sha384" if len(secret) == 48 else "sha256"
    key = _expand(secret, b"key", key_bytes, digest)
    iv = int.from_bytes(_expand(secret, b"iv", 12, digest), "big")
    plain = _TICKET * (16_000 // len(_TICKET)) + _HANDSHAKE
    head = b"\x17\x03\x03" + (len(plain) + _TAG_BYTES).to_bytes(2, "big")
    for name in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm", "EVP_aes_128_gcm"):
        getattr(crypto, name).restype = ctypes.c_void_p
    method = crypto.EVP_aes_256_gcm() if key_bytes == 32 else crypto.EVP_aes_128_gcm()
    context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
    length, tag = ctypes.c_int(), ctypes.create_string_buffer(_TAG_BYTES)
    encrypted = ctypes.create_string_buffer(len(plain))
    sequence = 0
    while True:
        nonce = (iv ^ sequence).to_bytes(12, "big")
        crypto.EVP_EncryptInit_ex(context, ctypes.c_void_p(method), None, key, nonce)
        crypto.EVP_EncryptUpdate(context, None, ctypes.byref(length), head, len(head))
        crypto.EVP_EncryptUpdate(context, encrypted, ctypes.byref(length), plain, len(plain))
        crypto.EVP_EncryptFinal_ex(context, tag, ctypes.byref(length))
        crypto.EVP_CIPHER_CTX_ctrl(context, _GET_TAG, _TAG_BYTES, tag)
        yield head + encrypted.raw + tag.raw
        sequence += 1


def _expand(secret: bytes, label: bytes, length: int, digest: str) -> bytes:
    """HKDF-Expand-Label of TLS 1.3, for at most the length of the digest."""
    name = b"tls13 " + label
    about = struct.pack(">HB", length, len(name)) + name + b"\0"
    return hmac.new(secret, about + b"\1", getattr(hashlib, digest)).digest()[:length]
