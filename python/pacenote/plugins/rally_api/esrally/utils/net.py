"""Downloads."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from pacenote.plugins.tools import current_tools

ProgressIndicator = Callable[[int, int | None], object]


class Progress:
    """Progress of a download, which is not shown: it would disturb that of the race."""

    def __init__(self, msg: str, accuracy: int = 0) -> None:
        self.msg = msg
        self.accuracy = accuracy

    def __call__(self, bytes_read: int, bytes_total: int | None) -> None:
        """Does nothing."""

    def finish(self) -> None:
        """Does nothing."""


def init() -> None:
    """Does nothing."""


def download_http(
    url: str,
    local_path: str,
    expected_size_in_bytes: int | None = None,
    progress_indicator: ProgressIndicator | None = None,
) -> int | None:
    """Downloads a file over HTTP, and returns its size in bytes."""
    current_tools().download(url, local_path, expected_size_in_bytes)
    size = os.path.getsize(local_path)  # noqa: PTH202
    if progress_indicator is not None:
        progress_indicator(size, size)
    return size


download = download_http
"""Downloads a file from any kind of URL that a corpus may use."""


def retrieve_content_as_string(url: str) -> str:
    """Downloads a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        current_tools().download(url, str(path), None)
        return path.read_text(encoding="utf-8")


def resolve(hostname_or_ip: str) -> str | None:
    """Returns the IPv4 address of a host, or None if it has none apart from the loopback interface."""
    if hostname_or_ip and hostname_or_ip.startswith("127"):
        return hostname_or_ip
    infos = socket.getaddrinfo(hostname_or_ip, None, socket.AF_INET, socket.SOCK_STREAM)
    addresses = (str(address[0]) for *_, address in infos)
    return next((address for address in addresses if not address.startswith("127")), None)
