"""The response that sends a file which is already open, or the part of it that the request asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter


class OpenFileResponse(web.FileResponse):
    """Sends exactly the file that was opened, and closes it.

    By the path of the file, the library would send a compressed neighbour (`x.log.gz` for `x.log`) to clients
    that accept one, or a file that has replaced the one that was checked.
    """

    def __init__(self, content: BinaryIO, headers: Mapping[str, str]) -> None:
        """`content` is the file, which is sent from its beginning."""
        # Nothing in this folder has the name of a descriptor with `.gz` or `.br`.
        super().__init__(f"/proc/self/fd/{content.fileno()}", headers=headers)
        self._content = content

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends the response."""
        try:
            return await super().prepare(request)
        finally:
            self._content.close()
