"""A running server, and a client that behaves like a browser that has opened its address."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from pacenote.errors import PacenoteError
from pacenote.serve.page_maker import PageMaker, PageRequest
from pacenote.serve.server import ServeOptions, serve
from pacenote.store.race_store import RaceStore

PAGES = {"race": "page", "comparison": "comparison", "trend": "trend"}


class TestPageMaker:
    """Makes pages that name their races; a race named `broken` has none."""

    __test__ = False

    def __init__(self) -> None:
        self.made: list[str] = []
        self.is_closed = False

    async def make(self, request: PageRequest) -> bytes:
        baseline, contender = (",".join(side) for side in (request.baseline, request.contender))
        self.made.append(contender if request.kind == "race" else request.kind)
        if contender == "broken":
            raise PacenoteError(f"it has no {PAGES[request.kind]}", hint="look elsewhere")
        if contender == "defect":
            raise LookupError("oh")
        texts = {
            "race": f"made for {contender}",
            "comparison": f"{baseline} against {contender}",
            "trend": f"trend of {contender}",
        }
        return f"<p>{texts[request.kind]}</p>".encode()

    async def close(self) -> None:
        self.is_closed = True


class Site:
    """A server of a store in a thread of its own, and a client with its cookie."""

    def __init__(self, home: Path, pages: PageMaker | None = None, *, host: str = "", port: int = 0) -> None:
        """`pages` makes the pages instead of `maker`."""
        self._listens_at = (host, port)
        self.store = RaceStore(home)
        self.maker = TestPageMaker()
        self._pages = pages or self.maker
        self.warnings: list[str] = []
        self.address = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),))
        self._cookie = ""

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._options = ServeOptions(
            *self._listens_at, self._announce, self.warnings.append, live_interval_s=0.01
        )
        await serve(self.store, self._pages, self._options)

    def _announce(self, address: str) -> None:
        self.address = address
        self._ready.set()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._options.stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def root(self) -> str:
        return urlsplit(self.address).path

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def connect(self) -> HTTPConnection:
        return HTTPConnection(self.host, timeout=10)

    def send(
        self, method: str, path: str, headers: dict[str, str], body: str = ""
    ) -> tuple[HTTPResponse, str]:
        """Sends a request without a cookie, and returns the response with its text."""
        connection = self.connect()
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    @property
    def cookie(self) -> str:
        """The cookie, for which the address is opened once."""
        if not self._cookie:
            split = urlsplit(self.address)
            response, _ = self.send("GET", f"{split.path}?{split.query}", {})
            self._cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        return self._cookie

    def get(self, path: str = "", **headers: str) -> tuple[HTTPResponse, str]:
        """Gets a path below the root as a page of the server does."""
        own = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        return self.send("GET", f"{self.root}{path}", own | headers)

    def page(self, path: str = "") -> str:
        """Returns a page that must exist."""
        response, text = self.get(path)
        assert response.status == 200, text
        return text

    def post(self, path: str, form: dict[str, str], **headers: str) -> tuple[HTTPResponse, str]:
        """Posts a form as a page of the server does."""
        own = {
            "Cookie": self.cookie,
            "Origin": f"http://{self.host}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.send("POST", f"{self.root}{path}", own | headers, urlencode(form))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "home")
    site.start()
    try:
        yield site
    finally:
        site.stop()
