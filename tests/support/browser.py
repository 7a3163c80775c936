"""Chromium for tests, through its debugging protocol: cookies, sizes, schemes, and what pages log."""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
)
_LISTENING = re.compile(rb"DevTools listening on (ws://\S+)")
_TIMEOUT_S = 60.0


class BrowserPage:
    """One page of a running browser."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.logged: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []

    async def open(self) -> None:
        target = await self.call("Target.createTarget", url="about:blank")
        session = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the protocol, and notes the events that arrive before its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        while (received := await self._receive()).get("id") != number:
            self._events.append(received)
        assert "error" not in received, received
        result: dict[str, Any] = received["result"]
        return result

    async def go(self, address: str) -> None:
        """Opens an address, and waits until the page is loaded."""
        self._events.clear()
        await self.call("Page.navigate", url=address)
        await self.event("Page.loadEventFired")

    async def event(self, name: str) -> dict[str, Any]:
        """Waits for an event."""
        while True:
            for position, event in enumerate(self._events):
                if event.get("method") == name:
                    del self._events[: position + 1]
                    return event
            self._events.append(await self._receive())

    async def value(self, expression: str) -> Any:
        """Returns the value of an expression in the page, which may be a promise."""
        reply = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    async def until(self, expression: str) -> None:
        """Waits until an expression is true."""
        async with asyncio.timeout(_TIMEOUT_S):
            while not await self.value(expression):
                await asyncio.sleep(0.05)

    async def show_as(self, width: int, scheme: str) -> None:
        """Selects the width of the window and `light` or `dark`."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.call("Emulation.setEmulatedMedia", features=[feature])

    async def screenshot(self, file: Path) -> None:
        """Stores a picture of the window."""
        reply = await self.call("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(reply["data"]))

    async def _receive(self) -> dict[str, Any]:
        async with asyncio.timeout(_TIMEOUT_S):
            received: dict[str, Any] = await self._socket.receive_json()
        if received.get("method") == "Log.entryAdded":
            self.logged.append(received["params"]["entry"]["text"])
        if received.get("method") == "Runtime.exceptionThrown":
            self.logged.append(str(received["params"]["exceptionDetails"]))
        return received


@asynccontextmanager
async def browser_page(profile: Path) -> AsyncIterator[BrowserPage]:
    """Starts Chromium and yields a page of it. Check `CHROMIUM` first."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *_OPTIONS,
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(_TIMEOUT_S):
            while not (match := _LISTENING.search(line := await process.stderr.readline())):
                assert line, "Chromium has ended"
        drain = asyncio.create_task(process.stderr.read())
        async with (
            ClientSession() as session,
            session.ws_connect(match[1].decode(), max_msg_size=0) as socket,
        ):
            page = BrowserPage(socket)
            await page.open()
            yield page
        process.terminate()
        await process.wait()
        await drain
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
