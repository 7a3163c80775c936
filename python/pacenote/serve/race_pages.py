"""The pages of one race: its report in a frame, its files, and the notes about its day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote_plus

from msgspec import Struct

from pacenote.model.race_record import RaceRecord
from pacenote.report.render.html import escaped, shown
from pacenote.serve.access import TOKEN
from pacenote.serve.document import OwnPage, all_races, attribute, bar
from pacenote.serve.race_files import FolderFile
from pacenote.serve.race_list import badge, race_path
from pacenote.store.annotations import Annotation
from pacenote.units import format_bytes

MAX_MESSAGE = 2_000
"""Most characters of a note."""

REPORT, TREND = "Report", "Trend"
"""Names of the links to the report of a race, and to the trend of races like it."""

_CONTENTS = {
    "race.json": "options, results and verdict",
    "plan.json": "the plan of the driver",
    "snapshot.json": "settings of the engine and the machine",
    "samples.parquet": "one row per operation",
    "series.parquet": "one row per task and second",
    "telemetry.parquet": "values of engine and machine over time",
    "report.html": "the report as one file to send",
}


class RaceHeading(Struct, frozen=True):
    """What the pages of a race have at the top."""

    root: str
    """Path of the server."""

    race_id: str
    """Id of the race."""

    record: RaceRecord | None
    """Its record, or None if that cannot be read."""

    state: str
    """The word to show: its verdict, or its state if it is not complete."""

    @property
    def name(self) -> str:
        """Track and challenge, or the id."""
        if self.record is None:
            return self.race_id
        return " / ".join(filter(None, (self.record.track.name, self.record.challenge)))

    @property
    def day(self) -> str:
        """The timestamp of midnight before the race, as annotations have it; empty if it is not known."""
        return "" if self.record is None else f"{self.record.timestamp:%Y%m%dT000000Z}"

    def path(self, *parts: str) -> str:
        """Returns the path of one of its pages."""
        return race_path(self.root, self.race_id, *parts)

    def top(self, current: str) -> str:
        """Returns the top of a page as HTML; `current` is the name of its link."""
        links = (
            *((REPORT, self.path()), ("Files", self.path("files")), ("Notes", self.path("notes"))),
            *([] if self.record is None else [(TREND, self.path("trend"))]),
        )
        shown_links = "".join(
            f'<a href="{attribute(path)}"{" aria-current=page" if name == current else ""}>{name}</a>'
            for name, path in links
        )
        query = f"contender={quote_plus(self.race_id)}&search={quote_plus(shown(self._same()))}"
        compare = f'<a href="{attribute(self.root)}?{attribute(query)}">Compare</a>'
        start = "" if self.record is None else f"{self.record.timestamp:%Y-%m-%d %H:%M} UTC"
        name = f"<span class=name>{escaped(self.name)} <span class=quiet>{start}</span></span>"
        nav = f'<nav aria-label="Race">{all_races(self.root)}{shown_links}{compare}</nav>'
        return bar(self.root, f"{name}{badge(self.state)}{nav}")

    def _same(self) -> str:
        """Returns the search for races with which this one can be compared."""
        if self.record is None:
            return ""
        return " ".join(f'"{name}"' for name in (self.record.track.name, self.record.challenge) if name)


def report_page(heading: RaceHeading) -> OwnPage:
    """Returns the page with the report."""
    return _framed(heading, REPORT, "report.html", f"Report of {heading.name}")


def trend_page(heading: RaceHeading) -> OwnPage:
    """Returns the page with the trend of the races that have the track and the configuration of a race."""
    return _framed(heading, TREND, "trend.html", f"Trend of {heading.name}")


def _framed(heading: RaceHeading, current: str, file: str, title: str) -> OwnPage:
    """Returns a page with a document of its own, in a frame without rights."""
    path, name = attribute(heading.path(file)), escaped(title)
    frame = f'<iframe src="{path}" title="{name}" sandbox="allow-scripts"></iframe>'
    body = f"{heading.top(current)}<main><h1 class=hidden>{name}</h1>{frame}</main>"
    return OwnPage(f"{title} · Pacenote", body, full_height=True, repeats_race=current == REPORT)


def message_page_of_race(heading: RaceHeading, current: str, *texts: str) -> OwnPage:
    """Returns the page of a race without a report, or a trend, with the reason; empty texts are left out."""
    reasons = "".join(f"<p>{escaped(text)}</p>" for text in texts if text)
    body = f"{heading.top(current)}<main><h1>{escaped(heading.name)}</h1>{reasons}</main>"
    return OwnPage(f"{heading.name} · Pacenote", body)


def files_page(heading: RaceHeading, files: Sequence[FolderFile]) -> OwnPage:
    """Returns the page with the files of a race."""
    rows = "".join(_file_row(heading, file) for file in files)
    body = (
        f"{heading.top('Files')}<main><h1>Files</h1><p class=quiet>Race {escaped(heading.race_id)}</p>"
        "<table class=files><thead><tr><th scope=col>File<th scope=col class=number>Size"
        f"<th scope=col>Contents</thead><tbody>{rows}</tbody></table></main>"
    )
    return OwnPage(f"Files of {heading.name} · Pacenote", body)


def _file_row(heading: RaceHeading, file: FolderFile) -> str:
    path = attribute(heading.path("files", *file.name.split("/")))
    return (
        f'<tr><td><a href="{path}" download>{escaped(file.name)}</a><td class=number>'
        f"{escaped(format_bytes(file.size))}<td>{_CONTENTS.get(file.name, '')}"
    )


def notes_page(heading: RaceHeading, notes: Sequence[Annotation], proof: str) -> OwnPage:
    """Returns the page with the notes about the day of a race, and forms that add and delete some."""
    body = "".join((
        heading.top("Notes"),
        f"<main><h1>Notes of {heading.record.timestamp:%Y-%m-%d}</h1>"
        if heading.record
        else "<main><h1>Notes of an unknown day</h1>",
        "<p class=quiet>A note belongs to the results of a day, as in <code>pacenote list annotations</code>."
        "</p>",
        *_notes(heading, notes, proof),
        _form(heading, proof) if heading.day else "",
        "</main>",
    ))
    return OwnPage(f"Notes of {heading.name} · Pacenote", body)


def _notes(heading: RaceHeading, notes: Sequence[Annotation], proof: str) -> Iterator[str]:
    if not notes:
        yield "<p class=empty>There are none.</p>"
        return
    yield "<ul class=notes>"
    for note in notes:
        action = attribute(heading.path("notes", note.annotation_id, "delete"))
        about = f"about {note.track}" if note.track else "about all tracks"
        yield (
            f'<li><p>{escaped(note.message)}</p><form action="{action}" method=post>'
            f'<span class=quiet>{escaped(about)}</span><input type=hidden name={TOKEN} value="{proof}">'
            f'<button aria-label="Delete: {escaped(note.message[:60])}">Delete</button></form>'
        )
    yield "</ul>"


def _form(heading: RaceHeading, proof: str) -> str:
    track = heading.record.track.name if heading.record else ""
    return (
        f'<form class=add action="{attribute(heading.path("notes"))}" method=post><h2>Add a note</h2>'
        f'<input type=hidden name={TOKEN} value="{proof}"><label for=message>Text</label>'
        f"<textarea id=message name=message required rows=3 maxlength={MAX_MESSAGE}></textarea>"
        f"<label><input type=checkbox name=track value=1 checked> only about {escaped(track)}</label>"
        "<button class=main>Add</button></form>"
    )


def notes_of_day(notes: Sequence[Annotation], heading: RaceHeading) -> list[Annotation]:
    """Returns the notes about the day, the environment and the track of a race."""
    record = heading.record
    if record is None:
        return []
    about = (heading.day, record.environment.name)
    return [
        note
        for note in notes
        if (note.race_timestamp, note.environment) == about and note.track in (None, record.track.name)
    ]
