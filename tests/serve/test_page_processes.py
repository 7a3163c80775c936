"""Pages are made in processes that end at a limit, with their request, and with the server."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from pacenote.errors import PacenoteError
from pacenote.serve.page_maker import PageRequest
from pacenote.serve.page_processes import PageProcesses
from serve.conftest import Site
from support.records import record

PROGRAM = """
import os, pathlib, resource, sys
from pacenote.errors import PacenoteError, StoreError
from pacenote.serve.page_process import answer_requests

own_output = os.dup(1)
kept = []

def make(request):
    (race,) = request["contender"]
    pathlib.Path(request["folder"], f"{race}-{os.getpid()}").touch()
    if race == "endless":
        while True: pass
    if race == "large":
        return "x" * (1 << 30)
    if race == "many":
        parts = []
        for _ in range(2_000): parts.append(" " * 1_000_000)
    if race == "small":
        parts = []
        for _ in range(20_000_000): parts.append(" " * 100 + str(len(parts)))
    if race == "keeps":
        kept.append(bytes(150_000_000))
    if race == "aborted":
        os.abort()
    if race == "exits":
        os._exit(1)
    if race == "limits":
        return str([resource.getrlimit(which)[0] for which in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)])
    if race == "killed":
        os.kill(os.getpid(), 9)
    if race == "cut":
        os.write(own_output, b"page 100\\n<p>")
        os.kill(os.getpid(), 9)
    if race == "broken":
        raise PacenoteError("it has no page", hint="look elsewhere")
    if race == "missing":
        raise StoreError("it is not there")
    if race == "defect":
        raise LookupError("oh")
    print("a library prints")
    return f"<p>{race} {request['kind']}</p>" + "x" * 300_000

answer_requests(make, 256 << 20)
"""
"""Makes pages, and leaves a file with the id of the race and that of the process for each."""


class Pages:
    """A server whose pages are made in processes, and what these leave."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        self.folder = folder / "made"
        self.folder.mkdir()
        command = (sys.executable, "-P", "-c", PROGRAM)
        processes = PageProcesses(command, {"folder": str(self.folder)}, limit_s)
        self.site = Site(folder / "home", processes)

    def create(self, *names: str) -> None:
        """Stores races with these ids."""
        for name in names:
            self.site.store.create(record(name))

    def makers(self, race: str) -> list[int]:
        """Returns the ids of the processes that have begun to make the page of a race."""
        return [int(path.name.rpartition("-")[2]) for path in self.folder.glob(f"{race}-*")]

    def begin(self, race: str) -> HTTPConnection:
        """Asks for the report of a race, and returns when a process makes it."""
        before = len(self.makers(race))
        connection = self.site.connect()
        headers = {"Cookie": self.site.cookie, "Sec-Fetch-Site": "same-origin"}
        connection.request("GET", f"{self.site.root}race/{race}/report.html", headers=headers)
        eventually(lambda: len(self.makers(race)) > before)
        return connection


def eventually(holds: Callable[[], bool]) -> None:
    """Waits until something holds."""
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it does not happen")


def has_ended(pid: int) -> bool:
    """Returns whether a process has ended, and is reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@contextmanager
def serving(folder: Path, limit_s: float = 1_000.0) -> Iterator[Pages]:
    pages = Pages(folder, limit_s)
    pages.site.start()
    try:
        yield pages
    finally:
        pages.site.stop()


def test_a_process_makes_one_page_after_the_other(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("one", "two")
        for name in ("one", "two"):
            text = pages.site.page(f"race/{name}/report.html")
            assert text == f"<p>{name} race</p>{'x' * 300_000}"
        assert pages.makers("one") == pages.makers("two")
    assert has_ended(*pages.makers("one"))


def test_what_is_wrong_with_a_page_is_shown(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("broken", "missing", "defect")
        statuses = {"broken": 422, "missing": 404, "defect": 500}
        texts = {
            "broken": "look elsewhere",
            "missing": "it is not there",
            "defect": "Pacenote: LookupError: oh",
        }
        for name, status in statuses.items():
            response, text = pages.site.get(f"race/{name}/report.html")
            assert (response.status, texts[name] in text) == (status, True)
        assert pages.site.warnings == ["a defect of Pacenote: LookupError: oh"]


def test_a_page_that_takes_long_is_stopped(tmp_path):
    with serving(tmp_path, limit_s=1.0) as pages:
        pages.create("endless", "other")
        response, text = pages.site.get("race/endless/report.html")
        assert response.status == 422
        assert "this page was stopped after 1 s of processor time" in text
        assert has_ended(*pages.makers("endless"))
        # Each page has the whole limit.
        assert "other" in pages.site.page("race/other/report.html")


@pytest.mark.parametrize("race", ["large", "many", "small"])
def test_a_page_that_needs_much_memory_is_stopped(tmp_path, race):
    with serving(tmp_path) as pages:
        pages.create(race, "other")
        response, text = pages.site.get(f"race/{race}/report.html")
        assert response.status == 422
        assert "this page needs more than 256.0 MiB of memory: a file may be damaged" in text
        assert "other" in pages.site.page("race/other/report.html")
        # What the process keeps would leave the next page less memory.
        assert pages.makers("other") != pages.makers(race)
        eventually(lambda: has_ended(*pages.makers(race)))


def test_a_process_that_keeps_much_memory_makes_no_other_page(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("keeps", "other")
        for race in ("keeps", "other"):
            assert race in pages.site.page(f"race/{race}/report.html")
        assert pages.makers("other") != pages.makers("keeps")


IMPORTING = """
import os
from pacenote.serve.page_process import answer_requests

def make(request):
    import numpy, scipy.linalg, scipy.special
    threads = len(os.listdir("/proc/self/task"))
    return f"{os.environ['OPENBLAS_NUM_THREADS']} {threads}"

answer_requests(make)
"""
"""Imports what pages need, within the usual limit."""


def test_libraries_map_no_memory_for_many_processors(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "64")

    async def page() -> bytes:
        processes = PageProcesses((sys.executable, "-P", "-c", IMPORTING), {}, 1_000.0)
        try:
            return await processes.make(PageRequest("race", ("one",)))
        finally:
            await processes.close()

    assert asyncio.run(page()) == b"1 1"


def test_limits_of_the_user_are_not_raised(tmp_path):
    own = {resource.RLIMIT_DATA: 200 << 20, resource.RLIMIT_CPU: 500}
    program = "import resource\n" + "".join(
        f"resource.setrlimit({which}, ({limit}, resource.getrlimit({which})[1]))\n"
        for which, limit in own.items()
    )

    async def pages() -> list[str]:
        makers = Makers(tmp_path, program=program + PROGRAM)
        try:
            return [await makers.make("limits") for _ in range(2)]
        finally:
            await makers.close()

    assert asyncio.run(pages()) == [str(list(own.values()))] * 2


@pytest.mark.parametrize(
    ("race", "end"), [("killed", "signal 9"), ("aborted", "signal 6"), ("exits", "status 1")]
)
def test_the_end_of_a_process_is_that_of_its_page_alone(tmp_path, race, end):
    with serving(tmp_path) as pages:
        pages.create(race, "one", "two")
        # In a new process, and in one that has made a page.
        for other in ("one", "two"):
            response, text = pages.site.get(f"race/{race}/report.html")
            assert response.status == 422
            assert f"the process that made this page has ended with {end}" in text
            assert "there may be too little memory, a file may be damaged, or Pacenote may have" in text
            assert other in pages.site.page(f"race/{other}/report.html")


def test_a_process_that_is_killed_is_replaced(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("killed", "one", "two")
        assert "this page has ended with signal 9" in pages.site.get("race/killed/report.html")[1]
        pages.site.page("race/one/report.html")
        # While it waits for a request, too.
        (idle,) = pages.makers("one")
        os.kill(idle, signal.SIGKILL)
        eventually(lambda: has_ended(idle))
        assert "two" in pages.site.page("race/two/report.html")


class Makers:
    """Processes that make pages without a server, and what they leave."""

    def __init__(self, folder: Path, limit_s: float = 1_000.0, program: str = PROGRAM) -> None:
        self._folder = folder
        command = (sys.executable, "-P", "-c", program)
        self._processes = PageProcesses(command, {"folder": str(folder)}, limit_s)

    async def make(self, race: str) -> str:
        return (await self._processes.make(PageRequest("race", (race,)))).decode()

    def of(self, race: str) -> list[int]:
        """Returns the ids of the processes that have begun to make the page of a race."""
        return [int(path.name.rpartition("-")[2]) for path in self._folder.glob(f"{race}-*")]

    async def close(self) -> None:
        await self._processes.close()


def runs(pid: int) -> bool:
    """Returns whether a process has not ended; one that has may not be reaped yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_a_process_that_was_killed_while_it_waited_is_replaced_before_its_end_is_known(tmp_path):
    async def pages() -> None:
        makers = Makers(tmp_path)
        await makers.make("one")
        (idle,) = makers.of("one")
        os.kill(idle, signal.SIGKILL)
        # The event loop does not run meanwhile.
        eventually(lambda: not runs(idle))
        assert "two" in await makers.make("two")
        assert idle not in makers.of("two")
        await makers.close()

    asyncio.run(pages())


@pytest.mark.parametrize(
    ("race", "makers_of_it", "reason"),
    [("killed", 2, "signal 9"), ("cut", 1, "signal 9"), ("endless", 1, "1 s of processor time")],
)
def test_a_page_is_tried_again_once_if_it_may_not_have_been_begun(tmp_path, race, makers_of_it, reason):
    """Not if its process has begun to reply, or has used up its time."""

    async def pages() -> None:
        makers = Makers(tmp_path, limit_s=1.0)
        await makers.make("one")
        with pytest.raises(PacenoteError, match=reason):
            await makers.make(race)
        assert len(makers.of(race)) == makers_of_it
        await makers.close()

    asyncio.run(pages())


def test_a_page_that_takes_long_keeps_no_other_waiting(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("endless", "other")
        with closing(pages.begin("endless")):
            assert "other" in pages.site.page("race/other/report.html")


def test_a_page_is_not_made_for_a_browser_that_has_left(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("endless", "other")
        for _ in range(3):
            pages.begin("endless").close()
            eventually(lambda: all(map(has_ended, pages.makers("endless"))))
        assert "other" in pages.site.page("race/other/report.html")


def test_several_requests_for_a_page_make_it_once(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("endless")
        first = pages.begin("endless")
        second = pages.site.connect()
        headers = {"Cookie": pages.site.cookie, "Sec-Fetch-Site": "same-origin"}
        second.request("GET", f"{pages.site.root}race/endless/report.html", headers=headers)
        assert "Races" in pages.site.page()
        assert len(pages.makers("endless")) == 1
        # The second one does not get what the first one has left.
        first.close()
        eventually(lambda: len(pages.makers("endless")) == 2)
        second.close()


def test_the_end_of_the_server_ends_what_makes_pages(tmp_path):
    with serving(tmp_path) as pages:
        pages.create("endless", "other")
        pages.site.page("race/other/report.html")
        connection = pages.begin("endless")
    connection.close()
    assert all(map(has_ended, pages.makers("endless") + pages.makers("other")))
