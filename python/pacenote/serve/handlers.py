"""Answers requests: reads the store, and returns pages. Files are read in threads: a disk may hang."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import BinaryIO
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from multidict import MultiMapping

from pacenote.errors import PacenoteError, StoreError, UsageError
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import race_state
from pacenote.report.comparison_texts import race_ids_text
from pacenote.report.render.html import escaped
from pacenote.serve.access import Access
from pacenote.serve.document import FILE_POLICY, REPORT_POLICY, OwnPage, attribute, bar
from pacenote.serve.guard import page_response
from pacenote.serve.live_page import live_page
from pacenote.serve.live_race import LiveReader
from pacenote.serve.live_updates import LiveUpdates
from pacenote.serve.page_maker import Reports
from pacenote.serve.race_files import folder_files, open_folder_file
from pacenote.serve.race_list import SIDES, ListRequest, list_page
from pacenote.serve.race_pages import (
    MAX_MESSAGE,
    REPORT,
    TREND,
    RaceHeading,
    files_page,
    message_page_of_race,
    notes_of_day,
    notes_page,
    report_page,
    trend_page,
)
from pacenote.store.annotations import Annotation, AnnotationStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore

MAX_COMPARED = 100
"""Most races of a comparison, so that its address is not too long."""


class Handlers:
    """The handlers of all addresses."""

    def __init__(self, store: RaceStore, access: Access, reports: Reports, updates: LiveUpdates) -> None:
        self._store = store
        self._annotations = AnnotationStore(store.home)
        self._access = access
        self._reports = reports
        self._updates = updates

    def add_routes(self, application: web.Application) -> None:
        """Adds the addresses to an application."""
        root = self._access.root
        race = f"{root}race/{{race}}"
        application.add_routes((
            web.get(root, self.races),
            web.get(f"{root}compare", self.compare),
            web.get(f"{root}comparison.html", self.comparison),
            web.get(race, self.race),
            web.get(f"{race}/report.html", self.report),
            web.get(f"{race}/events", self.events, allow_head=False),
            web.get(f"{race}/files", self.files),
            web.get(f"{race}/files/{{file:.+}}", self.file),
            web.get(f"{race}/trend", self.trend),
            web.get(f"{race}/trend.html", self.trend_document),
            web.get(f"{race}/notes", self.notes),
            web.post(f"{race}/notes", self.add_note),
            web.post(f"{race}/notes/{{note}}/delete", self.delete_note),
        ))

    async def races(self, request: web.Request) -> web.StreamResponse:
        """Shows the list."""
        query = request.query
        asked = ListRequest(
            search=query.get("search", ""), page=_page_number(query.get("page", "")), **_selected(query)
        )
        listed = await asyncio.to_thread(self._store.find, asked.criteria())
        return page_response(list_page(self._access.root, asked, listed, datetime.now(UTC)))

    async def race(self, request: web.Request) -> web.StreamResponse:
        """Shows a running race, or the report of another one."""
        folder, heading = await self._race(request)
        if heading.state == "running":
            live = await asyncio.to_thread(LiveReader(folder).read, time.time())
            return page_response(live_page(heading, live, self._access.update_key(folder.path.name)))
        try:
            # What is wrong with it is shown here, and not in the frame.
            await self._reports.prepare_race(folder)
        except PacenoteError as error:
            return page_response(message_page_of_race(heading, REPORT, error.message, error.hint))
        return page_response(report_page(heading))

    async def report(self, request: web.Request) -> web.StreamResponse:
        """Sends the report of a race as its own document."""
        return _report_response(await self._reports.race(self._folder(request)))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Sends what changes of a running race, as server-sent events, until it has ended."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        folder = self._folder(request)
        key = self._access.update_key(folder.path.name)
        async with aclosing(self._updates.follow(folder)) as updates:
            await response.prepare(request)
            async for update in updates:
                # JSON has no line breaks, which would end the data of an event.
                data = json.dumps({"key": key, "parts": dict(update.parts), "ended": update.has_ended})
                await response.write(f"data: {data}\n\n".encode())
        return response

    async def files(self, request: web.Request) -> web.StreamResponse:
        """Shows the files of a race."""
        folder, heading = await self._race(request)
        return page_response(files_page(heading, await asyncio.to_thread(folder_files, folder.path)))

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Sends a file of a race as a download."""
        folder = self._folder(request)
        opened = await asyncio.to_thread(open_folder_file, folder.path, request.match_info["file"])
        headers = {
            "Content-Type": opened.file.content_type,
            "Content-Disposition": "attachment",
            "Content-Security-Policy": FILE_POLICY,
        }
        return OpenFileResponse(opened.content, headers)

    async def trend(self, request: web.Request) -> web.StreamResponse:
        """Shows the trend of the races that have the track and the configuration of a race."""
        folder, heading = await self._race(request)
        try:
            await self._reports.prepare_trend(folder)
        except PacenoteError as error:
            return page_response(message_page_of_race(heading, TREND, error.message, error.hint))
        return page_response(trend_page(heading))

    async def trend_document(self, request: web.Request) -> web.StreamResponse:
        """Sends this trend as its own document."""
        return _report_response(await self._reports.trend(self._folder(request)))

    async def notes(self, request: web.Request) -> web.StreamResponse:
        """Shows the notes about the day of a race."""
        _, heading = await self._race(request)
        notes = notes_of_day(await asyncio.to_thread(self._annotations.list, _ignore), heading)
        return page_response(notes_page(heading, notes, self._access.proof))

    async def add_note(self, request: web.Request) -> web.StreamResponse:
        """Stores a note about the day of a race."""
        _, heading = await self._race(request)
        if heading.record is None:
            raise StoreError("the record of this race cannot be read, so that its day is not known")
        form = await request.post()
        given = form.get("message", "")
        message = " ".join(given.split()) if isinstance(given, str) else ""
        if not message or len(message) > MAX_MESSAGE:
            raise UsageError(f"a note has 1 to {MAX_MESSAGE:,} characters")
        note = Annotation(
            annotation_id=str(uuid.uuid4()),
            race_timestamp=heading.day,
            message=message,
            environment=heading.record.environment.name,
            track=heading.record.track.name if "track" in form else None,
        )
        await asyncio.to_thread(self._annotations.add, note)
        raise web.HTTPSeeOther(heading.path("notes"))

    async def delete_note(self, request: web.Request) -> web.StreamResponse:
        """Deletes a note about the day of a race."""
        _, heading = await self._race(request)
        notes = notes_of_day(await asyncio.to_thread(self._annotations.list, _ignore), heading)
        given = request.match_info["note"]
        if all(note.annotation_id != given for note in notes):
            raise StoreError("there is no such note about the day of this race")
        await asyncio.to_thread(self._annotations.delete, given)
        raise web.HTTPSeeOther(heading.path("notes"))

    async def compare(self, request: web.Request) -> web.StreamResponse:
        """Shows the comparison of the selected races."""
        sides = await asyncio.to_thread(self._sides, request.query)
        # What is wrong with it is shown here, and not in the frame.
        await self._reports.comparison(*sides)
        ids = ([folder.path.name for folder in side] for side in sides)
        return page_response(comparison_page(self._access.root, *ids))

    async def comparison(self, request: web.Request) -> web.StreamResponse:
        """Sends a comparison as its own document."""
        sides = await asyncio.to_thread(self._sides, request.query)
        return _report_response(await self._reports.comparison(*sides))

    def _sides(self, query: MultiMapping[str]) -> tuple[list[RaceFolder], list[RaceFolder]]:
        """Returns the races to compare. Of two that are selected for one side, the older one is the baseline.

        Raises UsageError, and StoreError.
        """
        selected = _selected(query)
        folders = {side: [self._store.exact_folder(one) for one in selected[side]] for side in SIDES}
        baseline, contender = folders.values()
        both = baseline + contender
        if len(both) == 2 and not (baseline and contender):
            older, newer = sorted(both, key=lambda folder: folder.read().timestamp)
            return [older], [newer]
        if not (baseline and contender) or len(both) > MAX_COMPARED:
            raise UsageError(
                f"a comparison needs a baseline and a contender, and has at most {MAX_COMPARED} races",
                hint="select races in the list",
            )
        return baseline, contender

    def _folder(self, request: web.Request) -> RaceFolder:
        return self._store.exact_folder(request.match_info["race"])

    async def _race(self, request: web.Request) -> tuple[RaceFolder, RaceHeading]:
        folder = self._folder(request)
        record, state = await asyncio.to_thread(_record_and_state, folder)
        return folder, RaceHeading(self._access.root, folder.path.name, record, state)


def _record_and_state(folder: RaceFolder) -> tuple[RaceRecord | None, str]:
    """Returns the record of a race, if it can be read, and the word to show for it."""
    # First of all: a race that ends meanwhile is complete when it is read.
    is_running = folder.is_in_use()
    try:
        record = folder.read()
    except StoreError:
        return None, "unreadable"
    state = race_state(record)
    if state == "unfinished":
        return record, "running" if is_running else "killed"
    return record, record.verdict.state if state == "complete" else state


def _report_response(page: bytes) -> web.Response:
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return web.Response(body=page, content_type="text/html", charset="utf-8", headers=headers)


def _selected(query: MultiMapping[str]) -> dict[str, tuple[str, ...]]:
    """Returns the selected races by side."""
    return {side: tuple(dict.fromkeys(query.getall(side, ()))) for side in SIDES}


def _page_number(text: str) -> int:
    """Returns the number of a page of the list; the first one if the text is not a number of a page."""
    is_number = text.isascii() and text.isdigit() and len(text) < 7
    return max(1, int(text)) if is_number else 1


def _ignore(problem: str) -> None:
    """Leaves out a note that cannot be read; `pacenote list annotations` names it."""


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


def comparison_page(root: str, baseline: Sequence[str], contender: Sequence[str]) -> OwnPage:
    """Returns the page; the races are given by their ids."""
    query = _query(baseline, contender)
    links = (
        (root, "All races"),
        (f"{root}?{query}", "Change the selection"),
        (f"{root}compare?{_query(contender, baseline)}", "Exchange the sides"),
    )
    nav = "".join(f'<a href="{attribute(path)}">{name}</a>' for path, name in links)
    among = (*baseline, *contender)
    sides = f"baseline {race_ids_text(baseline, among)}, contender {race_ids_text(contender, among)}"
    body = "".join((
        bar(root, f'<span class=name>{escaped(sides)}</span><nav aria-label="Comparison">{nav}</nav>'),
        f"<main><h1 class=hidden>Comparison: {escaped(sides)}</h1>",
        f'<iframe src="{attribute(f"{root}comparison.html?{query}")}" title="Comparison" ',
        "sandbox=allow-scripts></iframe></main>",
    ))
    return OwnPage(f"Comparison: {sides} · Pacenote", body, full_height=True)


def _query(baseline: Sequence[str], contender: Sequence[str]) -> str:
    return urlencode({"baseline": baseline, "contender": contender}, doseq=True)
