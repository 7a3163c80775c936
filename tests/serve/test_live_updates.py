"""A page of a running race gets what changes, from one reader for all pages, until the race has ended."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import aclosing
from http.client import HTTPResponse

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.model.race_progress import RaceProgress, RetryWait, TaskProgress, TimeLeft
from pacenote.serve import live_updates
from pacenote.serve.live_page import running_parts
from pacenote.serve.live_race import LiveReader
from pacenote.serve.live_updates import LiveUpdates
from pacenote.store.progress_file import ProgressFile
from pacenote.store.race_store import RaceStore
from report.render.test_flame_graph import HOSTILE, Page
from support.records import bulk, record

TASK = TaskProgress("term", "ops", False, 0.25, 49.0, 4.5, 9.5, 500, 2, 30.0, target=50.0)
PROGRESS = RaceProgress(2, 3, 12.0, (TASK,), left=TimeLeft(90.0, complete=False))
PLAN = {
    "tasks": [{"name": "index-append"}, {"name": "term"}, {"name": "sort"}],
    "steps": [{"client_allocations": [{"allocations": [{"task": task}]}]} for task in range(3)],
}


class RunningRace:
    """A race whose lock this process holds."""

    def __init__(self, store: RaceStore) -> None:
        self.folder = store.create(record(complete=False, tasks=()))
        self.file = ProgressFile(self.folder.path)

    def begin(self) -> None:
        self.folder.write_plan(json.dumps(PLAN))
        self.folder.append(bulk())
        self.file.write(PROGRESS)

    def end(self) -> None:
        self.folder.finish(record(tasks=(bulk(),)))
        self.file.close()
        self.folder.write_page("<p>stored</p>")


def lines(response: HTTPResponse):
    """Yields the events of a response, which aiohttp sends in chunks."""
    buffer = b""
    while chunk := response.read1(65536):
        buffer += chunk
        while b"\n\n" in buffer:
            event, _, buffer = buffer.partition(b"\n\n")
            update = json.loads(event.decode().removeprefix("data: "))
            assert len(update["key"]) == 64
            yield "parts", update["parts"]
            if update["ended"]:
                yield "end", {}


def test_a_page_is_updated_until_the_race_has_ended(site):
    race = RunningRace(site.store)
    page = site.page("race/race-1")
    assert "The race is being prepared." in page
    assert [attributes["id"] for tag, attributes in Page(page).elements if tag == "main"] == ["live"]
    assert "<noscript><meta http-equiv=refresh" in page
    (key,) = [attributes["data-key"] for tag, attributes in Page(page).elements if tag == "main"]
    # A browser would send it to whoever has the address later, if it were in the address or the cookie.
    assert key not in site.cookie + site.address
    connection = site.connect()
    connection.request("GET", f"{site.root}race/race-1/events", headers={"Cookie": site.cookie})
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "text/event-stream"
    events = lines(response)
    name, parts = next(events)
    assert (name, set(parts)) == ("parts", {"status", "running", "waits", "ended", "to-come"})
    race.begin()
    parts |= next(events)[1]
    while "term" not in parts["running"]:
        parts |= next(events)[1]
    assert (
        "Step 2 of 3 · 12 s so far · about 1 min 30 s left, plus tasks of unknown duration" in parts["status"]
    )
    assert "49 of 50 ops/s" in parts["running"]
    assert "index-append" in parts["ended"]
    assert "12,346 docs/s" in parts["ended"]
    assert "<li>sort" in parts["to-come"]
    assert "term" not in parts["to-come"]
    race.end()
    *rest, last = events
    assert last == ("end", {})
    assert all(set(parts) < {"status", "running", "waits", "ended", "to-come"} for _, parts in rest)
    connection.close()
    assert "<iframe" in site.page("race/race-1")


def test_all_pages_of_a_race_share_one_reader(tmp_path, monkeypatch):
    race = RunningRace(RaceStore(tmp_path))
    race.begin()
    reads = []
    read = LiveReader.read
    monkeypatch.setattr(LiveReader, "read", lambda self, now: reads.append(now) or read(self, now))

    async def follow():
        updates = LiveUpdates(interval_s=0.03)
        streams = [updates.follow(race.folder) for _ in range(5)]
        first = [await anext(stream) for stream in streams]
        counted = len(reads)
        await asyncio.sleep(0.1)
        during = len(reads) - counted
        for stream in streams:
            await stream.aclose()
        await asyncio.sleep(0.05)
        ended = len(reads)
        await asyncio.sleep(0.1)
        return first, counted, during, len(reads) - ended

    first, counted, during, after = asyncio.run(follow())
    assert all(update == first[0] for update in first)
    assert counted == 1
    assert 1 <= during <= 4
    assert after == 0


def test_only_changed_parts_are_sent(tmp_path):
    race = RunningRace(RaceStore(tmp_path))
    race.begin()

    async def follow():
        async with aclosing(LiveUpdates(interval_s=0.005).follow(race.folder)) as stream:
            first = await anext(stream)
            race.file.write(structs.replace(PROGRESS, elapsed_s=13.0))
            while not (second := await anext(stream)).parts:
                pass
            return first, second

    first, second = asyncio.run(follow())
    assert len(first.parts) == 5
    assert "status" in second.parts
    assert not second.parts.keys() & {"waits", "ended", "to-come"}


def test_a_killed_race_and_a_deleted_one_end_the_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(live_updates, "_PAGE_S", 0.0)
    store = RaceStore(tmp_path)
    race = RunningRace(store)
    race.begin()
    race.folder._final_record.close()

    async def follow():
        async with aclosing(LiveUpdates(0.005).follow(race.folder)) as stream:
            return [update async for update in stream]

    assert asyncio.run(follow())[-1].has_ended
    store.delete(race.folder)
    assert asyncio.run(follow())[-1].has_ended


def test_files_that_have_not_changed_are_not_read_again(tmp_path, monkeypatch):
    race = RunningRace(RaceStore(tmp_path))
    race.begin()
    reader = LiveReader(race.folder)
    first = reader.read(time.time())
    assert [task.task for task in first.record.tasks] == ["index-append"]
    monkeypatch.setattr(type(race.folder), "read", lambda _: pytest.fail("it was read again"))
    monkeypatch.setattr(type(race.folder), "planned_steps", lambda _: pytest.fail("it was read again"))
    again = reader.read(time.time())
    assert again.record is first.record
    assert again.to_come == first.to_come == ("sort",)


def test_rates_are_kept_while_a_task_runs(tmp_path):
    race = RunningRace(RaceStore(tmp_path))
    race.begin()
    reader = LiveReader(race.folder)
    for rate in (10.0, 20.0, 30.0):
        race.file.write(structs.replace(PROGRESS, tasks=(structs.replace(TASK, rate=rate),)))
        time.sleep(0.01)  # The clock of the file system is coarse.
        live = reader.read(time.time())
        reader.read(time.time())
    assert live.rates == {"term": (10.0, 20.0, 30.0)}
    assert live.age_s < 5
    assert reader.read(time.time() + 60).age_s > 50


def test_a_defect_ends_the_stream_and_is_reported_once(site, monkeypatch, capfd):
    race = RunningRace(site.store)
    race.begin()
    read = LiveReader.read
    fails = threading.Event()

    def failing(reader, now):
        if fails.is_set():
            raise LookupError("oh")
        return read(reader, now)

    monkeypatch.setattr(LiveReader, "read", failing)
    for _ in range(2):
        fails.clear()
        connections = [site.connect() for _ in range(2)]
        for connection in connections:
            connection.request("GET", f"{site.root}race/race-1/events", headers={"Cookie": site.cookie})
        streams = [lines(connection.getresponse()) for connection in connections]
        for stream in streams:
            assert next(stream)[0] == "parts"
        fails.set()
        # Neither an incomplete chunk, which would be an error, nor the event of a race that has ended.
        assert "end" not in [name for stream in streams for name, _ in stream]
        for connection in connections:
            connection.close()
    assert site.warnings == ["a defect of Pacenote: LookupError: oh"]
    assert capfd.readouterr() == ("", "")
    fails.clear()
    assert "49 of 50 ops/s" in site.page("race/race-1")


def test_the_newest_rate_is_at_the_right_and_the_highest_at_the_top(tmp_path):
    race = RunningRace(RaceStore(tmp_path))
    race.begin()
    live = replace(LiveReader(race.folder).read(time.time()), rates={"term": (0.0, 20.0, 10.0)})
    (line,) = (at for tag, at in Page(running_parts(live)["running"]).elements if tag == "polyline")
    assert line["points"] == "1140,190 1160,10 1180,100"
    (box,) = (at["viewbox"] for tag, at in Page(running_parts(live)["running"]).elements if tag == "svg")
    assert box == "0 0 1180 200"


def test_nothing_of_a_track_becomes_markup(site):
    race = RunningRace(site.store)
    race.folder.append(bulk(HOSTILE))
    race.folder.write_plan(json.dumps({"tasks": [{"name": HOSTILE}], "steps": PLAN["steps"][:1]}))
    hostile = structs.replace(TASK, task=HOSTILE, unit=HOSTILE, silent_s=60.0)
    waits = (RetryWait(HOSTILE, HOSTILE, 3, 10.0, 60.0),)
    race.file.write(structs.replace(PROGRESS, tasks=(hostile,), waits=waits, activity=HOSTILE))
    text = site.page("race/race-1")
    assert "alert(1)" in text
    assert [tag for tag, _ in Page(text).elements].count("script") == 1
    assert "\x1b" not in text
