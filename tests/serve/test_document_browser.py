"""The pages of the server in Chromium, if it is installed: cookie, policies, live updates, accessibility.

The rules of axe-core come from the npm registry; they are not part of Pacenote.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlencode, urlsplit

import pytest
from msgspec.structs import replace

from pacenote.model.race_record import RecordedTrack
from report.render.test_flame_graph import HOSTILE
from report.render.test_race_page_browser import axe as axe  # a fixture
from serve.conftest import Site
from serve.test_live_updates import PROGRESS, RunningRace
from support.browser import CHROMIUM, BrowserPage, browser_page
from support.records import BEGAN, bulk, record

pytestmark = pytest.mark.process

RUN_AXE = """
axe.run(document, { resultTypes: ["violations"], iframes: false }).then((found) => JSON.stringify(
  found.violations.map((each) => ({ id: each.id, nodes: each.nodes.map((node) => node.html) }))))
"""
_PHONE, _DESK = 420, 1280


@pytest.fixture
def full_site(site):
    """A server with a race, one with hostile names, and one that runs."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: the pages of the server are not tested in a browser")
    year = BEGAN.replace(year=2027)
    site.store.create(record("plain", tasks=(bulk(),))).write_page("<!DOCTYPE html><h1>Stored</h1>")
    site.store.create(record("hostile", track=RecordedTrack(HOSTILE), timestamp=year))
    return site


@asynccontextmanager
async def opened(site, profile) -> AsyncIterator[BrowserPage]:
    """Opens the printed address, which leads to the list."""
    async with browser_page(profile) as page:
        await page.go(site.address)
        await page.until("location.search === '' && document.querySelector('table.races') !== null")
        yield page


def base(site) -> str:
    return f"http://{site.host}{site.root}"


def test_the_address_leads_to_pages_without_errors(full_site, tmp_path):
    async def run():
        async with opened(full_site, tmp_path / "profile") as page:
            assert await page.value("document.cookie") == ""
            await page.value("document.querySelector('.track a[href$=plain]').click()")
            await page.until("document.querySelector('iframe') !== null")
            # The frame has an origin of its own.
            assert await page.value("document.querySelector('iframe').contentDocument") is None
            await page.go(f"{base(full_site)}race/plain/notes")
            await page.until("document.getElementById('message') !== null")
            await page.value("document.getElementById('message').value = 'a new disk'")
            await page.value("document.querySelector('form.add button').click()")
            await page.until("document.querySelector('.notes li') !== null")
            await page.value("document.querySelector('.notes button').click()")
            await page.until(
                "document.querySelector('.notes li') === null && document.querySelector('.empty') !== null"
            )
            assert page.logged == []

    asyncio.run(run())


def test_a_running_race_is_followed_to_its_report(full_site, tmp_path):
    async def run():
        race = RunningRace(full_site.store)
        async with opened(full_site, tmp_path / "profile") as page:
            await page.go(f"{base(full_site)}race/race-1")
            await page.until("document.body?.textContent.includes('being prepared') ?? false")
            race.begin()
            await page.until("document.querySelector('progress') !== null")
            for rate in (10.0, 20.0):
                task = replace(PROGRESS.tasks[0], task=HOSTILE, rate=rate)
                race.file.write(replace(PROGRESS, tasks=(task,)))
                await asyncio.sleep(0.05)
            await page.until("document.querySelector('.spark') !== null")
            # The page is loaded again when tasks begin, and has no part while it is parsed.
            await page.until("document.getElementById('running')?.textContent.includes('alert(1)') ?? false")
            race.end()
            await page.until("document.querySelector('iframe') !== null")
            assert page.logged == []

    asyncio.run(run())


WORKER = """const seen = [];
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (event.request.url.endsWith('/seen')) event.respondWith(new Response(JSON.stringify(seen)));
  else seen.push(event.request.url);
});"""
"""Lets all requests through, and tells what they were."""


class OtherServer(BaseHTTPRequestHandler):
    """What another user's server answers: events, a worker, and a page that registers it."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        page = "<!DOCTYPE html><script>navigator.serviceWorker.register('/worker.js')</script>"
        kind, text = "text/html", page
        if self.path.endswith("/events"):
            parts = {"status": "forged"}
            events = [{"key": "0" * 64, "parts": parts, "ended": ended} for ended in (False, True)]
            kind, text = "text/event-stream", "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        elif self.path == "/worker.js":
            kind, text = "text/javascript", WORKER
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextmanager
def other_server(host: str, port: int) -> Iterator[list[str]]:
    """Runs it at an address, and yields what it is asked for."""
    OtherServer.asked.clear()
    with ThreadingHTTPServer((host, port), OtherServer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield OtherServer.asked
        finally:
            server.shutdown()
            thread.join()


def test_a_page_that_stays_open_obeys_no_other_server_at_its_address(full_site, tmp_path):
    async def run():
        race = RunningRace(full_site.store)
        race.begin()
        race.file.write(replace(PROGRESS, elapsed_s=21.0))
        address = urlsplit(full_site.address)
        async with opened(full_site, tmp_path / "profile") as page:
            await page.go(f"{base(full_site)}race/race-1")
            await page.until("(document.getElementById('status')?.textContent ?? '').includes('21 s so far')")
            await asyncio.to_thread(full_site.stop)
            with other_server(address.hostname, address.port) as asked:
                while not asked:
                    await asyncio.sleep(0.05)
                await page.until("!document.getElementById('lost').hidden")
                await asyncio.sleep(0.5)
                assert "21 s so far" in await page.value("document.getElementById('status').textContent")
                assert asked == [f"{address.path}race/race-1/events"]

    asyncio.run(run())


@pytest.mark.parametrize("host", ["", "127.0.0.1"], ids=["by default", "with --host"])
def test_a_worker_that_another_user_has_left_sees_no_later_start(full_site, tmp_path, host):
    """It belongs to a host and a port, and stays in the profile of the browser. Only an address that the user
    names can be one that others have had before.
    """

    async def run():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with browser_page(tmp_path / "profile") as page:
            with other_server("127.0.0.1", port):
                await page.go(f"http://127.0.0.1:{port}/")
                await page.until("navigator.serviceWorker.controller !== null")
            later = Site(full_site.store.home, host=host, port=port)
            later.start()
            try:
                await page.go(later.address)
                await page.until("location.search === '' && document.querySelector('table.races') !== null")
            finally:
                later.stop()
            await page.go(f"http://127.0.0.1:{port}/seen")
            seen = json.loads(await page.value("document.body.textContent"))
        assert (later.address in seen) == bool(host), seen

    asyncio.run(run())


HIDE = """
Object.defineProperty(document, "hidden", { configurable: true, get: () => %s });
document.dispatchEvent(new Event("visibilitychange"));
"""
"""As if the user selected another tab, or this one again."""


def test_a_hidden_page_has_no_connection_and_a_shown_one_is_up_to_date(full_site, tmp_path):
    async def run():
        race = RunningRace(full_site.store)
        race.begin()
        # A page that is still being parsed has none.
        status = "(document.getElementById('status')?.textContent ?? '')"
        async with opened(full_site, tmp_path / "profile") as page:
            await page.go(f"{base(full_site)}race/race-1")
            for seconds in (21, 22):
                race.file.write(replace(PROGRESS, elapsed_s=float(seconds)))
                await page.until(f"{status}.includes('{seconds} s so far')")
                await page.value(HIDE % "true")
                race.file.write(replace(PROGRESS, elapsed_s=40.0))
                # It would be shown after 10 ms.
                await asyncio.sleep(0.5)
                assert f"{seconds} s so far" in await page.value(status)
                await page.value(HIDE % "false")
                await page.until(f"{status}.includes('40 s so far')")
            assert page.logged == []

    asyncio.run(run())


def test_pages_are_accessible_and_fit_a_phone(full_site, axe, tmp_path):
    race = RunningRace(full_site.store)
    race.begin()
    query = urlencode({"baseline": "plain", "contender": "race-1"})
    paths = (
        "",
        f"?{query}&search=x",
        "race/plain",
        "race/plain/files",
        "race/plain/notes",
        "race/race-1",
        f"compare?{query}",
    )

    async def run():
        violations = []
        async with opened(full_site, tmp_path / "profile") as page:
            for path in paths:
                await page.go(base(full_site) + path)
                await page.value(f"{axe}; true")
                for width, scheme in ((_DESK, "light"), (_DESK, "dark"), (_PHONE, "light"), (_PHONE, "dark")):
                    await page.show_as(width, scheme)
                    assert await page.value("document.documentElement.scrollWidth <= innerWidth"), (
                        path,
                        width,
                    )
                    problems = json.loads(await page.value(RUN_AXE))
                    violations += [(path, width, scheme, problem) for problem in problems]
            assert page.logged == []
        return violations

    assert asyncio.run(run()) == []
