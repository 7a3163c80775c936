"""The page with all races: a search, a table, and a selection of races to compare.

Everything is one form, so that the selection is kept while the user searches and turns pages, also in a
browser without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import quote, quote_plus

from msgspec import Struct

from pacenote.errors import UsageError
from pacenote.model.race_ids import short_id
from pacenote.model.race_time import FUTURE, is_in_future, parse_timestamp
from pacenote.model.user_tags import tag_texts
from pacenote.report.render.html import escaped, shown
from pacenote.serve.document import OwnPage, attribute, bar
from pacenote.store.race_index import FoundRaces, RaceFilter, RaceSummary
from pacenote.store.track_races import is_usable
from pacenote.units import format_count

PAGE_RACES = 50
"""Races on a page of the list."""

SIDES = ("baseline", "contender")
"""The sides of a comparison."""

MAX_SEARCH = 500
"""Characters of a search: SQLite refuses a query with a condition for each of a thousand words."""

_MAX_TAGS = 6
_TEXT = re.compile(r'"([^"]*)"|(\S+)')
_TONES = {"valid": "good", "suspect": "doubtful", "void": "wrong", "running": "active"}
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


class ListRequest(Struct, frozen=True):
    """What the page shall show."""

    search: str = ""
    """Texts that must all occur; quotes keep words together."""

    page: int = 1
    """Number of the page, from 1."""

    baseline: tuple[str, ...] = ()
    """Ids of the selected races on this side of the comparison."""

    contender: tuple[str, ...] = ()
    """Those on the other side."""

    def criteria(self) -> RaceFilter:
        """Returns which races the page shows. Raises UsageError for a search that is too long."""
        if len(self.search) > MAX_SEARCH:
            raise UsageError(f"a search has at most {MAX_SEARCH} characters", hint="search for fewer words")
        texts = (quoted or word for quoted, word in _TEXT.findall(self.search))
        offset = PAGE_RACES * (self.page - 1)
        return RaceFilter(limit=PAGE_RACES, offset=offset, search=tuple(filter(None, texts)))


def list_page(root: str, asked: ListRequest, listed: FoundRaces, now: datetime) -> OwnPage:
    """Returns the page; `root` is the path of the server."""
    count = format_count(listed.total, "race")
    parts = [
        bar(root),
        f'<main><form action="{attribute(root)}" method=get>',
        f"<div class=top><h1>Races</h1><p class=quiet>{count}{' found' if asked.search else ''}</p></div>",
        "<div class=search role=search><input id=search name=search type=search "
        f'maxlength={MAX_SEARCH} size=40 aria-label="Search" aria-describedby=help '
        f'value="{attribute(asked.search)}" '
        'placeholder="http_logs 3.3 heap=1g suspect"><button>Search</button>',
        f'<a href="{attribute(root)}">All races</a>' if asked.search else "",
        "<p id=help class=quiet>Track, challenge, engine, car, tag, verdict, state or id; all words must "
        'occur. "Quotes" keep words together.</p></div>',
        *(_table(root, asked, listed.races, now) if listed.races else _nothing(asked)),
        *_pages(asked, listed.total),
        *(_selection(root, asked, listed.races) if listed.races or asked.baseline or asked.contender else ()),
        "</form></main>",
    ]
    return OwnPage("Races · Pacenote", "".join(parts))


def _nothing(asked: ListRequest) -> Iterator[str]:
    if asked.search or asked.page > 1:
        yield "<p class=empty>No race matches. The words may be parts of names; try fewer.</p>"
    else:
        yield "<p class=empty>There are no races yet. <code>pacenote race</code> runs one.</p>"


def _table(root: str, asked: ListRequest, races: Sequence[RaceSummary], now: datetime) -> Iterator[str]:
    heads = ("Start (UTC)", "Track", "Engine", "Car", "Result", "Verdict", "Tags")
    yield "<table class=races><caption class=hidden>Races, the newest first</caption><thead><tr>"
    yield from (f"<th scope=col class=tick >{side.capitalize()}" for side in SIDES)
    yield from (f"<th scope=col>{head}" for head in heads)
    yield "</thead><tbody>"
    ids = [race.race_id for race in races]
    for race in races:
        yield "<tr>"
        yield from (_tick(asked, side, race) for side in SIDES)
        yield from _cells(root, race, now, short_id(race.race_id, ids))
    yield "</tbody></table>"


def _tick(asked: ListRequest, side: str, race: RaceSummary) -> str:
    checked = " checked" if race.race_id in getattr(asked, side) else ""
    label = f"{race.track} {_start(race)} as {side}"
    return (
        f"<td class=tick><label data-side={side}><input type=checkbox name={side} "
        f'value="{attribute(race.race_id)}" aria-label="{escaped(label)}"{checked}></label>'
    )


def _cells(root: str, race: RaceSummary, now: datetime, short: str) -> Iterator[str]:
    link = attribute(race_path(root, race.race_id))
    name = " / ".join(filter(None, (race.track, race.challenge))) or race.race_id
    yield (
        f"<td class=start>{escaped(_start(race))}<span class=quiet>{escaped(_age(race, now))}</span>"
        f'<td class=track><a href="{link}">{escaped(name)}</a>'
        f"<span class=quiet>{escaped(short)}{_trend(root, race)}</span>"
    )
    engine = f"{race.distribution} {race.version}".strip()
    yield f"<td>{escaped(engine)}<td>{escaped(race.car)}<td class=result>{escaped(race.headline)}"
    yield f"<td>{badge(race.verdict if race.state == 'complete' else race.state)}<td class=tags>"
    tags = list(tag_texts(race.user_tags).items())
    yield " ".join(_tag(root, f"{tag}={value}") for tag, value in tags[:_MAX_TAGS])
    if len(tags) > _MAX_TAGS:
        yield f" <span class=quiet>and {len(tags) - _MAX_TAGS} more</span>"


def _trend(root: str, race: RaceSummary) -> str:
    """Returns a link to the trend of the races like this one, if that is one of them."""
    if not is_usable(race):
        return ""
    label = escaped(f"Trend of races like {race.track} {_start(race)}")
    return f' · <a href="{attribute(race_path(root, race.race_id, "trend"))}" aria-label="{label}">trend</a>'


def badge(word: str) -> str:
    """Returns a verdict or a state as HTML."""
    return f'<span class="badge {_TONES.get(word, "wrong")}">{escaped(word)}</span>' if word else ""


def _tag(root: str, text: str) -> str:
    search = f'"{text}"' if " " in text and '"' not in text else text
    query = f"search={quote_plus(shown(search))}"
    link = f"{attribute(root)}?{attribute(query)}"
    return f'<a class=tag href="{link}" title="{escaped(text)}">{escaped(text)}</a>'


def _pages(asked: ListRequest, total: int) -> Iterator[str]:
    """Yields the buttons that turn pages: buttons, because they keep the selection."""
    last = max(1, -(-total // PAGE_RACES))
    if last == 1 and asked.page == 1:
        return
    buttons = (("Newer", asked.page - 1), ("Older", asked.page + 1))
    yield '<nav class=pages aria-label="Pages of the list">'
    for name, page in buttons:
        disabled = "" if 1 <= page <= last else " disabled"
        yield f"<button name=page value={page}{disabled}>{name}</button>"
    yield f"<span class=quiet>page {asked.page} of {last}</span></nav>"


def _selection(root: str, asked: ListRequest, shown: Sequence[RaceSummary]) -> Iterator[str]:
    """Yields the button that compares, and the selected races that are not on this page."""
    ids = {race.race_id for race in shown}
    yield "<div class=selection>"
    for side in SIDES:
        for race_id in dict.fromkeys(getattr(asked, side)):
            if race_id not in ids:
                value = attribute(race_id)
                yield (
                    f'<label class=chip><input type=checkbox name={side} value="{value}" checked>'
                    f" {side}: {escaped(short_id(race_id, (*ids, *getattr(asked, side))))}</label>"
                )
    yield (
        f'<button class=main formaction="{attribute(root)}compare">Compare</button><p class=quiet>Select a '
        "baseline and a contender, or several of each.</p></div>"
    )


def race_path(root: str, race_id: str, *parts: str) -> str:
    """Returns the path of a race, or of something that belongs to it."""
    return root + "/".join(("race", *(quote(part, safe="", errors="replace") for part in (race_id, *parts))))


def _start(race: RaceSummary) -> str:
    return f"{_began(race):%Y-%m-%d %H:%M}" if race.timestamp else ""


def _began(race: RaceSummary) -> datetime:
    return parse_timestamp(race.timestamp)


def _age(race: RaceSummary, now: datetime) -> str:
    if not race.timestamp:
        return ""
    if is_in_future(_began(race), now):
        return FUTURE
    seconds = int((now - _began(race)).total_seconds())
    return next((f"{seconds // length} {unit} ago" for length, unit in _AGES if seconds >= length), "")
